"""Migration: moves the state of a checkpoint into different buckets of a new checkpoint, which resumes the run.

Committed epochs are not run again; an epoch that was only logged is run in the new checkpoint, from the same log entry.
The run keeps its id, positions and epoch numbers, so that sinks see one run.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from thalweg.engine.spark.labels import balanced_labels
from thalweg.engine.state.carry_over import carry_over
from thalweg.engine.state.inspect_checkpoint import read_manifest
from thalweg.engine.state.stored_state import StoredState, stored_state
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.engine.storage.manifest import Manifest
from thalweg.engine.storage.migration_marks import MIGRATED, MIGRATING, Move, begin, finish, read_move, refuse_moved
from thalweg.engine.storage.small_files import is_leftover, private_folder, remove_all, write_atomically
from thalweg.errors import CheckpointError, UsageError, did_you_mean
from thalweg.ir.bucket_tables import plain_table, table_text
from thalweg.ir.plan_options import OPEN, Degree
from thalweg.optimize.balance import BALANCED_BUCKETS_PER_CHANNEL, lighter_table
from thalweg.optimize.choose_degrees import BUCKETS_PER_CHANNEL, enough_buckets
from thalweg.optimize.request import PlanRequest
from thalweg.runtime.describe_bucket import OperatorPart
from thalweg.runtime.rebucket import rebucket

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class MovedState:
    """The state of one operator that was moved."""

    name: str
    keys: int
    size: int  # bytes
    degree: tuple[int, int]  # before and now
    keyed: bool


@dataclass(frozen=True, slots=True)
class Migration:
    """The result of a migration. The first of each pair belongs to the old checkpoint."""

    folders: tuple[Path, Path]
    manifests: tuple[Manifest, Manifest]
    epochs: int  # committed, so not run again
    logged: int
    operators: tuple[MovedState, ...]


def migrate(
    old: Path, new: Path, request: PlanRequest, *, engine: str | None = None, say: Say = lambda what: None
) -> Migration:
    """Create the new checkpoint; when it is complete, the old one is marked as migrated.

    What the request leaves open, and an engine that is None, stay as they are."""
    _check_request(request)
    manifest = read_manifest(old)
    wanted = changed(manifest, request, engine)
    source, target = Checkpoint(old), Checkpoint(new)
    _check_apart(source.folder, target.folder)
    with _locked(source):
        refuse_moved(source.folder)
        _refuse_ended(source)
        with _locked(target):
            move = Move(uuid.uuid4().hex, manifest.run, str(source.folder), str(target.folder))
            _clear(target.folder, move)
            return _move(move, (source, target), (manifest, wanted), say, balance=request.balance)


def _move(
    move: Move,
    folders: tuple[Checkpoint, Checkpoint],
    manifests: tuple[Manifest, Manifest],
    say: Say,
    *,
    balance: bool,
) -> Migration:
    (source, target), (manifest, wanted) = folders, manifests
    say("reading the state")
    state = stored_state(source, manifest)
    wanted = replace(wanted, first_epoch=state.epochs)
    epochs = list(source.log)
    if state.epochs and epochs[state.epochs - 1].final:
        raise _ended(source.folder)
    contents = rebucketed(state, wanted, say)
    if balance:
        wanted = balanced(wanted, contents)
    buckets, moved = moved_parts(state, contents, manifest, wanted)
    times = agreed_times(state, manifest)
    say("writing the new checkpoint")
    begin(move)
    carry_over(source, target, epochs, state.epochs)
    target.seed.write(buckets, times)
    write_atomically(target.folder / "manifest.json", wanted.to_json(), named=True)
    finish(move)
    return Migration((source.folder, target.folder), (manifest, wanted), state.epochs, len(epochs), moved)


def _check_request(request: PlanRequest) -> None:
    """A migration needs no application: the next start chooses what only a graph can decide."""
    kept = replace(PlanRequest(), degree=request.degree, buckets=request.buckets, balance=request.balance)
    if request != kept or request.degree == OPEN:
        raise UsageError("a migration only changes degree, buckets and balance", expected="no other options of a plan")


def changed(manifest: Manifest, request: PlanRequest, engine: str | None = None) -> Manifest:
    """The new checkpoint's manifest. Its stages are not set: state is stored by operator, so any fusion can read it."""
    engine = engine or manifest.engine
    degrees = _degrees(manifest, request.degree)
    channels = max(degrees.values(), default=1)
    if request.degree is None:
        channels = manifest.channels
    elif isinstance(request.degree, int):
        channels = max(channels, request.degree)  # sources may be read in that many channels
    same = degrees == dict(manifest.degrees) and channels == manifest.channels and not request.balance
    per_channel = BALANCED_BUCKETS_PER_CHANNEL if request.balance else BUCKETS_PER_CHANNEL
    buckets = enough_buckets(request.buckets or (manifest.buckets if same else None), per_channel, channels)
    return replace(
        manifest,
        engine=engine,
        channels=channels,
        buckets=buckets,
        degrees=degrees,
        routes={},  # state that was routed by a part of its key is now routed by all of it
        labels=balanced_labels(channels) if engine == "spark" else (),
        stages=None,
        plan="",
        assignments={
            name: table
            for name, table in manifest.assignments.items()
            if (degrees[name], buckets) == (manifest.degrees[name], manifest.buckets)
        },
    )


def _degrees(manifest: Manifest, degree: Degree | None) -> dict[str, int]:
    """As in `choose_degrees`: an operator without a key has one state for all tuples, and therefore one channel."""
    if degree is None:
        return dict(manifest.degrees)
    if isinstance(degree, Mapping):
        if unknown := [name for name in degree if name not in manifest.degrees]:
            raise CheckpointError(
                f"the checkpoint has no state of {unknown[0]}",
                expected=", ".join(manifest.degrees),
                hint=did_you_mean(unknown[0], manifest.degrees),
            )
        old = manifest.degrees
        return {name: degree.get(name, old[name]) if manifest.keys[name] else 1 for name in old}
    assert isinstance(degree, int)
    return {name: degree if manifest.keys[name] else 1 for name in manifest.degrees}


Contents = dict[str, dict[int, bytes]]  # by operator: its part of each new bucket
Parts = dict[tuple[int, int], list[tuple[str, bytes]]]


def rebucketed(state: StoredState, wanted: Manifest, say: Say = lambda what: None) -> Contents:
    contents: Contents = {}
    for name in wanted.degrees:
        say(f"moving the keys of {name}")
        contents[name] = rebucket(name, [stored.part for stored in state.of(name)], wanted.buckets)
    return contents


def balanced(wanted: Manifest, contents: Contents) -> Manifest:
    """The manifest with tables that spread the stored keys. Operators with the same key and degree get the same table,
    because without a graph it is unknown which of them could share a PE."""
    tables: dict[str, str] = {}
    keyed = [name for name, degree in wanted.degrees.items() if wanted.keys[name] and degree > 1]
    groups = {name: (tuple(wanted.keys[name].items()), wanted.degrees[name]) for name in keyed}
    for group in dict.fromkeys(groups.values()):
        names = [name for name in keyed if groups[name] == group]
        loads = [0] * wanted.buckets
        for name in names:
            for bucket, data in contents[name].items():
                loads[bucket] += OperatorPart(name, data).keys() or 0
        table = lighter_table(loads, group[1])
        tables |= dict.fromkeys(names, table_text(table)) if table is not None else {}
    return replace(wanted, assignments=tables)


def moved_parts(
    state: StoredState, contents: Contents, manifest: Manifest, wanted: Manifest
) -> tuple[Parts, tuple[MovedState, ...]]:
    """The parts of all operators by the channel and bucket to which the new manifest routes their keys."""
    found: Parts = {}
    moved: list[MovedState] = []
    tables = wanted.tables()
    for name, degree in wanted.degrees.items():
        parts = [stored.part for stored in state.of(name)]
        table = tables.get(name) or plain_table(wanted.buckets, degree)
        keys = 0
        for bucket, data in contents[name].items():
            found.setdefault((table[bucket], bucket), []).append((name, data))
            keys += OperatorPart(name, data).keys() or 0
        before = sum(part.keys() or 0 for part in parts)
        if keys != before:
            raise CheckpointError("the migration lost keys", operator=name, expected=str(before), found=str(keys))
        size = sum(part.size for part in parts)
        moved.append(MovedState(name, keys, size, (manifest.degrees[name], degree), bool(manifest.keys[name])))
    return found, tuple(moved)


def agreed_times(state: StoredState, manifest: Manifest) -> dict[str, int]:
    """The event time of each operator. Every mark reached all of its channels, so they must agree."""
    agreed: dict[str, int] = {}
    for name, by_channel in state.times.items():
        times = {by_channel.get(channel) for channel in range(manifest.degrees[name])}
        (time, *others) = times
        if others or time is None:
            raise CheckpointError(
                "the channels of an operator do not agree on the event time", operator=name, found=str(dict(by_channel))
            )
        agreed[name] = time
    return agreed


@contextmanager
def _locked(checkpoint: Checkpoint) -> Iterator[None]:
    private_folder(checkpoint.folder)
    try:
        checkpoint.take_lock()
        yield
    finally:
        checkpoint.close()


def _check_apart(old: Path, new: Path) -> None:
    if new == old or new in old.parents or old in new.parents:
        raise CheckpointError(
            "the new checkpoint must be in a separate folder", expected=f"a folder next to {old}", found=str(new)
        )


def _refuse_ended(source: Checkpoint) -> None:
    if source.has_ended:
        raise _ended(source.folder)


def _ended(folder: Path) -> CheckpointError:
    return CheckpointError(
        f"the run of {folder} has ended: its windows were closed, so its state cannot be resumed",
        hint="only a run that was paused (--follow, Ctrl-C) or stopped early can be migrated",
    )


def _clear(folder: Path, move: Move) -> None:
    """Make sure that the folder is empty; remove what a killed migration of the same run has left."""
    strangers = sorted(p for p in folder.iterdir() if p.name != "lock" and not is_leftover(p))
    if not strangers:
        return
    half = read_move(folder / MIGRATING)
    if half is None or half.run != move.run or read_move(Path(half.old) / MIGRATED) == half:
        raise CheckpointError(
            f"the folder {folder} is not empty",
            expected="a new or an empty folder",
            found=", ".join(p.name for p in strangers[:5]),
        )
    remove_all(p for p in strangers if p.name != MIGRATING)

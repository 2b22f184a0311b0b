"""Migration: the state of a checkpoint in other buckets, in a new checkpoint that goes on where the old one stands.

Epochs that were committed are not run again; one that was only logged is run in the new checkpoint, from the same log.
The run keeps its name, its positions and its epochs' numbers, so that sinks see one run.
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
from thalweg.engine.storage.migration_marks import MIGRATED, Move, begin, finish, read_move, refuse_moved
from thalweg.engine.storage.migration_marks import MIGRATING as MARK
from thalweg.engine.storage.small_files import is_leftover, remove_all, write_atomically
from thalweg.errors import CheckpointError
from thalweg.ir.bucket_tables import plain_table, table_text
from thalweg.optimize.balance import BALANCED_BUCKETS_PER_CHANNEL, lighter_table
from thalweg.optimize.choose_degrees import BUCKETS_PER_CHANNEL
from thalweg.optimize.request import PlanRequest
from thalweg.runtime.describe_bucket import OperatorPart
from thalweg.runtime.rebucket import rebucket

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be another; None: as it was, or what follows from the rest."""

    degree: int | Mapping[str, int] | None = None
    buckets: int | None = None
    engine: str | None = None
    balance: bool = False  # spread the stored keys evenly

    def __post_init__(self) -> None:
        # The options of a run, and what is wrong there is wrong here.
        PlanRequest(degree=1 if self.degree is None else self.degree, buckets=self.buckets, balance=self.balance)


@dataclass(frozen=True, slots=True)
class MovedState:
    """What was moved of one operator."""

    name: str
    keys: int
    size: int  # bytes
    degree: tuple[int, int]  # before and now
    keyed: bool


@dataclass(frozen=True, slots=True)
class Migration:
    """What was done. Of each pair the first is the old checkpoint's."""

    folders: tuple[Path, Path]
    manifests: tuple[Manifest, Manifest]
    epochs: int  # done, and not to be done again
    logged: int
    operators: tuple[MovedState, ...]


def migrate(old: Path, new: Path, change: Change, say: Say = lambda what: None) -> Migration:
    """Make the new checkpoint; the old one is marked when that is whole."""
    manifest = read_manifest(old)
    wanted = changed(manifest, change)
    source, target = Checkpoint(old), Checkpoint(new)
    _check_apart(source.folder, target.folder)
    with _locked(source):
        refuse_moved(source.folder)
        _refuse_ended(source)
        with _locked(target):
            move = Move(uuid.uuid4().hex, manifest.run, str(source.folder), str(target.folder))
            _clear(target.folder, move)
            return _move(move, (source, target), (manifest, wanted), say, balance=change.balance)


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


def changed(manifest: Manifest, change: Change) -> Manifest:
    """The new checkpoint's manifest. Its stages are open: state is found by operator, so any fusion can take it."""
    engine = change.engine or manifest.engine
    degrees = _degrees(manifest, change)
    channels = max(degrees.values(), default=1)
    if change.degree is None:
        channels = manifest.channels
    elif isinstance(change.degree, int):
        channels = max(channels, change.degree)  # sources may be read in so many
    same = degrees == dict(manifest.degrees) and not change.balance
    per_channel = BALANCED_BUCKETS_PER_CHANNEL if change.balance else BUCKETS_PER_CHANNEL
    buckets = change.buckets or (manifest.buckets if same else per_channel * channels)
    if buckets < channels:
        raise CheckpointError(
            "a channel needs a bucket of its own", expected=f"{channels} buckets or more", found=str(buckets)
        )
    return replace(
        manifest,
        engine=engine,
        channels=channels,
        buckets=buckets,
        degrees=degrees,
        routes={},  # whoever was routed by a part of its key is routed by all of it now
        labels=balanced_labels(channels) if engine == "spark" else (),
        stages=None,
        plan="",
        assignments={
            name: table
            for name, table in manifest.assignments.items()
            if (degrees[name], buckets) == (manifest.degrees[name], manifest.buckets)
        },
    )


def _degrees(manifest: Manifest, change: Change) -> dict[str, int]:
    """As `choose_degrees` has it: an operator without a key has one state for all tuples, and so one channel."""
    if change.degree is None:
        return dict(manifest.degrees)
    if not isinstance(change.degree, int):
        return {name: change.degree[name] if manifest.keys[name] else 1 for name in manifest.degrees}
    return {name: change.degree if manifest.keys[name] else 1 for name in manifest.degrees}


Contents = dict[str, dict[int, bytes]]  # by operator: its part of each new bucket
Parts = dict[tuple[int, int], list[tuple[str, bytes]]]


def rebucketed(state: StoredState, wanted: Manifest, say: Say = lambda what: None) -> Contents:
    contents: Contents = {}
    for name in wanted.degrees:
        say(f"moving the keys of {name}")
        contents[name] = rebucket(name, [stored.part for stored in state.of(name)], wanted.buckets)
    return contents


def balanced(wanted: Manifest, contents: Contents) -> Manifest:
    """The manifest with tables that spread the stored keys. Operators with the same key and degree get the same: there
    is no graph here to say which of them could share a PE."""
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
    """The parts of all operators by their new channel and bucket: where the new manifest routes their keys."""
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
            raise CheckpointError("keys were lost on the way", operator=name, expected=str(before), found=str(keys))
        size = sum(part.size for part in parts)
        moved.append(MovedState(name, keys, size, (manifest.degrees[name], degree), bool(manifest.keys[name])))
    return found, tuple(moved)


def agreed_times(state: StoredState, manifest: Manifest) -> dict[str, int]:
    """The event time at each operator. Every mark reached all of its channels, so they agree."""
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
    checkpoint.folder.mkdir(parents=True, exist_ok=True)
    try:
        checkpoint.take_lock()
        yield
    finally:
        checkpoint.close()


def _check_apart(old: Path, new: Path) -> None:
    if new == old or new in old.parents or old in new.parents:
        raise CheckpointError(
            "the new checkpoint must be a folder of its own", expected=f"a folder beside {old}", found=str(new)
        )


def _refuse_ended(source: Checkpoint) -> None:
    if (source.folder / "ended").exists():
        raise _ended(source.folder)


def _ended(folder: Path) -> CheckpointError:
    return CheckpointError(
        f"the run of {folder} has ended: its windows were closed, and nothing can go on from its state",
        hint="only a run that was paused (--follow, Ctrl-C) or stopped in its middle can be migrated",
    )


def _clear(folder: Path, move: Move) -> None:
    """An empty folder, or what is left of a migration of the same run that was killed: that is removed."""
    strangers = sorted(p for p in folder.iterdir() if p.name != "lock" and not is_leftover(p))
    if not strangers:
        return
    half = read_move(folder / MARK)
    if half is None or half.run != move.run or read_move(Path(half.old) / MIGRATED) == half:
        raise CheckpointError(
            f"the folder {folder} is not empty",
            expected="a new or an empty folder",
            found=", ".join(p.name for p in strangers[:5]),
        )
    remove_all(p for p in strangers if p.name != MARK)

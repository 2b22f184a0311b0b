"""The manifest: what a checkpoint was started with, and what may change at a restart.

Spark does not reject a changed number of channels: it silently starts with empty state. So Thalweg checks.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from thalweg.errors import CheckpointError, summary, warn
from thalweg.ir.bucket_tables import Table, read_table, table_text
from thalweg.ir.definitions import changes, definitions
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.layout import layout
from thalweg.ir.operators import Operator
from thalweg.ir.plan import Plan
from thalweg.ir.text import print_plan
from thalweg.runtime.keys import HASH_VERSION

MANIFEST_VERSION = 3


@dataclass(frozen=True)
class Manifest:
    """Fixed at the first start."""

    app: str
    engine: str
    channels: int
    buckets: int
    sources: tuple[str, ...]
    # The stateful operators of each stage after an exchange. None: migrated; the first start sets them.
    stages: tuple[tuple[str, ...], ...] | None
    degrees: Mapping[str, int]
    states: Mapping[str, str]
    labels: tuple[int, ...]  # the values that Spark hashes to send a parcel to its channel
    plan: str
    params: Mapping[str, str] = field(default_factory=dict)  # as displayed: a secret is ***
    keys: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # of each state: attributes and types
    run: str = field(default_factory=lambda: uuid.uuid4().hex)
    hash_version: int = HASH_VERSION
    version: int = MANIFEST_VERSION
    inputs: Mapping[str, str] = field(default_factory=dict)  # by source: the kind of its endpoint
    routes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by state, if not routed by its whole key
    assignments: Mapping[str, str] = field(default_factory=dict)  # the plan's tables (`ir.bucket_tables`)
    folders: Mapping[str, str] = field(default_factory=dict)  # by source of files: its folder, or its one file
    code: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # of the last start (`ir.definitions`)
    first_epoch: int = 0  # the first one run in this folder; earlier ones ran in the checkpoint it was migrated from

    def tables(self) -> dict[str, Table]:
        """The channel of each bucket, by operator; for operators without a table it is bucket % degree."""
        return {name: read_table(text) for name, text in self.assignments.items()}

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), indent=2).encode()

    @staticmethod
    def from_json(data: bytes) -> Manifest:
        try:
            document: dict[str, Any] = json.loads(data)
        except ValueError as error:
            raise _damaged(str(error)) from None
        if not isinstance(document, dict):
            raise _damaged("JSON that is not an object")
        if document.get("version") != MANIFEST_VERSION:
            raise CheckpointError(
                "this checkpoint was written by a different version of Thalweg",
                expected=f"manifest version {MANIFEST_VERSION}",
                found=str(document.get("version")),
            )
        try:
            if document["stages"] is not None:
                document["stages"] = tuple(tuple(stage) for stage in document["stages"])
            document["routes"] = {name: tuple(key) for name, key in document["routes"].items()}
            return Manifest(**document | {k: tuple(document[k]) for k in ("sources", "labels")})
        except (AttributeError, KeyError, TypeError) as error:
            raise _damaged(summary(error)) from None


def _damaged(found: str) -> CheckpointError:
    return CheckpointError(
        "the manifest of this checkpoint is damaged",
        expected="manifest.json as Thalweg wrote it",
        found=found,
        hint="restore it from a copy, or start over with a new --checkpoint",
    )


def make_manifest(plan: Plan, engine: str, labels: tuple[int, ...]) -> Manifest:
    stateful = {o.name for o in plan.graph.stateful}
    return Manifest(
        app=plan.graph.name,
        engine=engine,
        channels=plan.channels,
        buckets=plan.buckets,
        sources=tuple(s.name for s in plan.graph.entries),
        stages=tuple(tuple(n for n in stage.pes[0].operators if n in stateful) for stage in layout(plan).stages[1:]),
        degrees={o.name: plan.decisions[o.name].degree or 0 for o in plan.graph.stateful},
        states={o.name: o.state_fingerprint() for o in plan.graph.stateful},
        labels=labels,
        plan=print_plan(plan),
        inputs={s.name: s.endpoint.identity for s in plan.graph.sources},
        folders={s.name: folder for s in plan.graph.sources if (folder := s.endpoint.folder) is not None},
        code=definitions(plan.graph),
        params=dict(plan.graph.params),
        assignments={name: table_text(table) for name, table in plan.tables.items()},
        keys={o.name: _key(plan.graph, o) for o in plan.graph.stateful},
        routes={o.name: key for o in plan.graph.stateful if (key := plan.decisions[o.name].key) and key != o.key},
    )


def _key(graph: LogicalGraph, operator: Operator) -> dict[str, str]:
    tuple_type = graph.type_of(operator.inputs[0])
    return {name: str(tuple_type.get(name)) for name in operator.key or ()}


def check_restart(old: Manifest, new: Manifest) -> None:
    """Reject a start whose plan does not match the state in the checkpoint. Changes inside a stage are allowed."""
    for message, expected, found, hint in _differences(old, new):
        raise CheckpointError(message, expected=expected, found=found, hint=hint)
    for change in (*changed_params(old, new), *_moved_sources(old, new), *_changed_code(old, new)):
        warn(change)


def continued(old: Manifest, new: Manifest) -> Manifest:
    """The manifest of a compatible start: the old one, except for fields that nothing in the checkpoint depends on."""
    if old.stages is None:  # the first start after a migration
        old = replace(old, stages=new.stages, plan=new.plan)
    if not old.states:  # no channel has state, so their number may change
        old = replace(old, channels=new.channels, buckets=new.buckets, labels=new.labels)
    return replace(old, code=new.code)


def _changed_code(old: Manifest, new: Manifest) -> Iterator[str]:
    """Warnings about operators that are defined differently: allowed if the state keeps its meaning. Moved sources have
    a warning of their own. A checkpoint of an older version does not know its code."""
    folders = {name: {"folder": folder} for name, folder in new.folders.items()}
    before = {name: {**parts, **folders.get(name, {})} for name, parts in old.code.items()}
    yield from changes(before, new.code) if before else ()


def changed_params(old: Manifest, new: Manifest) -> Iterator[str]:
    """Warnings about changed parameters: allowed, like any change of code after which the state keeps its meaning."""
    for name in dict.fromkeys([*old.params, *new.params]):
        before, now = old.params.get(name, "nothing"), new.params.get(name, "nothing")
        if before != now:
            yield f"parameter {name} was {before} at the first start and is {now} from this start on"


def _moved_sources(old: Manifest, new: Manifest) -> Iterator[str]:
    """Warnings about changed folders: files are identified by their paths, so moved files would be read again."""
    for name, before in old.folders.items():
        if (now := new.folders.get(name, before)) != before:
            changed = f"source {name} read {before} at the first start and reads {now} from this start on"
            yield f"{changed}: files are identified by their paths, so all files there count as new"


_ANEW = "start over with a new --checkpoint"
_CHANGED_CODE = "a function, or a value or function that it uses, changed"
_FINGERPRINT = re.compile(r"\b[0-9a-f]{16}\b")  # of a function that cannot be shown
_MIGRATE = "thalweg migrate CHECKPOINT NEW"


def _differences(old: Manifest, new: Manifest) -> Iterator[tuple[str, str, str, str]]:
    if old.app != new.app:
        yield "this checkpoint belongs to a different application", old.app, new.app, _ANEW
    if old.engine != new.engine:
        hint = f"--engine {old.engine}, or move it: {_MIGRATE} --engine {new.engine}"
        yield "this checkpoint belongs to a different engine", old.engine, new.engine, hint
    if old.hash_version != new.hash_version:
        yield "keys were hashed by a different version of Thalweg", str(old.hash_version), str(new.hash_version), _ANEW
    if old.sources != new.sources:
        yield "the sources changed", ", ".join(old.sources), ", ".join(new.sources), _ANEW
    for name, kind in old.inputs.items():
        if new.inputs.get(name, kind) != kind:
            yield f"the source {name} now has a different kind of endpoint", kind, new.inputs[name], _ANEW
    for name, degree in old.degrees.items():
        if name in new.degrees and new.degrees[name] != degree:
            hint = f"--degree {degree}, or move the state to the new degree: {_MIGRATE} --degree {new.degrees[name]}"
            yield f"the degree of {name}, which has state, changed", str(degree), str(new.degrees[name]), hint
    for name in old.states:
        before, now = (", ".join(m.routes.get(name, ())) or "its whole key" for m in (old, new))
        if name in new.states and before != now:
            yield f"the tuples of {name}, which has state, are now routed by different attributes", before, now, _ANEW
    for name, state in old.states.items():
        if name in new.states and new.states[name] != state:
            only_code = _FINGERPRINT.sub("", state) == _FINGERPRINT.sub("", new.states[name])
            hint = f"{_CHANGED_CODE}: undo that, or {_ANEW}" if only_code else _ANEW
            yield f"the state of {name} now has a different meaning", state, new.states[name], hint
    gone, added = ([n for n in a if n not in b] for a, b in ((old.states, new.states), (new.states, old.states)))
    if gone and added:
        same = next((n for n in added if new.states[n] == old.states[gone[0]]), added[0])
        hint = f'if {gone[0]} is now called {same}, give it back its name: name="{gone[0]}"; or {_ANEW}'
        yield "an operator with state is not in the application", gone[0], ", ".join(added), hint
    if old.stages is None and old.states.keys() != new.states.keys():
        yield "the operators with state changed", ", ".join(old.states), ", ".join(new.states), _ANEW
    if old.stages is not None and old.stages != new.stages:
        hint = f"use the --fuse of the first start, or move the state first: {_MIGRATE}"
        yield "the stateful stages changed", _stages(old), _stages(new), hint
    if old.states and (old.channels, old.buckets) != (new.channels, new.buckets):
        before, now = f"{old.channels}, {old.buckets}", f"{new.channels}, {new.buckets}"
        first, wanted = (
            (f"--degree {m.channels} " if old.channels != new.channels else "") + f"--buckets {m.buckets}"
            for m in (old, new)
        )
        hint = f"{first}, or {_MIGRATE} {wanted}"
        yield "the number of channels and buckets changed", before, now, hint
    for name in old.degrees:
        before, now = (m.assignments.get(name, "bucket % degree") for m in (old, new))
        if before != now:
            hint = f"start without --plan, or with the table of the checkpoint in it; or {_MIGRATE} --balance"
            yield f"the keys of {name}, which has state, are now routed by a different table", before, now, hint


def _stages(manifest: Manifest) -> str:
    return " | ".join(" ".join(stage) or "a stage without state" for stage in manifest.stages or ()) or "none"

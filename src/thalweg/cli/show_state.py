"""The output of `thalweg state`: the content of a checkpoint, as text or as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from thalweg.cli.number_words import counted
from thalweg.engine.state.inspect_checkpoint import Inspection, OperatorState, plain
from thalweg.errors import CheckpointError, shown
from thalweg.runtime.describe_bucket import KeyEntry

_WIDTH = 160


def state_text(found: Inspection, operators: list[OperatorState], key: tuple[str, ...], limit: int) -> Iterator[str]:
    """The content as lines of text."""
    manifest = found.manifest
    spread = f"{counted(manifest.channels, 'channel')}, {counted(manifest.buckets, 'bucket')}"
    spread += ", keys by table" if manifest.assignments else ""
    yield f"application {manifest.app}, engine {manifest.engine}, {spread}"
    yield (
        f"  {counted(found.epochs_done, 'epoch')} done of {found.epochs_logged} in the input log: "
        f"{counted(found.tuples, 'tuple')} of {counted(found.files, 'file')}; {_status(found)}"
    )
    if manifest.params:
        yield "  parameters at the first start: " + ", ".join(f"{n} = {v}" for n, v in manifest.params.items())
    if found.failure is not None:
        yield f"  stopped by: {found.failure.message}"
    if not operators:
        yield "no operator keeps state"
    for state in operators:
        keys = "an unknown number of keys" if state.keys is None else counted(state.keys, "key")
        buckets = len({(s.channel, s.bucket) for s in state.parts})
        yield f"\n{state.name}: {keys}, {state.size:,} bytes in {counted(buckets, 'bucket')}"
        yield f"  {state.meaning}"
        shown = list(islice(state.entries(key), limit))
        yield from (f"  {_entry(entry, state)}" for entry in shown)
        if state.keys is not None and not key and state.keys > len(shown):
            yield f"  … {state.keys - len(shown):,} more: use --limit, or --key to show a single key"


def _status(found: Inspection) -> str:
    if found.moved_to is not None:
        return f"migrated to {found.moved_to}"
    return "ended" if found.ended else "can be resumed"


def _entry(entry: KeyEntry, state: OperatorState) -> str:
    names = list(state.key)
    pairs = zip(names, entry.key, strict=True) if len(names) == len(entry.key) else enumerate(entry.key)
    key = ", ".join(f"{name}={shown(value)}" for name, value in pairs) or "all tuples"
    values = ", ".join(f"{name}={shown(value)}" for name, value in entry.values.items())
    return _short(f"{key}: {values}")


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def state_json(found: Inspection, operators: list[OperatorState], key: tuple[str, ...], limit: int) -> dict[str, Any]:
    """The content as JSON, with complete values."""
    manifest = found.manifest
    return {
        "app": manifest.app,
        "engine": manifest.engine,
        "channels": manifest.channels,
        "buckets": manifest.buckets,
        "assignments": dict(manifest.assignments),
        "params": dict(manifest.params),
        "epochs": {"done": found.epochs_done, "logged": found.epochs_logged},
        "input": {"tuples": found.tuples, "files": found.files},
        "ended": found.ended,
        "migrated_to": found.moved_to,
        "failure": found.failure.as_json() if found.failure else None,
        "operators": [
            {
                "name": state.name,
                "meaning": state.meaning,
                "key": dict(state.key),
                "keys": state.keys,
                "bytes": state.size,
                "buckets": [
                    {"channel": s.channel, "bucket": s.bucket, "keys": s.part.keys(), "bytes": s.part.size}
                    for s in state.parts
                ],
                "entries": [
                    {"key": plain(entry.key), "values": {name: plain(value) for name, value in entry.values.items()}}
                    for entry in islice(state.entries(key), limit)
                ],
            }
            for state in operators
        ],
    }


def chosen(found: Inspection, operator: str | None, key: tuple[str, ...]) -> list[OperatorState]:
    """The operators to show. It is an error if none of them has the key."""
    states = list(found.operators) if operator is None else [found.operator(operator)]
    if key and not any(True for state in states for _ in islice(state.entries(key), 1)):
        raise CheckpointError(
            f"no state has the key {', '.join(key)}",
            found=f"the keys of {', '.join(s.name for s in states)}"
            if found.epochs_done
            else "no epoch is complete yet",
            hint="--key takes the attribute's value as text; repeat it for a key of several attributes, in their order",
        )
    return states

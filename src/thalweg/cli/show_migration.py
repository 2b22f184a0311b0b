"""The result of `thalweg migrate`, as text or as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from thalweg.cli.number_words import counted
from thalweg.engine.state.migrate import Migration, MovedState
from thalweg.engine.storage.manifest import Manifest
from thalweg.optimize.choose_degrees import BUCKETS_PER_CHANNEL


def migration_text(done: Migration, new: Path) -> Iterator[str]:
    """The result as lines of text, with the new folder as the user named it."""
    old, wanted = done.manifests
    again = done.logged - done.epochs
    waiting = f"; {again} more in the input log will be run from the new checkpoint" if again else ""
    yield f"migrated {old.app} as of {counted(done.epochs, 'epoch')}{waiting}"
    yield (
        f"  channels {_pair(old.channels, wanted.channels)}, buckets {_pair(old.buckets, wanted.buckets)}, "
        f"engine {_pair(old.engine, wanted.engine)}"
    )
    if not done.operators:
        yield "  no operator keeps state"
    for state in done.operators:
        size = f"{counted(state.keys, 'key')}, {state.size:,} bytes"
        yield f"  {state.name}: {size}; degree {_pair(*state.degree)}{_why(state)}"
    if wanted.assignments:
        yield f"  keys are assigned to channels by table: {', '.join(wanted.assignments)}"
    yield f"{done.folders[0]} is kept, but it can no longer be started"
    yield f"resume with: {command(wanted, new)}"


def _pair(before: object, now: object) -> str:
    return str(now) if before == now else f"{before} → {now}"


def _why(state: MovedState) -> str:
    return "" if state.keyed else " (one state for all tuples)"


def command(manifest: Manifest, new: Path) -> str:
    """The command to resume with. Degrees that are not all the same can only come from a plan in a file."""
    keyed = {degree for name, degree in manifest.degrees.items() if manifest.keys.get(name)}
    words = ["thalweg", "run", "APP", "--checkpoint", shlex.quote(str(new))]
    words += ["--engine", manifest.engine] if manifest.engine != "spark" else []
    if len(keyed) > 1:
        return " ".join([*words, "--plan", "FILE"])
    words += ["--degree", str(manifest.channels)] if manifest.channels > 1 else []
    default = BUCKETS_PER_CHANNEL * manifest.channels
    return " ".join([*words, *(["--buckets", str(manifest.buckets)] if manifest.buckets != default else [])])


def migration_json(done: Migration) -> dict[str, Any]:
    """The result as JSON."""
    old, wanted = done.manifests
    return {
        "app": old.app,
        "from": str(done.folders[0]),
        "to": str(done.folders[1]),
        "epochs": {"done": done.epochs, "logged": done.logged},
        "channels": [old.channels, wanted.channels],
        "buckets": [old.buckets, wanted.buckets],
        "engine": [old.engine, wanted.engine],
        "balanced": list(wanted.assignments),
        "operators": [
            {"name": s.name, "keys": s.keys, "bytes": s.size, "degree": list(s.degree), "keyed": s.keyed}
            for s in done.operators
        ],
        "command": command(wanted, done.folders[1]),
    }

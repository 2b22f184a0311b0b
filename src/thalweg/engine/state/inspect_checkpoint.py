"""Inspection of a checkpoint: what was run, how far, and its state. Takes no lock and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.engine.state.stored_state import StoredPart, stored_state
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.engine.storage.manifest import Manifest
from thalweg.engine.storage.migration_marks import MIGRATED, read_move
from thalweg.errors import CheckpointError, ThalwegError, did_you_mean, shown
from thalweg.runtime.describe_bucket import KeyEntry

_LARGEST_INT = 14_000  # bits: Python does not print more than 4,300 digits


@dataclass(frozen=True, slots=True)
class OperatorState:
    """All stored state of one operator."""

    name: str
    meaning: str
    key: Mapping[str, str]
    parts: tuple[StoredPart, ...]

    @property
    def keys(self) -> int | None:
        """The number of keys. None if some of the state has a form that this version does not know."""
        counts = [stored.part.keys() for stored in self.parts]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def size(self) -> int:
        return sum(stored.part.size for stored in self.parts)

    def entries(self, wanted: tuple[str, ...] = ()) -> Iterator[KeyEntry]:
        """Keys and values, bucket by bucket. `wanted`: only the key whose values print as these texts."""
        for stored in self.parts:
            for entry in stored.part.entries(self.key):
                if not wanted or tuple(map(str, entry.key)) == wanted:
                    yield entry


@dataclass(frozen=True, slots=True)
class Inspection:
    """The contents of a checkpoint."""

    folder: Path
    manifest: Manifest
    epochs_logged: int
    epochs_done: int
    tuples: int
    files: int
    ended: bool
    moved_to: str | None  # where it was migrated to
    failure: ThalwegError | None
    operators: tuple[OperatorState, ...]

    def operator(self, name: str) -> OperatorState:
        for state in self.operators:
            if state.name == name:
                return state
        names = [state.name for state in self.operators]
        expected = ", ".join(names) or "none: no operator of this application keeps state"
        raise CheckpointError(f"no state of {name}", expected=expected, hint=did_you_mean(name, names))


def read_manifest(folder: Path) -> Manifest:
    file = folder / "manifest.json"
    if not file.is_file():
        raise CheckpointError(f"{folder} is not a Thalweg checkpoint", expected="a folder with manifest.json")
    return Manifest.from_json(file.read_bytes())


def inspect_checkpoint(folder: Path) -> Inspection:
    manifest = read_manifest(folder)
    checkpoint = Checkpoint(folder)
    epochs = list(checkpoint.log)
    state = stored_state(checkpoint, manifest)
    return Inspection(
        folder=checkpoint.folder,
        manifest=manifest,
        epochs_logged=len(epochs),
        epochs_done=state.epochs,
        tuples=sum(epoch.tuples for epoch in epochs),
        files=len({(chunk.source, chunk.path) for epoch in epochs for chunk in epoch.chunks}),
        ended=checkpoint.has_ended,
        moved_to=gone.new if (gone := read_move(checkpoint.folder / MIGRATED)) else None,
        failure=checkpoint.failure(),
        operators=tuple(
            OperatorState(name, meaning, manifest.keys.get(name, {}), state.of(name))
            for name, meaning in manifest.states.items()
        ),
    )


def plain(value: Any) -> Any:
    """A value that JSON can represent, which has no NaN, bytes or objects, nor values that contain themselves."""
    try:
        return _plain(value)
    except RecursionError:
        return shown(value)


def _plain(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > _LARGEST_INT:
        return shown(value)
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else repr(value)
    if isinstance(value, Mapping):
        return {shown(name) if isinstance(name, int) else str(name): _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else shown(value)

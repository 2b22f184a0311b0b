"""The two marks of a migration, which make sure that a run goes on in one folder only, whenever a migration is killed.

`migrating.json` lies in the new folder from its first file on. `migrated.json` is written into the old one when the new
one is whole; only then the first mark goes. So at every moment exactly one of the two can be started.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from thalweg.engine.storage.small_files import write_atomically
from thalweg.errors import CheckpointError

MIGRATING, MIGRATED = "migrating.json", "migrated.json"


@dataclass(frozen=True, slots=True)
class Move:
    """One migration; `id` tells it from another one between the same folders."""

    id: str
    run: str  # of the manifest
    old: str
    new: str

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def read_move(file: Path) -> Move | None:
    return Move(**json.loads(file.read_bytes())) if file.exists() else None


def begin(move: Move) -> None:
    write_atomically(Path(move.new) / MIGRATING, move.to_json(), named=True)


def finish(move: Move) -> None:
    """The new folder is whole: from here on it is the one that counts."""
    write_atomically(Path(move.old) / MIGRATED, move.to_json(), named=True)
    (Path(move.new) / MIGRATING).unlink()


def refuse_moved(folder: Path) -> None:
    """Only for whoever has the folder's lock."""
    gone = read_move(folder / MIGRATED)
    if gone is not None:
        raise CheckpointError(f"this checkpoint was migrated to {gone.new}", hint=f"go on with --checkpoint {gone.new}")
    half = read_move(folder / MIGRATING)
    if half is None:
        return
    if read_move(Path(half.old) / MIGRATED) != half:
        raise CheckpointError(
            f"the migration into {folder} did not come to its end",
            found=f"a part of {half.old}, which is as it was",
            hint=f"do it again: thalweg migrate {half.old} {folder} …; or go on with --checkpoint {half.old}",
        )
    (folder / MIGRATING).unlink()  # killed between the two marks

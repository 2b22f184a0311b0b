"""The two marks of a migration: even if it is killed, the run can be resumed in one of the two folders only.

`migrating.json` is the first file of the new folder. `migrated.json` is written into the old folder when the new one is
complete; only then is the first mark removed. So at any moment exactly one of the two folders can be started.
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
    """One migration; `id` distinguishes it from others between the same folders."""

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
    """The new folder is complete: from now on it is the one to resume from."""
    write_atomically(Path(move.old) / MIGRATED, move.to_json(), named=True)
    (Path(move.new) / MIGRATING).unlink()


def refuse_moved(folder: Path) -> None:
    """Reject a folder that is not the one to resume from. The caller must hold the folder's lock."""
    gone = read_move(folder / MIGRATED)
    if gone is not None:
        hint = f"resume with --checkpoint {gone.new}"
        raise CheckpointError(f"this checkpoint was migrated to {gone.new}", hint=hint)
    half = read_move(folder / MIGRATING)
    if half is None:
        return
    if read_move(Path(half.old) / MIGRATED) != half:
        raise CheckpointError(
            f"the migration into {folder} did not finish",
            found=f"an incomplete copy of {half.old}, which is unchanged",
            hint=f"repeat it: thalweg migrate {half.old} {folder} …; or resume with --checkpoint {half.old}",
        )
    (folder / MIGRATING).unlink()  # killed between the two marks

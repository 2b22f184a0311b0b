"""Small files that are there whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

_PART = ".part"


def write_atomically(file: Path, data: bytes, *, durable: bool = True) -> None:
    """Write beside, force to disk (unless losing the file in a power cut does no harm), rename."""
    _write_beside(file, data, durable=durable).replace(file)


def create_atomically(file: Path, data: bytes) -> None:
    """The same for a file that must not be there yet: FileExistsError if another process was first."""
    beside = _write_beside(file, data, durable=True)
    try:
        os.link(beside, file)
    finally:
        beside.unlink()


def _write_beside(file: Path, data: bytes, *, durable: bool) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.{os.getpid()}{_PART}")
    with beside.open("wb") as out:
        out.write(data)
        if durable:
            out.flush()
            os.fsync(out.fileno())
    return beside


def is_leftover(file: Path) -> bool:
    """Whether this is half a file, left by a process that was killed while it wrote."""
    return file.name.startswith(".") and file.name.endswith(_PART)


def remove_leftovers(folder: Path) -> None:
    """Only for whoever owns the folder: a half file may also be one that another process is writing."""
    for file in [f for f in folder.iterdir() if is_leftover(f)]:
        file.unlink(missing_ok=True)


def remove_all(paths: Iterable[Path]) -> None:
    """Files, and folders with all that is in them."""
    for path in paths:
        shutil.rmtree(path) if path.is_dir() else path.unlink()

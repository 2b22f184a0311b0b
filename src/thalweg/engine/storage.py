"""Small files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(file: Path, data: bytes, *, durable: bool = True) -> None:
    """Write beside, force to disk (unless losing the file in a power cut does no harm), rename."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    with beside.open("wb") as out:
        out.write(data)
        if durable:
            out.flush()
            os.fsync(out.fileno())
    beside.replace(file)

"""Check that a file in the input log has not changed."""

from __future__ import annotations

import datetime as dt
import os

from thalweg.engine.storage.log import Chunk
from thalweg.errors import InputError


def changed(known: Chunk, size: int, modified_ns: int) -> InputError:
    return InputError(
        f"{known.path} changed after it was taken",
        expected=f"{known.size} bytes, modified at {_shown(known.modified_ns)}",
        found=f"{size} bytes, modified at {_shown(modified_ns)}",
        hint="restore the file as it was, or start over with a new checkpoint; write new data to new files",
    )


def _shown(modified_ns: int) -> str:
    """The time to the nanosecond: a file may be written again within a second."""
    when = dt.datetime.fromtimestamp(modified_ns // 1_000_000_000)
    return f"{when}.{modified_ns % 1_000_000_000:09d}"


def check_unchanged(chunk: Chunk) -> None:
    """A file that is about to be read (again) must be the one that was logged."""
    try:
        stat = os.stat(chunk.path)
    except FileNotFoundError:
        raise InputError(
            f"{chunk.path} disappeared before it was fully processed",
            expected=f"a file of {chunk.size} bytes, rows {chunk.start} to {chunk.stop} of it",
            hint="put the file back, then run the same command to resume: no data is lost",
        ) from None
    if (stat.st_size, stat.st_mtime_ns) != (chunk.size, chunk.modified_ns):
        raise changed(chunk, stat.st_size, stat.st_mtime_ns)

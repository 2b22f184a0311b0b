"""Where streams come from and go to."""

from __future__ import annotations

from pathlib import Path

from thalweg.errors import GraphError, did_you_mean
from thalweg.ir.operators import Collect, Files
from thalweg.lang.place import call_place, user_frame

FORMATS = ("parquet", "csv", "jsonl")


def files(path: str | Path, *, format: str = "parquet") -> Files:
    """A folder of files. As a source: taken in order of name, a new file behind all that were taken before."""
    if format not in FORMATS:
        raise GraphError(
            f"unknown file format {format!r}",
            where=call_place(user_frame()),
            expected=", ".join(FORMATS),
            hint=did_you_mean(str(format), FORMATS),
        )
    return Files(str(path), format)


def collect() -> Collect:
    """A sink whose tuples the caller of `app.run` gets back."""
    return Collect()

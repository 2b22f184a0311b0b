"""Where streams come from and go to."""

from __future__ import annotations

from pathlib import Path

from thalweg.errors import GraphError, Where, did_you_mean
from thalweg.ir.operators import Collect, Files
from thalweg.ir.types import TupleType
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


def check_format(endpoint: Files, tuple_type: TupleType, where: Where) -> None:
    """Refuse a format that cannot hold a type."""
    if endpoint.format == "csv" and [kind.optional for _, kind in tuple_type.attributes] == [True]:
        raise GraphError(
            f"csv cannot hold {tuple_type} alone",
            where=where,
            expected="an attribute that is never None",
            hint="a tuple of None alone would be an empty line, which a reader skips",
        )
    for name, kind in tuple_type.attributes:
        if endpoint.format == "csv" and kind.composite:
            raise GraphError(
                f"csv cannot hold {name}: {kind}",
                where=where,
                expected="attributes without parts",
                found=str(tuple_type),
                hint='format="parquet" or "jsonl" holds lists and nested tuples',
            )


def collect() -> Collect:
    """A sink whose tuples the caller of `app.run` gets back."""
    return Collect()

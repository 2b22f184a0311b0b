"""The row path: user functions called tuple by tuple."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from thalweg.ir.types import TupleType
from thalweg.ir.user_tuples import row_maker
from thalweg.runtime.columns import Column, from_values, to_list
from thalweg.runtime.frame import Frame


def rows(frame: Frame, tuple_type: TupleType) -> Iterator[Any]:
    """The tuples of a frame, one at a time."""
    make = row_maker(tuple_type, tuple(frame.columns))
    if not frame.columns:
        return (make() for _ in range(len(frame)))
    return map(make, *(to_list(column) for column in frame.columns.values()))


def columns_of(values: Iterable[tuple[Any, ...]], tuple_type: TupleType) -> dict[str, Column]:
    """Unpacked tuples as columns."""
    transposed = list(zip(*values, strict=True)) or [()] * len(tuple_type.attributes)
    return {n: from_values(v, kind) for (n, kind), v in zip(tuple_type.attributes, transposed, strict=True)}

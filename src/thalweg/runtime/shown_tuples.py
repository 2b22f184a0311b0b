"""The texts of tuples, as `repr` gives them, column by column: dead letters have one for each tuple that failed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.ir.types import BOOL, FLOAT, INT, STR, AttributeType, TupleType
from thalweg.ir.user_tuples import shows_attributes
from thalweg.ir.values import reviver
from thalweg.runtime.columns import Array, Coded, Column, compact, from_arrow, from_values, to_list
from thalweg.runtime.frame import Frame
from thalweg.runtime.row_functions import rows


def shown_tuples(frame: Frame, tuple_type: TupleType) -> Column:
    """The text of each tuple, as user functions see it."""
    names = tuple_type.names
    if not names or names != tuple(frame.columns) or not shows_attributes(tuple_type) or not len(frame):
        return from_values([repr(row) for row in rows(frame, tuple_type)], STR)
    parts: list[pa.Array | str] = []
    for name, kind in tuple_type.attributes:
        parts += [f"{', ' if parts else f'{tuple_type.name}('}{name}=", _texts(frame.columns[name], kind)]
    return from_arrow(pc.binary_join_element_wise(*parts, ")", ""))


def _texts(column: Column, kind: AttributeType) -> pa.Array:
    """The `repr` of each value."""
    column = compact(column)
    if isinstance(column, Coded):
        return pa.array(list(map(repr, column.values.to_pylist())), pa.string()).take(pa.array(column.codes))
    if kind is INT:
        return pa.array(column).cast(pa.string())
    if kind is FLOAT:
        return _floats(column)
    if kind is BOOL:
        return pc.if_else(pa.array(column), "True", "False")
    values = to_list(column)
    revive = reviver(kind)
    return pa.array(
        [repr(revive(value)) for value in values] if kind.composite else list(map(repr, values)), pa.string()
    )


def _floats(values: Array) -> pa.Array:
    """Arrow finds the same digits as Python in a fraction of the time, but writes some numbers in another way."""
    size = np.abs(values)
    otherwise = ~((size >= 1e-4) & (size < 1e10) & (values != np.rint(values)))
    texts = pa.array(values).cast(pa.string())
    if not otherwise.any():
        return texts
    by_python = pa.array(list(map(repr, values[otherwise].tolist())), pa.string())
    return pc.replace_with_mask(texts, pa.array(otherwise), by_python)

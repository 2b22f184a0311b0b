"""Columns of Python values: every type that is neither a number, a bool nor a string.

They are numpy arrays of objects, so gathers and slices work on them as on all others. They are sent as pickles, which
are exact for every type (Decimal("1.0") is not Decimal("1.00"), a datetime keeps its zone and its fold) and need no
user classes, because lists and nested tuples are plain tuples in a column.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.runtime.columns import Array, Column, from_arrow, objects, to_arrow

_PROTOCOL = 5


def is_boxed(column: Column) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.hasobject


def pack(columns: dict[str, Column]) -> bytes:
    """All columns in one pickle, so that shared parts are written once."""
    return pickle.dumps({name: column.tolist() for name, column in columns.items()}, _PROTOCOL)  # type: ignore[union-attr]


def unpack(data: bytes) -> dict[str, Array]:
    found: dict[str, Sequence[Any]] = pickle.loads(data)
    return {name: objects(values) for name, values in found.items()}


def to_stored(column: Column) -> pa.Array:
    """A column as an Arrow array that can be stored: Python values one by one, strings without their dictionary."""
    if isinstance(column, np.ndarray) and column.dtype.hasobject:
        return pa.array([_dumps(value) for value in column], pa.binary())
    array = to_arrow(column)
    # A stored dictionary would keep values that are no longer used.
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _dumps(value: Any) -> bytes:
    """Equal bytes for equal values: without `fast` they would depend on whether two equal parts are one object."""
    out = io.BytesIO()
    pickler = pickle.Pickler(out, _PROTOCOL)
    pickler.fast = True
    pickler.dump(value)
    return out.getvalue()


def from_stored(array: pa.Array) -> Column:
    """The column that `to_stored` wrote. Only for data that Thalweg wrote: the values are pickled."""
    if pa.types.is_binary(array.type):
        return objects([pickle.loads(value) for value in array.to_pylist()])
    return from_arrow(array)

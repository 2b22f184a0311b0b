"""Columns of a frame: numpy arrays, and strings as codes into an Arrow dictionary. Other types: `objects.py`.

Coded strings make everything between input and output cheap: filters, gathers, groupings and joins move 4-byte codes,
a function of one string is evaluated once per distinct value, and a frame carries each distinct value once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thalweg.ir.types import BOOL, FLOAT, INT, STR, AttributeType

Array = npt.NDArray[Any]

DTYPES: dict[AttributeType, np.dtype[Any]] = {
    INT: np.dtype(np.int64),
    FLOAT: np.dtype(np.float64),
    BOOL: np.dtype(np.bool_),
}


@dataclass(frozen=True, slots=True)
class Coded:
    """Strings: `values[codes[i]]` is the i-th. The values are distinct; some may be unused."""

    codes: npt.NDArray[np.int32]
    values: pa.Array

    def __len__(self) -> int:
        return len(self.codes)

    def to_list(self) -> list[str]:
        found: list[str] = texts(self).tolist()
        return found

    def to_arrow(self) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array(self.codes), self.values)


Column = Array | Coded


def texts(column: Coded) -> Array:
    """The strings as Python objects."""
    return np.array(column.values.to_pylist(), dtype=object).take(column.codes)


def from_arrow(array: pa.Array | pa.ChunkedArray) -> Column:
    """An Arrow array without nulls as a column."""
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        array = array.cast(pa.string()).dictionary_encode()
    if isinstance(array, pa.ChunkedArray):
        array = (
            array.unify_dictionaries().combine_chunks()
            if pa.types.is_dictionary(array.type)
            else array.combine_chunks()
        )
    if isinstance(array, pa.ChunkedArray):  # no chunks
        array = pa.array([], array.type)
    if pa.types.is_dictionary(array.type):
        return Coded(array.indices.to_numpy().astype(np.int32, copy=False), array.dictionary)
    return np.asarray(array.to_numpy(zero_copy_only=False))


def to_arrow(column: Column) -> pa.Array:
    return column.to_arrow() if isinstance(column, Coded) else pa.array(column)


def from_values(values: Sequence[Any], kind: AttributeType) -> Column:
    """Python values, all of this type, as a column."""
    if kind is STR:
        return from_arrow(pa.array(values, pa.string()))
    return objects(values) if kind.boxed else np.array(values, dtype=DTYPES[kind])


def repeated(text: str, rows: int) -> Coded:
    """The same string in every row."""
    return Coded(np.zeros(rows, np.int32), pa.array([text], pa.string()))


def objects(values: Sequence[Any]) -> Array:
    """Python values as a column. `np.array` would turn tuples of equal length into a matrix."""
    return np.fromiter(values, np.dtype(object), len(values))


def to_list(column: Column) -> list[Any]:
    return column.to_list() if isinstance(column, Coded) else column.tolist()


def take(column: Column, indices: Array) -> Column:
    if isinstance(column, Coded):
        return Coded(column.codes.take(indices), column.values)
    return column.take(indices)


def window(column: Column, start: int, stop: int) -> Column:
    if isinstance(column, Coded):
        return Coded(column.codes[start:stop], column.values)
    return column[start:stop]


def concat(columns: Sequence[Column]) -> Column:
    """The columns concatenated; all have the same type."""
    if len(columns) == 1:
        return columns[0]
    coded = [c for c in columns if isinstance(c, Coded)]
    if not coded:
        return np.concatenate([c for c in columns if not isinstance(c, Coded)])
    if all(c.values is coded[0].values for c in coded):
        return Coded(np.concatenate([c.codes for c in coded]), coded[0].values)
    return from_arrow(pa.chunked_array([c.to_arrow() for c in coded]))


def compact(column: Column) -> Column:
    """The column without dictionary values that no row uses."""
    if not isinstance(column, Coded) or len(column.values) <= len(column.codes) // 8:
        return column
    used = np.zeros(len(column.values), np.bool_)
    used[column.codes] = True
    if used.all():
        return column
    renumbered = (np.cumsum(used) - 1).astype(np.int32)
    return Coded(renumbered[column.codes], column.values.filter(pa.array(used)))

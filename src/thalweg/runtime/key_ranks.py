"""The order of keys: tuples that several keys emit at a mark or at the end are sorted by rank, then by key.

Sub-positions are 64-bit integers, so a key is ordered by an integer for each of its attributes and by its hash:
numbers, dates and short strings in their natural order, strings that agree in their first 8 bytes by hash.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg.ir.times import to_time
from thalweg.ir.types import INT64_MAX, INT64_MIN, AttributeType
from thalweg.ir.values import carried
from thalweg.runtime.columns import Array, Column, from_values, to_list
from thalweg.runtime.keys import keys_of, stable_hash

LAST_RANK = INT64_MAX  # of a forwarded mark: after everything that the operator emitted because of it


def key_rank(values: Sequence[Any], key_hash: int) -> tuple[int, ...]:
    """The sub-positions of a key; none for the single key of an operator without key attributes."""
    return (*map(_order, values), key_hash) if values else ()


def rank_columns(columns: Sequence[Column], hashes: Array) -> list[Array]:
    """The sub-positions of many keys; `hashes`: of all of them."""
    return [*map(_orders, columns), hashes] if columns else []


def _orders(column: Column) -> Array:
    if isinstance(column, np.ndarray) and column.dtype in (np.int64, np.bool_):
        return column.astype(np.int64)
    return np.array([_order(value) for value in to_list(column)], np.int64)


def hash_of(values: Sequence[Any], kinds: Sequence[AttributeType]) -> int:
    """The hash of one key, as a signed 64-bit int."""
    keys = keys_of([from_values([carried(value)], kind) for value, kind in zip(values, kinds, strict=True)], 1)
    return int(stable_hash(keys.distinct).view(np.int64)[0])


def _order(value: Any) -> int:
    match value:
        case None:
            return INT64_MIN
        case bool() | int():
            return int(value)
        case float():
            return _of_float(value)
        case str():
            return _of_bytes(value.encode())
        case bytes():
            return _of_bytes(value)
        case dt.datetime():
            return to_time(value)
        case dt.date():
            return value.toordinal()
        case decimal.Decimal():
            return _of_float(float(value))
    return 0


def _of_bytes(data: bytes) -> int:
    return int.from_bytes(data[:8].ljust(8, b"\0"), "big") + INT64_MIN


def _of_float(value: float) -> int:
    if math.isnan(value):
        return INT64_MAX
    bits: int = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]
    return bits if bits >= 0 else INT64_MIN - bits - 1

"""Functions that generated expressions call where the results of numpy and Python could differ.

Each function either returns exactly what Python would, or raises `Fallback`; then the frame takes the row path, or, if
it is known for which rows the results could differ, only these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.ir.types import INT64_MAX, INT64_MIN, AttributeType
from thalweg.runtime.columns import DTYPES, Array, Coded, Column, from_values, repeated

_EXACT = 2**53  # above it an int may differ from its float
_SURE = 9.2e18  # a result that is less in floating point fits into 64 bits


class Fallback(Exception):
    """This frame must take the row path; with a mask of rows, only those. `alike`: on all of these rows Python fails,
    with the same error."""

    def __init__(self, rows: Array | None = None, *, alike: bool = False) -> None:
        super().__init__()
        self.rows, self.alike = rows, alike

    def spread(self, at: Array, count: int) -> Fallback:
        """The same for a frame of `count` rows, of which the kernel received those at `at`."""
        if self.rows is None:
            return self
        rows = np.zeros(count, np.bool_)
        rows[at] = self.rows
        return Fallback(rows, alike=self.alike)

    def taken(self, at: Array) -> Fallback:
        """The same for a frame that has the rows at `at`."""
        return Fallback(None if self.rows is None else self.rows.take(at), alike=self.alike)


def _unless(wrong: Any, *, alike: bool = False) -> None:
    """Fall back for the rows of a mask, if any; a plain truth applies to all rows."""
    if np.any(wrong):
        raise Fallback(wrong if isinstance(wrong, np.ndarray) else None, alike=alike)


def _bounds(value: Any) -> tuple[int, int]:
    if isinstance(value, np.ndarray):
        return (int(value.min()), int(value.max())) if value.size else (0, 0)
    return int(value), int(value)


def _fits(results: Iterable[int], estimates: Callable[[], Any]) -> None:
    """Fall back for rows whose result may not fit into 64 bits. The bounds of the columns show if there can be any,
    results in floating point show which."""
    if min(results := tuple(results)) < INT64_MIN or max(results) > INT64_MAX:
        with np.errstate(over="ignore"):
            _unless(np.abs(estimates()) > _SURE)


def _not_least(a: Any) -> None:
    """The least int has no positive counterpart."""
    if _bounds(a)[0] == INT64_MIN:
        _unless(a == INT64_MIN)


def add_int(a: Any, b: Any) -> Any:
    (a_low, a_high), (b_low, b_high) = _bounds(a), _bounds(b)
    _fits((a_low + b_low, a_high + b_high), lambda: np.add(a, b, dtype=np.float64))
    return a + b


def sub_int(a: Any, b: Any) -> Any:
    (a_low, a_high), (b_low, b_high) = _bounds(a), _bounds(b)
    _fits((a_low - b_high, a_high - b_low), lambda: np.subtract(a, b, dtype=np.float64))
    return a - b


def mul_int(a: Any, b: Any) -> Any:
    _fits((x * y for x in _bounds(a) for y in _bounds(b)), lambda: np.multiply(a, b, dtype=np.float64))
    return a * b


def floordiv_int(a: Any, b: Any) -> Any:
    nonzero(b)
    _not_least(a)  # divided by -1 it overflows
    return a // b


def mod_int(a: Any, b: Any) -> Any:
    nonzero(b)
    _not_least(a)
    return a % b


def neg_int(a: Any) -> Any:
    _not_least(a)
    return -a


def abs_int(a: Any) -> Any:
    _not_least(a)
    return abs(a)


def pow_int(a: Any, b: Any) -> Any:
    """Falls back on a negative exponent, for which Python returns a float."""
    low, high = _bounds(b)
    if low < 0 or high > 64:
        _unless((b < 0) | (b > 64))
    _fits((max(map(abs, _bounds(a))) ** high,), lambda: np.power(a, b, dtype=np.float64))
    return a**b


def shift_left(a: Any, b: Any) -> Any:
    low, high = _bounds(b)
    if low < 0 or high > 63:
        _unless((b < 0) | (b > 63))
    _fits((x << high for x in _bounds(a)), lambda: np.ldexp(np.float64(a), b))
    return a << b


def shift_right(a: Any, b: Any) -> Any:
    _unless(b < 0)
    return a >> np.minimum(b, 63) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else a >> b


def floordiv_float(a: Any, b: Any) -> Any:
    return a // nonzero(b)


def mod_float(a: Any, b: Any) -> Any:
    return a % nonzero(b)


def sqrt(a: Any) -> Any:
    _unless(a < 0)
    return np.sqrt(a) if isinstance(a, np.ndarray) else math.sqrt(a)


def to_float(a: Any) -> Any:
    return a.astype(np.float64) if isinstance(a, np.ndarray) else float(a)


def bool_to_int(a: Any) -> Any:
    return a.astype(np.int64) if isinstance(a, np.ndarray) else int(a)


def whole(a: Any) -> Any:
    """Floats without a fraction as ints. Python raises on NaN and infinities, and its ints are unbounded."""
    _unless(np.logical_not(np.abs(a) < 2.0**63))
    return a.astype(np.int64) if isinstance(a, np.ndarray) else int(a)


def least(a: Any, b: Any) -> Any:
    """Python's `min(a, b)`: the first operand if neither is less, also for NaN and for zeros of both signs."""
    less = b < a
    return np.where(less, b, a) if isinstance(less, np.ndarray) else b if less else a


def greatest(a: Any, b: Any) -> Any:
    greater = b > a
    return np.where(greater, b, a) if isinstance(greater, np.ndarray) else b if greater else a


def among(a: Any, *values: Any) -> Any:
    """Whether each element is one of these values, none of which is NaN."""
    if not isinstance(a, np.ndarray):
        return a in values
    if len(values) > 8:
        return np.isin(a, values)
    found = a == values[0]
    for value in values[1:]:
        found |= a == value
    return found


def exact(a: Any) -> Any:
    """Ints about to be compared with, or divided as, floats: Python does that exactly, numpy through float64."""
    low, high = _bounds(a)
    if low < -_EXACT or high > _EXACT:
        _unless((a < -_EXACT) | (a > _EXACT))
    return a


def nonzero(b: Any) -> Any:
    """Divisors: Python raises on zero, always with the same text."""
    _unless(b == 0, alike=True)
    return b


def same_text(a: Any, b: Any) -> Any:
    if isinstance(a, Coded) and isinstance(b, Coded):
        in_a = pc.index_in(b.values, value_set=a.values).fill_null(-1).to_numpy()
        return a.codes == in_a[b.codes]
    if isinstance(b, Coded):
        a, b = b, a
    if isinstance(a, Coded):
        found = pc.index_in(pa.scalar(b, pa.string()), value_set=a.values).as_py()
        return np.zeros(len(a), np.bool_) if found is None else a.codes == found
    return a == b


def column(value: Any, rows: int, kind: AttributeType) -> Column:
    """The result of an expression as a column: a constant is repeated in every row."""
    if isinstance(value, Coded | np.ndarray):
        return value
    if isinstance(value, str):
        return repeated(value, rows) if rows else from_values([], kind)
    return np.full(rows, value, DTYPES[kind])


def ports(value: Any, rows: int, count: int, kind: AttributeType) -> Array:
    """A split's port numbers; a number out of range is an error, which the row path reports."""
    numbers = column(value, rows, kind)
    assert isinstance(numbers, np.ndarray)
    low, high = _bounds(numbers)
    if low < 0 or high >= count:
        _unless((numbers < 0) | (numbers >= count))
    return numbers


def numbers(values: Column) -> Array:
    """Values about to be folded: strings and columns of Python values are folded by Python."""
    if isinstance(values, Coded) or values.dtype.hasobject:
        raise Fallback
    return values

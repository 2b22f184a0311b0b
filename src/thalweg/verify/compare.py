"""Bitwise comparison of answers: order counts, floats are compared by their bits, all NaNs are one value."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from thalweg.ir.values import carried

Row = tuple[Any, ...]
_SIMPLE = (int, float, str, bool)


def first_difference(expected: Sequence[Row], found: Sequence[Row]) -> str | None:
    """Where two lists of tuples first differ, in words; None when they are the same bit for bit."""
    for number, (wanted, got) in enumerate(zip(expected, found, strict=False)):
        if len(wanted) != len(got):
            return f"row {number}: expected {len(wanted)} attributes {wanted!r}, found {len(got)} {got!r}"
        for index, (a, b) in enumerate(zip(wanted, got, strict=True)):
            if not same_bits(a, b):
                return f"row {number}, attribute {index}: expected {a!r}, found {b!r} (in {wanted!r} and {got!r})"
    if len(expected) > len(found):
        return f"row {len(found)}: expected {expected[len(found)]!r}, found the end after {len(found)} rows"
    if len(found) > len(expected):
        return f"row {len(expected)}: expected the end after {len(expected)} rows, found {found[len(expected)]!r}"
    return None


def in_any_order(rows: Sequence[Row]) -> list[Row]:
    """The same list for the same tuples in any order."""
    return sorted(rows, key=repr)


def same_bits(a: object, b: object) -> bool:
    """Same type and same value; floats by their 8 bytes, except that any NaN is like any other.

    Python calls more values equal than that: Decimals of other digits, datetimes of other zones. Lists and nested
    tuples are compared part by part, whether as columns carry them or as user functions see them.
    """
    if type(a) not in _SIMPLE:
        a, b = carried(a), carried(b)
    if type(a) is not type(b):
        return False
    if isinstance(a, float) and isinstance(b, float):
        return (a != a and b != b) or struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same_bits, a, b))
    if isinstance(a, Decimal) and isinstance(b, Decimal):
        return a.as_tuple() == b.as_tuple()
    if isinstance(a, datetime) and isinstance(b, datetime):
        return a.replace(tzinfo=None) == b.replace(tzinfo=None) and _zone(a) == _zone(b)
    return a == b


def _zone(value: datetime) -> tuple[int, str]:
    return value.fold, repr(value.tzinfo)

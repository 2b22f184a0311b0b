"""Bitwise comparison of answers: order matters, floats are compared by their bits, all NaNs are one value."""

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
    """The first difference between two lists of tuples, as text; None if they are the same bit for bit."""
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
    """Same type and same value; floats are compared by their 8 bytes, except that all NaNs are the same.

    This is stricter than Python's equality, which ignores the digits of Decimals and the zones of datetimes. Lists and
    nested tuples are compared part by part, in the form that columns hold or in the form that user functions see.
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

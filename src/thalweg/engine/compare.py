"""Bitwise comparison of answers: order counts, floats are compared by their bits, all NaNs are one value."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

Row = tuple[Any, ...]


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


def same_bits(a: object, b: object) -> bool:
    """Same type and same value; floats by their 8 bytes, except that any NaN is like any other."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float) and isinstance(b, float):
        return (a != a and b != b) or struct.pack("<d", a) == struct.pack("<d", b)
    return a == b

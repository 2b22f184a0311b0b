"""The canonical form of one value, for keys: values that are equal in Python have the same bytes.

`keys.py` hashes these bytes, so they are part of hash version 1 and never change. Two rules are ours, because Python's
equality would not do: every NaN is one value, and a datetime with a zone is its instant. (Python compares two datetimes
of one zone by their clocks, so that 02:30 before and after the end of summer time would be one key.)
"""

from __future__ import annotations

import struct
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

_NAN = struct.pack("<d", float("nan"))
_MICROSECOND = timedelta(microseconds=1)


def canonical(value: Any) -> bytes:
    """No form is the beginning of another one, so forms can stand one behind the other."""
    match value:
        case None:
            return b"N"
        case int():  # a bool is its int
            return b"I" + _word(value)
        case float():
            return b"F" + (_NAN if value != value else struct.pack("<d", value + 0.0))
        case str():
            return b"S" + _sized(value.encode())
        case bytes():
            return b"B" + _sized(value)
        case datetime():
            return _datetime(value)
        case date():
            return b"D" + _word(value.toordinal())
        case Decimal():
            return b"M" + _sized(_decimal(value).encode())
        case tuple() | list():
            return b"T" + _word(len(value)) + b"".join([canonical(part) for part in value])
    raise TypeError(f"{type(value).__name__} has no canonical form")


def _word(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)


def _sized(data: bytes) -> bytes:
    return _word(len(data)) + data


def _datetime(value: datetime) -> bytes:
    """Without a zone the clock, with one the instant. Python never calls one equal to the other."""
    clock = (value.replace(tzinfo=None) - datetime.min) // _MICROSECOND
    offset = value.utcoffset()
    return b"C" + _word(clock) if offset is None else b"U" + _word(clock - offset // _MICROSECOND)


def _decimal(value: Decimal) -> str:
    if value.is_nan():
        return "nan"
    if value.is_infinite():
        return "inf" if value > 0 else "-inf"
    if not value:
        return "0"
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    short = text.rstrip("0").lstrip("0")
    exponent += len(text) - len(text.rstrip("0"))
    return f"{'-' if sign else ''}{short}e{exponent}"

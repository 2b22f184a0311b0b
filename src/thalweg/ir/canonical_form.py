"""The canonical form of one value, for keys: values that are equal in Python have the same bytes.

`keys.py` hashes these bytes, so they are part of hash version 1 and never change. Two rules differ from Python's
equality, which is not suitable for keys: all NaNs are one value, and a datetime with a zone is its instant. (Python
compares two datetimes of one zone by local time, so 02:30 before and after the end of summer time would be one key.)
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, Inexact, InvalidOperation
from typing import Any

from thalweg.ir.values import carried

_NAN = struct.pack("<d", float("nan"))
_DAY, _SECOND = 24 * 60 * 60 * 1_000_000, 1_000_000  # in microseconds
# It never rounds a value, and the text of a value does not depend on the thread's context.
_EXACT = Context(MAX_PREC, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX, 1, 0, [], [InvalidOperation, Inexact])


def canonical(value: Any) -> bytes:
    """No form is a prefix of another one, so forms can be concatenated."""
    form = _FORMS.get(type(value))
    if form is None:
        raise TypeError(f"{type(value).__name__} has no canonical form")
    return form(value)


def canonical_key(row: Any, names: Sequence[str]) -> bytes:
    """The canonical form of a tuple's key."""
    return b"".join([canonical(carried(getattr(row, name))) for name in names])


def _word(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(8, "little") + data


def _microseconds(span: timedelta) -> int:
    return span.days * _DAY + span.seconds * _SECOND + span.microseconds


def _datetime(value: datetime) -> bytes:
    """The local time without a time zone, the instant with one. In Python the two are never equal."""
    offset = value.utcoffset()
    if offset is None:
        return b"C" + _word(_microseconds(value - datetime.min))
    return b"U" + _word(_microseconds(value.replace(tzinfo=None) - datetime.min) - _microseconds(offset))


def _decimal(value: Decimal) -> str:
    if value.is_nan():
        return "nan"
    return _EXACT.to_sci_string(_EXACT.normalize(value)) if value else "0"


def _parts(value: Sequence[Any]) -> bytes:
    return b"T" + _word(len(value)) + b"".join([canonical(part) for part in value])


_FORMS: Mapping[type, Callable[[Any], bytes]] = {
    type(None): lambda value: b"N",
    bool: lambda value: b"I" + _word(value),  # a bool equals its int
    int: lambda value: b"I" + _word(value),
    float: lambda value: b"F" + (_NAN if value != value else struct.pack("<d", value + 0.0)),
    str: lambda value: b"S" + _sized(value.encode()),
    bytes: lambda value: b"B" + _sized(value),
    datetime: _datetime,
    date: lambda value: b"D" + _word(value.toordinal()),
    Decimal: lambda value: b"M" + _sized(_decimal(value).encode()),
    tuple: _parts,
    list: _parts,
}

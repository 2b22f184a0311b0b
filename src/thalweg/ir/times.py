"""Times as integers: an int attribute as it is, a datetime in microseconds since 1970."""

from __future__ import annotations

import datetime as dt
from typing import Any

from thalweg.ir.types import INT, AttributeType

_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_NONE = dt.timedelta()


def to_time(value: Any) -> int:
    """A datetime without a time zone is taken as UTC. With one, its instant may be outside the range of datetimes."""
    if not isinstance(value, dt.datetime):
        return int(value)
    offset = value.utcoffset() or _NONE
    return int((value.replace(tzinfo=None) - _EPOCH - offset) // _MICROSECOND)


def from_time(time: int, kind: AttributeType, zone: dt.tzinfo | None = None) -> Any:
    """The int, or the datetime in that time zone; without one, a datetime in UTC that has no time zone."""
    if kind is INT:
        return time
    found = _EPOCH + time * _MICROSECOND
    return found if zone is None else found.replace(tzinfo=dt.UTC).astimezone(zone)


def instant(value: Any) -> Any:
    """A value to compare or to subtract. Python compares two datetimes of one time zone by their local times, which is
    wrong by an hour where summer time starts or ends; with a fixed offset instead of the zone, they are instants."""
    if type(value) is not dt.datetime or value.tzinfo is None or type(value.tzinfo) is dt.timezone:
        return value
    offset = value.utcoffset()
    return value if offset is None else value.replace(tzinfo=dt.timezone(offset), fold=0)


def duration(value: int | dt.timedelta) -> int:
    """A duration in the unit of the attribute: a timedelta for datetimes, an int for ints."""
    return value // _MICROSECOND if isinstance(value, dt.timedelta) else value

"""Checks of the arguments of windows. `lang.window` adds the line of the user's program to the errors."""

from __future__ import annotations

import datetime as dt
from typing import Any

from thalweg.errors import GraphError, shown
from thalweg.ir.times import duration

Duration = int | dt.timedelta


def bad(kind: str, label: str, expected: str, found: str) -> GraphError:
    return GraphError(f"{kind} window: bad {label}", expected=expected, found=found)


def whole(kind: str, label: str, value: object) -> int:
    if type(value) is not int or value < 1:
        raise bad(kind, label, "a whole number, 1 or more", shown(value))
    return value


def stretch(kind: str, label: str, value: Any) -> int:
    if isinstance(value, dt.timedelta) or type(value) is int:
        size = duration(value)
        if 0 < size < 2**61:
            return size
    raise bad(kind, label, "a timedelta, or a positive int in the unit of an int attribute", shown(value))


def distance_of(kind: str, delta: Any) -> Any:
    """A delta that some values are apart; its unit is checked with the attribute."""
    if delta != delta or delta < type(delta)():
        raise bad(kind, "delta", "a distance, 0 or more", shown(delta))
    return delta


def delta_on(kind: str, on: str) -> str:
    if not on:
        raise bad(kind, "delta", 'on="attribute", the attribute that the delta applies to', "no attribute")
    return on

"""Checks of the arguments of windows. `lang.window` adds the line of the user's program to the errors."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from thalweg.errors import GraphError, Where, shown
from thalweg.ir.times import duration

Duration = int | dt.timedelta
LONGEST = 2**61  # 73,000 years


def bad(kind: str, label: str, expected: str, found: str) -> GraphError:
    return GraphError(f"{kind} window: bad {label}", expected=expected, found=found)


def whole(kind: str, label: str, value: object) -> int:
    if type(value) is not int or not 1 <= value < 2**63:
        raise bad(kind, label, "a whole number, 1 or more", shown(value))
    return value


def stretch(kind: str, label: str, value: Any) -> int:
    return length_of_time(f"{kind} window: bad {label}", value, least=1)


def length_of_time(message: str, value: Any, *, least: int, where: Where | None = None) -> int:
    """In the unit of the event time. A time minus a length, rounded down to a step, must fit into 64 bits."""
    if isinstance(value, dt.timedelta) or type(value) is int:
        size = duration(value)
        if least <= size < LONGEST:
            return size
    raise GraphError(
        message,
        where=where,
        expected=f"a timedelta, or an int in the unit of an int attribute; {least} or more, below 2**61",
        found=shown(value),
    )


def distance_of(message: str, delta: Any, where: Where | None = None) -> Any:
    """A distance between values of an attribute. Whether its unit is that of the attribute is not checked here."""
    nan = delta.is_nan() if isinstance(delta, Decimal) else delta != delta  # a signaling NaN cannot be compared
    if nan or delta < type(delta)():
        raise GraphError(message, where=where, expected="a distance, 0 or more", found=shown(delta))
    return delta


def delta_on(kind: str, on: str) -> str:
    if not on:
        raise bad(kind, "delta", 'on="attribute", the attribute that the delta applies to', "no attribute")
    return on

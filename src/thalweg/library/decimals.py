"""Arithmetic of Decimals: with 38 digits, half to even, whatever the context of the thread is."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation, Overflow
from typing import Any

# All parts are given: nothing may depend on a worker's own context or on a changed `DefaultContext`.
DECIMALS = Context(38, ROUND_HALF_EVEN, -999999, 999999, 1, 0, [], [InvalidOperation, Overflow])


def above(value: Any, other: Any) -> Any:
    """How far a value is above another one."""
    return DECIMALS.subtract(value, other) if Decimal in (type(value), type(other)) else value - other

"""Decimal arithmetic: 38 digits, rounding half to even, independent of the thread's context."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation, Overflow
from typing import Any

from thalweg.ir.times import instant

# All arguments are explicit: results must not depend on a worker's context or on a changed `DefaultContext`.
DECIMALS = Context(38, ROUND_HALF_EVEN, -999999, 999999, 1, 0, [], [InvalidOperation, Overflow])


def above(value: Any, other: Any) -> Any:
    """The signed difference of two values; that of datetimes with a time zone is the time between them."""
    return DECIMALS.subtract(value, other) if Decimal in (type(value), type(other)) else instant(value) - instant(other)

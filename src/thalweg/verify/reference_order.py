"""The order of tuples in the reference: sort, top_k, skyline, band, as functions of lists and pairs of tuples.

NaN comes after all numbers. A Decimal NaN has no place in the order and raises, also if it is alone; so does a datetime
with a time zone that is compared with one without. Datetimes with a time zone are compared as instants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation, Overflow
from typing import Any

from thalweg.ir.times import instant

# Decimals have 38 digits and are rounded half to even, whatever the context of the thread.
_DECIMALS = Context(38, ROUND_HALF_EVEN, -999999, 999999, 1, 0, [], [InvalidOperation, Overflow])


def difference(value: Any, other: Any) -> Any:
    if isinstance(value, Decimal) or isinstance(other, Decimal):
        return _DECIMALS.subtract(value, other)
    return instant(value) - instant(other)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def _less(value: Any, other: Any) -> bool:
    if _is_nan(value) or _is_nan(other):
        return _is_nan(other) and not _is_nan(value)
    return bool(instant(value) < instant(other))


def check_order(row: Any, attributes: Sequence[str]) -> None:
    """Raise if a value has no place in the order."""
    for name in attributes:
        _less(getattr(row, name), getattr(row, name))


def check_pair(row: Any, other: Any, attributes: Sequence[str]) -> None:
    """Raise if the values of two tuples cannot be compared."""
    for name in attributes:
        _less(getattr(row, name), getattr(other, name))


def comes_before(row: Any, other: Any, attributes: Sequence[str], descending: Sequence[bool]) -> bool:
    """By the first of the attributes in which the tuples differ: the lesser one, or the greater one if descending."""
    for name, down in zip(attributes, descending, strict=True):
        mine, theirs = getattr(row, name), getattr(other, name)
        if _less(mine, theirs):
            return not down
        if _less(theirs, mine):
            return down
    return False


def in_order(rows: Sequence[Any], attributes: Sequence[str], descending: Sequence[bool]) -> list[Any]:
    """Each tuple is placed after those that it must not precede, so equal tuples keep their order."""
    placed: list[Any] = []
    for row in rows:
        check_order(row, attributes)
    for row in rows:
        at = len(placed)
        while at and comes_before(row, placed[at - 1], attributes, descending):
            at -= 1
        placed.insert(at, row)
    return placed


def undominated(rows: Sequence[Any], most: Sequence[str], least: Sequence[str]) -> list[Any]:
    """The tuples for which no other tuple is at least as good in all attributes, and better in one."""

    def dominates(a: Any, b: Any) -> bool:
        better = [getattr(a, n) > getattr(b, n) for n in most] + [getattr(a, n) < getattr(b, n) for n in least]
        as_good = [getattr(a, n) >= getattr(b, n) for n in most] + [getattr(a, n) <= getattr(b, n) for n in least]
        return all(as_good) and any(better)

    return [row for row in rows if not any(dominates(other, row) for other in rows)]


def in_band(left: str, right: str, distance: Any) -> Callable[[Any, Any], bool]:
    """Whether two attributes of a pair differ by at most a distance, in either direction."""

    def near(a: Any, b: Any) -> bool:
        mine, theirs = getattr(a, left), getattr(b, right)
        return bool(difference(mine, theirs) <= distance and difference(theirs, mine) <= distance)

    return near

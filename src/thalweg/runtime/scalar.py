"""Folds of one window, value by value. This is the definition; the kernels must agree with it bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation, Overflow
from typing import Any

from thalweg.ir.types import INT64_MAX, INT64_MIN

# Every part is said here: a sum may depend neither on a worker's own context nor on a changed `DefaultContext`.
_DECIMALS = Context(38, ROUND_HALF_EVEN, -999999, 999999, 1, 0, [], [InvalidOperation, Overflow])


def _add(older: Any, newer: Any) -> Any:
    if type(older) is Decimal:
        return _DECIMALS.add(older, newer)
    total = older + newer
    if type(total) is int and not INT64_MIN <= total <= INT64_MAX:
        raise OverflowError(f"a sum of {total} does not fit into a 64-bit int")
    return total


STEPS: Mapping[str, Callable[[Any, Any], Any]] = {
    "sum": _add,
    "min": lambda older, newer: newer if newer < older else older,
    "max": lambda older, newer: newer if newer > older else older,
    "first": lambda older, newer: older,
    "last": lambda older, newer: newer,
    "any": lambda older, newer: newer,
}


def fold_window(kind: str, values: Sequence[Any], first_index: int, size: int) -> Any:
    """The fold of a sliding window whose first value is the key's `first_index`-th.

    Blocks are aligned to multiples of the window's size in the key's own count: the window is a suffix of one block,
    folded from its end, and a prefix of the next, folded from its start. So the bits do not depend on frames or epochs.
    """
    step = STEPS[kind]
    border = (first_index // size + 1) * size - first_index
    if first_index % size == 0:
        return _fold(step, values)
    suffix = values[min(border, len(values)) - 1]
    for value in reversed(values[: min(border, len(values)) - 1]):
        suffix = step(value, suffix)
    if border >= len(values):
        raise AssertionError("a window that starts inside a block ends in the next one")
    return step(suffix, _fold(step, values[border:]))


def _fold(step: Callable[[Any, Any], Any], values: Sequence[Any]) -> Any:
    result = values[0]
    for value in values[1:]:
        result = step(result, value)
    return result

"""Folds of one window, value by value. This is the definition; the kernels must agree with it bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg.library.folds import MONOIDS

STEPS: Mapping[str, Callable[[Any, Any], Any]] = {
    kind: MONOIDS[kind].combine for kind in ("sum", "min", "max", "first", "last", "any")
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

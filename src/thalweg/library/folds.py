"""Folds, value by value: what the aggregates of all windows compute.

A fold has elements that can be combined from left to right (`Fold.combine`), or it is a function of all values of the
window (`WHOLE`). `TwoStacks` slides over elements at a cost per tuple that does not grow with the window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation, Overflow
from typing import Any

from thalweg.ir.types import INT64_MAX, INT64_MIN

Element = Any

# Every part is said here: a sum may depend neither on a worker's own context nor on a changed `DefaultContext`.
_DECIMALS = Context(38, ROUND_HALF_EVEN, -999999, 999999, 1, 0, [], [InvalidOperation, Overflow])


def add(older: Any, newer: Any) -> Any:
    """Decimals have 38 digits; an int must fit into 64 bits."""
    if type(older) is Decimal:
        return _DECIMALS.add(older, newer)
    total = older + newer
    if type(total) is int and not INT64_MIN <= total <= INT64_MAX:
        raise OverflowError(f"a sum of {total} does not fit into a 64-bit int")
    return total


def above(value: Any, other: Any) -> Any:
    """How far a value lies above another one; of Decimals with 38 digits, as sums have."""
    return _DECIMALS.subtract(value, other) if Decimal in (type(value), type(other)) else value - other


@dataclass(frozen=True, slots=True)
class Monoid:
    """`start` makes an element of one value, `combine` one of an older and a newer, `finish` the fold's value."""

    start: Callable[[Any], Element]
    combine: Callable[[Element, Element], Element]
    finish: Callable[[Element], Any]


def _same(value: Any) -> Any:
    return value


def _combine_moments(older: Element, newer: Element) -> Element:
    """Count, mean and sum of squared distances of two runs of values (Chan, Golub and LeVeque)."""
    (n, mean, squares), (m, other, more) = older, newer
    total, apart = n + m, other - mean
    return total, mean + apart * m / total, squares + more + apart * apart * n * m / total


def _deviation(element: Element) -> float:
    n, _, squares = element
    return math.sqrt(squares / (n - 1)) if n > 1 else 0.0


def _combine_weighted(older: Element, newer: Element) -> Element:
    """Count, sum, and sum of values weighted by their place (1 for the oldest)."""
    (n, total, weighted), (m, other, more) = older, newer
    return n + m, total + other, weighted + (more + n * other)


def _weighted_mean(element: Element) -> float:
    n, _, weighted = element
    return float(weighted / (n * (n + 1) / 2))


MONOIDS: Mapping[str, Monoid] = {
    "count": Monoid(lambda value: 1, lambda a, b: a + b, _same),
    "sum": Monoid(_same, add, _same),
    "min": Monoid(_same, lambda a, b: b if b < a else a, _same),
    "max": Monoid(_same, lambda a, b: b if b > a else a, _same),
    "first": Monoid(_same, lambda a, b: a, _same),
    "last": Monoid(_same, lambda a, b: b, _same),
    "any": Monoid(_same, lambda a, b: b, _same),
    "std": Monoid(lambda value: (1, float(value), 0.0), _combine_moments, _deviation),
    "wma": Monoid(lambda value: (1, float(value), float(value)), _combine_weighted, _weighted_mean),
    # The value is a pair: what is compared, and what is wanted of the tuple that has the least or greatest.
    "argmin": Monoid(_same, lambda a, b: b if b[0] < a[0] else a, lambda pair: pair[1]),
    "argmax": Monoid(_same, lambda a, b: b if b[0] > a[0] else a, lambda pair: pair[1]),
}


def quantile(values: Sequence[Any], share: float) -> float:
    """Interpolated between the two nearest values, as numpy's default does."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return float(low + (high - low) * (place - below))


def distinct(values: Sequence[Any]) -> int:
    """How many different values; Python's equality, all NaNs being one value."""
    return len({"nan" if isinstance(v, float) and v != v else v for v in values})


class TwoStacks:
    """A queue whose content is folded at any time: suffix folds of an older block, prefix folds of a newer one.

    When the older block is used up, the newer one becomes it. So the bits of a float sum depend on the key's own
    tuples alone, not on frames or epochs; for a window of n tuples, blocks are aligned to multiples of n.
    """

    def __init__(self) -> None:
        self.front: list[tuple[Element, ...]] = []  # suffix folds; the last one is that of the whole block
        self.back: list[tuple[Element, ...]] = []
        self.prefix: tuple[Element, ...] | None = None

    def __len__(self) -> int:
        return len(self.front) + len(self.back)

    def push(self, elements: tuple[Element, ...], monoids: Sequence[Monoid]) -> None:
        self.back.append(elements)
        self.prefix = elements if self.prefix is None else _combined(self.prefix, elements, monoids)

    def pop(self, monoids: Sequence[Monoid]) -> None:
        """Forget the oldest."""
        if not self.front:
            suffix: tuple[Element, ...] | None = None
            for elements in reversed(self.back):
                suffix = elements if suffix is None else _combined(elements, suffix, monoids)
                self.front.append(suffix)
            self.back, self.prefix = [], None
        self.front.pop()

    def fold(self, monoids: Sequence[Monoid]) -> tuple[Element, ...]:
        if not self.front:
            assert self.prefix is not None
            return self.prefix
        return self.front[-1] if self.prefix is None else _combined(self.front[-1], self.prefix, monoids)


def _combined(older: tuple[Element, ...], newer: tuple[Element, ...], monoids: Sequence[Monoid]) -> tuple[Element, ...]:
    return tuple(m.combine(a, b) for m, a, b in zip(monoids, older, newer, strict=True))


def fold_all(parts: Sequence[tuple[Element, ...]], monoids: Sequence[Monoid]) -> tuple[Element, ...]:
    """The parts folded from left to right."""
    result = parts[0]
    for part in parts[1:]:
        result = _combined(result, part, monoids)
    return result

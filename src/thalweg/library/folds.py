"""Folds, value by value: what the aggregates of all windows compute.

A fold has elements that can be combined from left to right (`Fold.combine`), or it is a function of all values of the
window (`WHOLE`). `TwoStacks` slides over elements at a cost per tuple that does not grow with the window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation, Overflow
from typing import Any

from thalweg.ir.types import INT64_MAX, INT64_MIN

Element = Any
Elements = Sequence[tuple[Element, ...]]  # of several folds, tuple by tuple

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


MONOIDS: dict[str, Monoid] = {
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

    @classmethod
    def of(cls, older: Elements, newer: Elements, monoids: Sequence[Monoid]) -> TwoStacks:
        """With what is left of an older block, and what there is of a newer one."""
        made = cls()
        made.front = _rows([_suffixes(older, i, m) for i, m in enumerate(monoids)], len(older))
        made.back, made.prefix = list(newer), fold_all(newer, monoids) if newer else None
        return made

    def __len__(self) -> int:
        return len(self.front) + len(self.back)

    def slide(self, gone: int, elements: tuple[Element, ...], monoids: Sequence[Monoid]) -> tuple[Element, ...]:
        """Forget so many of the oldest and take a new one; the fold of all.

        It goes fold by fold, so that the first one that fails says why. Then nothing has changed.
        """
        left = len(self.front) - gone
        block = self.back[-left:] if left < 0 else None  # what becomes the older block
        suffixes, prefix, folded = list[list[Element]](), list[Element](), list[Element]()
        for i, (monoid, newest) in enumerate(zip(monoids, elements, strict=True)):
            if block is not None:
                suffixes.append(_suffixes(block, i, monoid))
                older, newer = suffixes[i][-1:], newest
            else:
                older = [self.front[left - 1][i]] if left else []
                newer = newest if self.prefix is None else monoid.combine(self.prefix[i], newest)
            prefix.append(newer)
            folded.append(monoid.combine(older[0], newer) if older else newer)
        if block is not None:
            self.front, self.back = _rows(suffixes, len(block)), []
        else:
            del self.front[left:]
        self.back.append(elements)
        self.prefix = tuple(prefix)
        return tuple(folded)


def _suffixes(block: Elements, index: int, monoid: Monoid) -> list[Element]:
    """One fold of a block's ends, taken from its end; that of the whole block is the last."""
    found: list[Element] = []
    for elements in reversed(block):
        found.append(monoid.combine(elements[index], found[-1]) if found else elements[index])
    return found


def _rows(columns: Sequence[Sequence[Element]], count: int) -> list[tuple[Element, ...]]:
    return [tuple([column[row] for column in columns]) for row in range(count)]


def combined(older: tuple[Element, ...], newer: tuple[Element, ...], monoids: Sequence[Monoid]) -> tuple[Element, ...]:
    """Element by element."""
    return tuple(m.combine(a, b) for m, a, b in zip(monoids, older, newer, strict=True))


def fold_all(parts: Elements, monoids: Sequence[Monoid]) -> tuple[Element, ...]:
    """The parts folded from left to right."""
    result = parts[0]
    for part in parts[1:]:
        result = combined(result, part, monoids)
    return result

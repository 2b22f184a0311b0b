"""Elements of several folds: combined, folded, and slid over at a cost that does not grow with the window."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from thalweg.library.fold_spec import Element, Monoid

Elements = Sequence[tuple[Element, ...]]  # of several folds, tuple by tuple


class TwoStacks:
    """A queue whose fold is always available: suffix folds of an older block, prefix folds of a newer one.

    When the older block is used up, the newer one replaces it. So the bits of a float sum depend only on the key's
    tuples, not on frames or epochs; for a window of n tuples, blocks are aligned to multiples of n.
    """

    def __init__(self) -> None:
        self.front: list[tuple[Element, ...]] = []  # suffix folds; the last one is that of the complete block
        self.back: list[tuple[Element, ...]] = []
        self.prefix: tuple[Element, ...] | None = None

    @classmethod
    def of(cls, older: Elements, newer: Elements, monoids: Sequence[Monoid]) -> TwoStacks:
        """A queue of the remaining tuples of an older block and the tuples of a newer one."""
        made = cls()
        made.front = _rows([_suffixes(older, i, m) for i, m in enumerate(monoids)], len(older))
        made.back, made.prefix = list(newer), fold_all(newer, monoids) if newer else None
        return made

    def __len__(self) -> int:
        return len(self.front) + len(self.back)

    def slide(self, gone: int, elements: tuple[Element, ...], monoids: Sequence[Monoid]) -> tuple[Element, ...]:
        """Drop the `gone` oldest tuples, add a new one, and return the fold of all.

        Computed fold by fold, so that the error is that of the first fold that fails; the queue is then unchanged.
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
    """The suffix folds of a block for one fold, shortest suffix first; the last one is that of the complete block."""
    found: list[Element] = []
    for elements in reversed(block):
        found.append(monoid.combine(elements[index], found[-1]) if found else elements[index])
    return found


def _rows(columns: Sequence[Sequence[Element]], count: int) -> list[tuple[Element, ...]]:
    return [tuple([column[row] for column in columns]) for row in range(count)]


def combine_all(
    older: tuple[Element, ...], newer: tuple[Element, ...], monoids: Sequence[Monoid]
) -> tuple[Element, ...]:
    """Element by element."""
    return tuple(m.combine(a, b) for m, a, b in zip(monoids, older, newer, strict=True))


def fold_all(parts: Elements, monoids: Sequence[Monoid]) -> tuple[Element, ...]:
    """The parts folded from left to right, fold by fold: the error is that of the first fold that fails."""
    return tuple(reduce(monoid.combine, [part[i] for part in parts]) for i, monoid in enumerate(monoids))

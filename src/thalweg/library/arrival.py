"""Folds in windows that share panes, whose tuples arrive in any order of their panes.

A value comes with its tuple's number in order of arrival. Elements keep the numbers of the values that they hold, so
panes can be combined in any order, and the result is that of all tuples in order of arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

from thalweg.library import best_value
from thalweg.library.fold_spec import Element, Monoid

Numbered = tuple[int, Any]  # a tuple's number in order of arrival, and its value
_number, _value = itemgetter(0), itemgetter(1)


def _same(numbered: Numbered) -> Numbered:
    return numbered


def _older(one: Numbered, other: Numbered) -> Numbered:
    return min(one, other, key=_number)


def _newer(one: Numbered, other: Numbered) -> Numbered:
    return max(one, other, key=_number)


OLDEST = Monoid(_same, _older, _value)
NEWEST = Monoid(_same, _newer, _value)


def pane_by_pane(monoid: Monoid) -> Monoid:
    """A fold that is combined in the order of the panes."""
    return replace(monoid, start=lambda numbered: monoid.start(numbered[1]))


def best(
    better: Callable[[Any, Any], bool],
    compared: Callable[[Any], Any],
    finish: Callable[[Any], Any] = lambda value: value,
) -> Monoid:
    """The value that no other is `better` than; of several, the oldest.

    Python compares from the oldest value on, so a NaN is the result if it is the oldest value, and never otherwise. An
    element is the oldest value and the best one.
    """

    def is_nan(numbered: Numbered) -> bool:
        return best_value.is_nan(compared(numbered[1]))

    def start(numbered: Numbered) -> Element:
        better(compared(numbered[1]), compared(numbered[1]))  # a NaN of Decimal fails its tuple
        return numbered, numbered

    def combine(one: Element, other: Element) -> Element:
        older, newer = sorted((one[1], other[1]), key=_number)
        wins = is_nan(older) or better(compared(newer[1]), compared(older[1]))
        return _older(one[0], other[0]), newer if wins else older

    def value(element: Element) -> Any:
        oldest, found = element
        return finish((oldest if is_nan(oldest) else found)[1])

    return Monoid(start, combine, value)


def in_order(lists: Sequence[list[Any]], numbers: Sequence[int]) -> list[list[Any]]:
    """Lists of values in order of arrival, given the number of each value."""
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    return [[values[i] for i in order] for values in lists]

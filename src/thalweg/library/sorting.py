"""Sort, top-k and skyline: functions of all tuples of a window, and a buffer that sorts a stream."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial, total_ordering
from typing import Any

from thalweg.ir.library_logic import LibraryLogic
from thalweg.ir.operator_model import AT_MOST_ONE, Model
from thalweg.ir.operators import Process
from thalweg.ir.times import instant
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import UserCode


def ranked(value: Any) -> tuple[int, Any]:
    """A value of a sort key. Python compares the items of tuples by identity first, so two NaNs would be equal if they
    were the same object, which depends on the plan. A Decimal NaN raises, whatever it is compared with."""
    if type(value) is float and value != value:
        return 1, 0.0
    compared = instant(value)
    return 0, min(compared, compared)


@total_ordering
@dataclass(frozen=True, slots=True)
class Reversed:
    """A value of a sort key whose order is the opposite of that of the whole key."""

    value: tuple[int, Any]

    def __lt__(self, other: Reversed) -> bool:
        return other.value < self.value


@dataclass(frozen=True, slots=True)
class SortBy:
    """Sorts tuples by attributes; tuples that are equal in them keep their order. NaN comes after all numbers."""

    attributes: tuple[str, ...]
    descending: tuple[bool, ...]  # of each attribute

    def key(self, row: Any, *, reverse: bool = False) -> tuple[Any, ...]:
        """The place of a tuple in this order or, with `reverse`, in the opposite one."""
        values = (ranked(getattr(row, n)) for n in self.attributes)
        return tuple(Reversed(v) if down != reverse else v for v, down in zip(values, self.descending, strict=True))

    def __call__(self, rows: list[Any]) -> list[Any]:
        reverse = self.descending[0]  # if all attributes have one direction, no value is wrapped
        return sorted(rows, key=partial(self.key, reverse=reverse), reverse=reverse)


@dataclass(frozen=True, slots=True)
class TopK:
    """The first k tuples of an order; among equals the older first."""

    k: int
    order: SortBy

    def __call__(self, rows: list[Any]) -> list[Any]:
        return self.order(rows)[: self.k]


@dataclass(frozen=True, slots=True)
class Skyline:
    """The tuples that no other tuple dominates: none is at least as good in all attributes and better in one."""

    signs: tuple[tuple[str, int], ...]  # attribute, +1: more is better, -1: less is better

    def __call__(self, rows: list[Any]) -> list[Any]:
        points = [tuple(getattr(row, n) * sign for n, sign in self.signs) for row in rows]
        return [row for row, point in zip(rows, points, strict=True) if not any(_beats(p, point) for p in points)]


def _beats(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return all(x >= y for x, y in zip(a, b, strict=True)) and any(x > y for x, y in zip(a, b, strict=True))


def check_comparable(key: tuple[Any, ...], *others: tuple[Any, ...]) -> None:
    """Raise what a comparison would raise, before the key is stored: of two datetimes only one may have a time zone,
    and a Decimal NaN cannot be ordered, not even with itself."""
    for other in others:
        for mine, theirs in zip(key, other, strict=True):
            min(mine, theirs)


class SortedBuffer(LibraryLogic):
    """Buffers `config[0]` tuples and emits the first in order when one more arrives: restores order in that range."""

    config: tuple[int, SortBy]
    makes_marks = has_late = False
    users_code = None
    time_lengths = inner_types = ()
    is_empty = False  # there is one for all tuples

    def __init__(self) -> None:
        self.heap: list[tuple[Any, ...]] = []
        self.number = 0

    def settings(self) -> str:
        return f"sorted buffer {self.config}"

    def known(self, operator: Process, inputs: tuple[TupleType, ...]) -> Model:
        why = "the smallest buffered tuple is emitted"
        return Model(why, (AT_MOST_ONE,), (({},),), (None,) * len(inputs))

    def code(self, operator: Process, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return ()

    def process(self, t: Any, port: int) -> None:
        size, order = self.config
        key = order.key(t)
        check_comparable(key, *(held[0] for held in self.heap[:1]))
        heapq.heappush(self.heap, (key, self.number, t))
        self.number += 1
        if len(self.heap) > size:
            self.submit(heapq.heappop(self.heap)[-1])

    def at_end(self) -> None:
        while self.heap:
            self.submit(heapq.heappop(self.heap)[-1])

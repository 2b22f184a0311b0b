"""Which aggregates of one operator are one fold."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import thalweg as tw
from thalweg import agg, testing, window
from thalweg.errors import Where
from thalweg.lang.aggregates import FoldTable


class Value(tw.Tuple):
    n: int


def above(least: int) -> Callable[[list[int]], int]:
    return lambda values: sum(v > least for v in values)


def by_default(least: int) -> Callable[[list[int]], int]:
    def counted(values: list[int], least: int = least) -> int:
        return sum(v > least for v in values)

    return counted


def counted_above(least: int, values: list[int]) -> int:
    return sum(v > least for v in values)


class Above:
    def __init__(self, least: int) -> None:
        self.least = least

    def __call__(self, values: list[int]) -> int:
        return sum(v > self.least for v in values)


MAKERS: dict[str, Callable[[int], Any]] = {
    "closure": above,
    "default": by_default,
    "partial": lambda least: partial(counted_above, least),
    "object": Above,
    "bound method": lambda least: Above(least).__call__,
}


@pytest.mark.parametrize("maker", MAKERS)
def test_functions_of_one_code_are_not_one_fold(maker: str) -> None:
    app = tw.App("above")
    values = app.source(tw.files("values"), Value, name="values")
    make = MAKERS[maker]
    values.aggregate(
        window.tumbling(count=3), a=agg.apply(make(0), "n", int), b=agg.apply(make(5), "n", int), name="both"
    ).sink(tw.collect(), name="out")
    (row,) = testing.run(app, {"values": [(1,), (6,), (7,)]})["out"]
    assert row == {"a": 3, "b": 2}


def folds(**fields: agg.AggregateExpr) -> int:
    """How many folds these fields take."""
    table = FoldTable(Value.tuple_type, Where(__file__, 1))
    for field in fields.values():
        table.resolve(field)
    return len(table.folds)


def test_what_always_has_one_value_is_one_fold() -> None:
    function, least = above(0), 3
    total = agg.apply(function, "n", int)
    assert folds(a=total, b=total + 1) == 1
    assert folds(a=agg.sum(lambda t: t.n * least), b=agg.sum(lambda t: t.n * 3)) == 1


def test_what_may_differ_is_not() -> None:
    function = above(0)
    assert folds(a=agg.apply(function, "n", int), b=agg.apply(function, "n", float)) == 2
    assert folds(a=agg.apply(function, "n", int), b=agg.apply(function, lambda t: -t.n, int)) == 2

    def times(factor: float) -> Callable[[Any], Any]:
        return lambda t: t.n * factor

    assert folds(a=agg.sum(times(2)), b=agg.sum(times(3)), c=agg.sum(times(2.0))) == 3
    assert folds(a=agg.argmin(times(2), "n"), b=agg.argmin(times(3), "n"), c=agg.argmin("n", times(2))) == 3
    assert folds(a=agg.quantile("n", 0.5), b=agg.quantile("n", 0.25)) == 2

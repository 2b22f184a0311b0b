"""Least and greatest values are those that Python's min and max find among a window's values in order of arrival."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import thalweg as tw
from thalweg import agg, testing, window

VALUES = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, 1.5, 2.0)


class Reading(tw.Tuple):
    i: int
    x: float


def some_readings(seed: int) -> list[Reading]:
    chosen = random.Random(seed)
    return [Reading(i, chosen.choice(VALUES)) for i in range(40)]


def expected(rows: list[Reading]) -> str:
    xs = [row.x for row in rows]
    lowest, highest = min(rows, key=lambda row: row.x), max(rows, key=lambda row: row.x)
    return repr((min(xs), max(xs), lowest.i, highest.i))


def last(size: int, slide: int) -> Callable[[list[Reading]], list[list[Reading]]]:
    return lambda rows: [rows[max(0, end - size) : end] for end in range(slide, len(rows) + 1, slide)]


def sections(count: int) -> Callable[[list[Reading]], list[list[Reading]]]:
    """Of 4 tuples each; the last ones."""
    return lambda rows: [rows[max(0, end - 4 * count) : end] for end in range(4, len(rows) + 1, 4)]


@pytest.mark.parametrize(
    ("over", "windows"),
    [
        (window.running(), lambda rows: [rows[: end + 1] for end in range(len(rows))]),
        (window.tumbling(count=5), lambda rows: [rows[at : at + 5] for at in range(0, len(rows), 5)]),
        (window.sliding(count=5), last(5, 1)),
        (window.sliding(count=7, slide=3), last(7, 3)),
        (window.sliding(delta=4, on="i"), last(5, 1)),
        (window.sliding(punctuations=3), sections(3)),
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", range(3))
def test_they_are_those_of_python(
    over: Any, windows: Callable[[list[Reading]], list[list[Reading]]], seed: int
) -> None:
    rows = some_readings(seed)
    app = tw.App("extremes")
    readings = app.source(tw.files("readings"), Reading, name="readings").punctor(lambda t: t.i % 4 == 3)
    simple = {"least": agg.min("x"), "most": agg.max("x")}
    readings.aggregate(over, {**simple, "at_least": agg.argmin("x", "i"), "at_most": agg.argmax("x", "i")}).sink(
        tw.collect(), name="all"
    )
    readings.aggregate(over, simple).sink(tw.collect(), name="with_kernels")
    found = testing.run(app, {"readings": rows}, epochs=3)
    assert [repr(tuple(row)) for row in found["all"]] == [expected(part) for part in windows(rows)]
    assert [repr(tuple(row)) for row in found["with_kernels"]] == [repr(tuple(row)[:2]) for row in found["all"]]


class Amount(tw.Tuple):
    i: int
    x: Decimal


@pytest.mark.parametrize("fold", [agg.min("x"), agg.max("x"), agg.argmin("x", "i"), agg.argmax("x", "i")], ids=str)
@pytest.mark.parametrize(
    "over",
    [
        window.running(),
        window.tumbling(count=3),
        window.sliding(count=3),
        window.sliding(delta=2, on="i"),
        window.tumbling(time=3),
        window.sliding(time=4, slide=2),
    ],
    ids=str,
)
def test_a_nan_of_decimal_fails_its_own_tuple(over: Any, fold: Any) -> None:
    values = ["NaN", "1", "3", "NaN", "2", "NaN", "4", "0"]
    app = tw.App("amounts")
    amounts = app.source(tw.files("amounts"), Amount, name="amounts").event_time("i")
    amounts.aggregate(over, {"found": fold}, on_error="skip").sink(tw.collect(), name="all")

    def run(rows: list[Amount]) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in testing.run(app, {"amounts": rows}, epochs=2)["all"]]

    rows = [Amount(i, Decimal(value)) for i, value in enumerate(values)]
    assert run(rows) == run([row for row in rows if not row.x.is_nan()])

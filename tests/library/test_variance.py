"""The variance is exact: it equals that of Python's `statistics`, whatever the window and the order."""

from __future__ import annotations

import math
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from thalweg import agg, testing, window


class Reading(tw.Tuple):
    x: float


def variances(values: list[Any], over: Any) -> list[float]:
    app = tw.App("variance")
    readings = app.source(tw.files("readings"), Reading, name="readings")
    readings.aggregate(over, v=agg.variance("x")).sink(tw.collect(), name="out")
    return [row.v for row in testing.run(app, {"readings": [(v,) for v in values]})["out"]]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=2, max_size=6))
def test_it_is_that_of_the_statistics_module(values: list[float]) -> None:
    try:
        expected = statistics.variance(values)
    except OverflowError:
        expected = math.inf
    assert variances(values, window.tumbling(count=len(values))) == [expected]


def test_it_does_not_cancel() -> None:
    far = [1e9 + v for v in (4.0, 7.0, 13.0, 16.0)]
    assert variances(far, window.running()) == [0.0, 4.5, 21.0, 30.0]
    assert variances(far, window.sliding(count=3)) == [0.0, 4.5, 21.0, 21.0]


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_values_that_are_not_finite(value: float) -> None:
    first, *others = variances([value, 1.0, 2.0, 4.0], window.sliding(count=2))
    assert first == 0.0
    assert math.isnan(others[0])
    assert others[1:] == [0.5, 2.0]


def test_it_takes_numbers_only() -> None:
    class Word(tw.Tuple):
        s: str
        x: float | None

    words = tw.App("words").source(tw.files("words"), Word)
    for name in ("s", "x"):
        with pytest.raises(tw.ThalwegError, match=r"agg\.variance does not accept"):
            words.aggregate(window.running(), v=agg.variance(name))

"""Variance and standard deviation are exact: they equal those of Python's `statistics`, in all windows and orders."""

from __future__ import annotations

import math
import statistics
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import thalweg as tw
from thalweg import agg, testing, window
from thalweg.ir.operators import Process
from thalweg.library.window_aggregate import Pane


class Reading(tw.Tuple):
    x: float


class Whole(tw.Tuple):
    x: int


def spreads(values: list[Any], over: Any, kind: Any = Reading) -> list[tuple[float, float]]:
    """The variance and the standard deviation at each result; testing.run compares them with the reference."""
    app = tw.App("variance")
    readings = app.source(tw.files("readings"), kind, name="readings")
    readings.aggregate(over, v=agg.variance("x"), s=agg.std("x")).sink(tw.collect(), name="out")
    return [(row.v, row.s) for row in testing.run(app, {"readings": [(v,) for v in values]})["out"]]


def variances(values: list[Any], over: Any) -> list[float]:
    return [variance for variance, _ in spreads(values, over)]


def deviations(values: list[Any], over: Any, kind: Any = Reading) -> list[float]:
    return [deviation for _, deviation in spreads(values, over, kind)]


def by_statistics(function: Any, values: list[Any]) -> float:
    try:
        return float(function(values))
    except OverflowError:
        return math.inf


FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(st.lists(FINITE, min_size=2, max_size=6))
@example([1e308, -1e308])  # only the variance is above the range of floats
@example([1.7976931348623157e308, -1.7976931348623157e308])
@example([5e-324, 0.0, 0.0])
def test_they_are_those_of_the_statistics_module(values: list[float]) -> None:
    expected = by_statistics(statistics.variance, values), by_statistics(statistics.stdev, values)
    assert spreads(values, window.tumbling(count=len(values))) == [expected]


def nearest(found: float, square: Fraction) -> bool:
    """Whether no other float is nearer to the square root."""
    below, above = (math.nextafter(found, end) for end in (-math.inf, math.inf))
    lower, upper = ((Fraction(found) + Fraction(other)) / 2 for other in (below, above))
    return (found == 0 or lower**2 <= square) and square <= upper**2


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9), min_size=2, max_size=6))
def test_the_standard_deviation_is_the_nearest_float(values: list[int]) -> None:
    mean = Fraction(sum(values), len(values))
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    (found,) = deviations(values, window.tumbling(count=len(values)), Whole)
    assert nearest(found, Fraction(variance))


def test_it_does_not_cancel() -> None:
    far = [1e9 + v for v in (4.0, 7.0, 13.0, 16.0)]
    assert variances(far, window.running()) == [0.0, 4.5, 21.0, 30.0]
    assert variances(far, window.sliding(count=3)) == [0.0, 4.5, 21.0, 21.0]


@pytest.mark.parametrize("far", [0.0, 1e15, -1e15, 2.0**52])
def test_the_standard_deviation_does_not_depend_on_the_distance_to_zero(far: float) -> None:
    values = [far + v for v in (0.0, 1.0, 2.0, 3.0)]
    expected = [0.0, math.sqrt(1 / 2), 1.0, math.sqrt(5 / 3)]
    assert deviations(values, window.running()) == expected
    assert deviations(values, window.sliding(count=4)) == expected
    assert deviations(values[::-1], window.tumbling(count=4)) == expected[-1:]


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_values_that_are_not_finite(value: float) -> None:
    for found in zip(*spreads([value, 1.0, 2.0, 4.0], window.sliding(count=2)), strict=True):
        assert found[0] == 0.0
        assert math.isnan(found[1])
        assert found[2:] in ((0.5, 2.0), (math.sqrt(0.5), math.sqrt(2)))


@pytest.mark.parametrize("fold", [agg.variance, agg.std])
def test_they_take_numbers_only(fold: Any) -> None:
    class Word(tw.Tuple):
        s: str
        x: float | None
        b: bool
        d: Decimal

    words = tw.App("words").source(tw.files("words"), Word)
    for name in Word.tuple_type.names:
        with pytest.raises(tw.ThalwegError, match=rf"agg\.{fold.__name__} does not accept"):
            words.aggregate(window.running(), v=fold(name))


@pytest.mark.parametrize("name", ["variance", "std"])
def test_rounded_sums_of_an_older_version_are_refused(name: str) -> None:
    app = tw.App("older")
    readings = app.source(tw.files("readings"), Reading)
    made = readings.aggregate(window.tumbling(delta=1.0, on="x"), v=getattr(agg, name)("x"), name="made")
    made.sink(tw.collect())
    operator, stored = app.graph().by_name["made"], {"pane": Pane()}
    assert isinstance(operator, Process)
    if name == "variance":
        assert operator.logic.upgrade(stored, 1) is stored
    else:
        with pytest.raises(NotImplementedError, match=r"its sums for agg\.std were rounded"):
            operator.logic.upgrade(stored, 1)

"""The geometric mean: bit for bit that of Python's `statistics`; what is not positive fails its tuple."""

from __future__ import annotations

import math
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from thalweg import agg, testing, window


class Rate(tw.Tuple):
    n: int
    x: float


def outcome(rates: list[tuple[int, float]], over: Any, argument: Any = "x") -> Any:
    app = tw.App("rates")
    source = app.source(tw.files("rates"), Rate, name="rates")
    made = source.aggregate(over, on_error="dead_letter", mean=agg.geometric_mean(argument), n=agg.count())
    made.sink(tw.collect(), name="out")
    made.dead_letters.sink(tw.collect(), name="letters")
    return testing.run(app, {"rates": rates})


def means(values: list[float], over: Any) -> list[float]:
    return [row.mean for row in outcome([(0, v) for v in values], over)["out"]]


@given(st.lists(st.floats(min_value=0, exclude_min=True, allow_infinity=False), min_size=1, max_size=6))
def test_it_is_that_of_the_statistics_module(values: list[float]) -> None:
    assert means(values, window.tumbling(count=len(values))) == [statistics.geometric_mean(values)]


def test_ends_of_the_range() -> None:
    most, least = 1.7976931348623157e308, 5e-324
    assert means([most, most], window.running()) == pytest.approx([most, most], rel=1e-12)
    assert means([least, least], window.running()) == [least, least]
    assert means([math.inf, 1.0, 4.0], window.sliding(count=2)) == [
        math.inf,
        math.inf,
        statistics.geometric_mean([1, 4]),
    ]
    assert [math.isnan(m) for m in means([math.nan, math.inf, 4.0], window.sliding(count=2))] == [True, True, False]


WINDOWS = [
    window.running(),
    window.sliding(count=9),
    window.sliding(delta=9, on="n"),
    window.tumbling(count=4),
    window.tumbling(delta=9, on="n"),
]


@pytest.mark.parametrize("bad", [0.0, -0.0, -1.5, -math.inf])
@pytest.mark.parametrize("over", WINDOWS, ids=str)
def test_a_tuple_whose_number_is_not_positive_fails_and_is_not_held(bad: float, over: Any) -> None:
    found = outcome([(0, 2.0), (1, 8.0), (2, bad), (3, 4.0), (4, 2.0)], over)
    last = found["out"][-1]
    assert (last.mean, last.n) == (statistics.geometric_mean([2.0, 8.0, 4.0, 2.0]), 4)
    (letter,) = found["letters"]
    assert letter.error == f"ValueError: agg.geometric_mean takes positive numbers, found {bad!r}"


def test_a_bad_tuple_that_would_close_a_window_leaves_it_open() -> None:
    """The tuple is beyond the delta: the window must not be closed, and its result lost, by a tuple that fails."""
    found = outcome([(0, 2.0), (1, 8.0), (50, -1.0), (2, 4.0)], window.tumbling(delta=9, on="n"))
    assert [(row.mean, row.n) for row in found["out"]] == [(statistics.geometric_mean([2.0, 8.0, 4.0]), 3)]
    assert len(found["letters"]) == 1


def test_ints_have_one_too() -> None:
    found = outcome([(2, 0.0), (8, 0.0)], window.tumbling(count=2), argument="n")
    assert [row.mean for row in found["out"]] == [statistics.geometric_mean([2, 8])]


def test_missing_values_are_refused_when_the_graph_is_built() -> None:
    class Maybe(tw.Tuple):
        x: float | None

    maybe = tw.App("maybe").source(tw.files("maybe"), Maybe)
    with pytest.raises(tw.ThalwegError, match=r"agg\.geometric_mean does not accept") as error:
        maybe.aggregate(window.running(), m=agg.geometric_mean("x"))
    assert "remove missing values first" in str(error.value)

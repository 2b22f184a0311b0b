"""Quantiles at the edges of floats: infinities, distances above the range of floats, NaN, zeros of both signs."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

import thalweg as tw
from thalweg import agg, testing, window

INF, NAN = math.inf, math.nan


class Reading(tw.Tuple):
    x: float


class Whole(tw.Tuple):
    x: int


def quantile(values: list[Any], share: float, kind: Any = Reading) -> float:
    """That of one window; testing.run compares it with the reference."""
    app = tw.App("quantile")
    readings = app.source(tw.files("readings"), kind, name="readings")
    over = window.tumbling(count=len(values))
    readings.aggregate(over, q=agg.quantile("x", share)).sink(tw.collect(), name="out")
    (row,) = testing.run(app, {"readings": [(v,) for v in values]})["out"]
    return float(row.q)


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([1.0, 2.0, INF], 0.5, 2.0),
        ([1.0, INF], 0.0, 1.0),
        ([INF, INF], 0.5, INF),
        ([-INF, 5.0], 0.5, -INF),
        ([5.0, INF], 0.5, INF),
        ([-INF, INF], 0.5, NAN),
        ([-1.5e308, 1.5e308], 0.5, 0.0),
        ([-1e308, 1e308], 0.75, 0.5e308),
        ([-INF, -INF, 3.0], 0.25, -INF),
        ([0.0, -0.0, -0.0], 0.0, 0.0),
        ([1.0, 2.0], 0.3, 1.3),
    ],
)
def test_a_quantile_is_that_of_the_values_in_every_order(values: list[float], share: float, expected: float) -> None:
    for order in itertools.permutations(values):
        assert repr(quantile(list(order), share)) == repr(expected), order


def test_a_window_with_nan_has_no_quantile() -> None:
    for order in itertools.permutations([1.0, NAN, 2.0, 3.0]):
        assert math.isnan(quantile(list(order), 0.0)), order


def test_ints_above_the_exact_range_of_floats_are_rounded_once() -> None:
    assert quantile([2**53 + 1, 2**53 + 3, 2**60 + 1], 0.5, Whole) == float(2**53 + 3)
    assert quantile([-(2**63), 2**63 - 1], 0.5, Whole) == 0.0

"""Folds over segments must have the bits of a Python loop: float addition does not associate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.runtime.left_folds import accumulate, accumulate_backward, group_order, ranges
from thalweg.verify.compare import first_difference

FLOATS = st.sampled_from((0.1, 0.2, 0.3, 1e16, -1e16, 1 / 3, -0.0, float("inf"), 5e-324))
LENGTHS = st.lists(st.sampled_from((1, 1, 2, 3, 4, 5, 8, 9, 33)), min_size=1, max_size=12)
FOLDS: list[tuple[np.ufunc, Callable[[Any, Any], Any]]] = [
    (np.add, lambda a, b: a + b),
    (np.minimum, lambda a, b: b if b < a else a),
    (np.maximum, lambda a, b: b if b > a else a),
]


def loop(step: Callable[[Any, Any], Any], values: list[Any]) -> list[Any]:
    folded = values[:1]
    for value in values[1:]:
        folded.append(step(folded[-1], value))
    return folded


def check(ufunc: np.ufunc, step: Callable[[Any, Any], Any], segments: list[list[float]]) -> None:
    values = np.array([v for segment in segments for v in segment])
    starts = np.cumsum([0, *(len(s) for s in segments[:-1])])
    forward = [v for s in segments for v in loop(step, s)]
    backward = [v for s in segments for v in loop(step, s[::-1])[::-1]]
    before = values.copy()
    for expected, found in (
        (forward, accumulate(ufunc, values, starts)),
        (backward, accumulate_backward(ufunc, values, starts)),
    ):
        assert first_difference([(v,) for v in expected], [(v,) for v in found.tolist()]) is None
    assert values.tobytes() == before.tobytes(), "the input is left alone"


@pytest.mark.parametrize(("ufunc", "step"), FOLDS)
@given(st.data())
def test_segments_fold_like_a_loop(ufunc: np.ufunc, step: Callable[[Any, Any], Any], data: st.DataObject) -> None:
    calm = FLOATS.filter(lambda v: ufunc is np.add or v != 0)  # min and max never see a zero of either sign
    check(ufunc, step, [data.draw(st.lists(calm, min_size=n, max_size=n)) for n in data.draw(LENGTHS)])


def test_long_segments_fold_like_a_loop() -> None:
    """Segments around the length at which the method changes, between short ones."""
    values = np.random.default_rng(7).normal(scale=1e3, size=5000)
    segments, start = [], 0
    for length in (511, 1, 512, 3, 513, 2000, 2):
        segments.append(values[start : start + length].tolist())
        start += length
    check(np.add, lambda a, b: a + b, segments)


def test_int_folds() -> None:
    values = np.array([5, -3, 2**62, 1, 2])
    assert accumulate(np.add, values, np.array([0, 2])).tolist() == [5, 2, 2**62, 2**62 + 1, 2**62 + 3]


@pytest.mark.parametrize("groups", [1, 3, 70_000])
def test_group_order_is_stable(groups: int) -> None:
    """From 65,536 groups on the sort takes two passes."""
    codes = np.random.default_rng(1).integers(0, groups, 2000)
    order, starts, lengths = group_order(codes, groups)
    assert order.tolist() == sorted(range(2000), key=lambda row: codes[row])
    assert lengths.tolist() == np.bincount(codes, minlength=groups).tolist()
    assert starts.tolist() == (np.cumsum(lengths) - lengths).tolist()


def test_ranges() -> None:
    assert ranges(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist() == [5, 6, 9, 10, 11]
    assert ranges(np.array([], np.int64), np.array([], np.int64)).tolist() == []

"""Distances in dates: deltas of windows, bands of joins."""

from __future__ import annotations

import datetime as dt

import thalweg as tw
from tests.engine.test_policies import answer
from thalweg import agg, window

FIRST = dt.datetime(2026, 1, 1)


class Dated(tw.Tuple):
    n: int
    when: dt.datetime


def dated(t: tw.Tuple) -> Dated:
    n = t.n  # type: ignore[attr-defined]
    return Dated(n, FIRST + dt.timedelta(days=n * n))


def test_a_delta() -> None:
    def build(s: tw.Stream) -> tw.Stream:
        near = window.tumbling(delta=dt.timedelta(days=9), on="when")
        return s.map(dated, Dated).aggregate(near, first=agg.first("n"), n=agg.count())

    assert answer(build, letters=False)["out"] == [(0, 4), (4, 2), (6, 1), (7, 1)]


def test_a_band() -> None:
    def build(s: tw.Stream) -> tw.Stream:
        days = s.map(dated, Dated)
        others = days.map(lambda t: {"m": t.n, "at": t.when})
        near = days.join(others, window.last(None), band=("when", "at", dt.timedelta(days=5)))
        return near.map(lambda t: {"n": t.n, "m": t.m})

    near = [(n, m) for n in range(8) for m in range(n + 1) if n * n - m * m <= 5]
    assert answer(build, letters=False)["out"] == near

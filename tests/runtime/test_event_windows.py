"""Aggregates over windows in event time, frame by frame: as the reference, on data that random cases rarely have."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from tests.properties.check import difference, run_local, run_reference
from thalweg import agg, testing, window
from thalweg.errors import TupleError
from thalweg.optimize.passes import make_plan
from thalweg.runtime.columns import to_list
from thalweg.runtime.keys import stable_hash
from thalweg.runtime.pane_table import START, PaneTable
from thalweg.runtime.window_operators import WindowRun
from thalweg.testing.input_tuples import fed


class Tick(tw.Tuple):
    t: int
    k: str
    g: int
    x: float
    i: int


class Stamped(tw.Tuple):
    at: datetime
    k: str


class Counted(tw.Tuple):
    at: datetime
    k: str
    i: int


HUGE = 2**62
FLOATS = (0.1, 0.2, 1e16, -1e16, 0.0, -0.0, float("nan"), float("inf"), 5e-324)
WINDOWS = {
    "tumbling": lambda by: window.tumbling(time=10, by=by),
    "sliding": lambda by: window.sliding(time=10, slide=5, by=by),
    "sliding by another step": lambda by: window.sliding(time=10, slide=4, by=by),
    "sliding by one": lambda by: window.sliding(time=7, slide=1, by=by),
}
KEYS: tuple[tuple[str, ...], ...] = ((), ("k",), ("g",), ("k", "g"))


def ticks(count: int, *, seed: int = 1, ints: Sequence[int] = (-3, 0, 5), back: int = 12) -> list[Tick]:
    """Times that mostly advance, and go back by at most `back`."""
    chance = random.Random(seed)
    return [
        Tick(
            number // 3 + chance.randint(-back, 2),
            chance.choice("abc"),
            chance.randint(0, 2),
            chance.choice(FLOATS),
            chance.choice(ints),
        )
        for number in range(count)
    ]


def fields() -> dict[str, agg.AggregateExpr]:
    return {
        "n": agg.count(),
        "sum": agg.sum("x"),
        "mean": agg.mean("i"),
        "least": agg.min("x"),
        "greatest": agg.max("x"),
        "low": agg.min("i"),
        "high": agg.max(lambda t: t.i * 2),
        "first": agg.first("x"),
        "last": agg.last("k"),
        "key": agg.any("g"),
        "start": agg.window_start(),
        "end": agg.window_end(),
    }


def app_of(over: Any, made: dict[str, agg.AggregateExpr], on_error: str = "fail", lateness: int = 4) -> tw.App:
    app = tw.App("windows")
    source = app.source(tw.files("ticks"), Tick, name="ticks").event_time("t", lateness=lateness)
    results = source.aggregate(over, made, on_error=on_error, name="windows")
    results.sink(tw.collect(), name="out")
    results.late.sink(tw.collect(), name="late")
    if on_error == "dead_letter":
        results.dead_letters.sink(tw.collect(), name="letters")
    return app


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The operators that ran frame by frame."""
    names: list[str] = []
    run = WindowRun.run

    def counted(self: WindowRun, *arguments: Any) -> Any:
        names.append(self.operator.name)
        return run(self, *arguments)

    monkeypatch.setattr(WindowRun, "run", counted)
    yield names
    assert "windows" in names


@pytest.mark.parametrize("by", KEYS, ids=str)
@pytest.mark.parametrize("name", WINDOWS)
def test_every_fold(name: str, by: tuple[str, ...], used: list[str]) -> None:
    testing.assert_plan_invariant(app_of(WINDOWS[name](by), fields()), {"ticks": ticks(300)})


@pytest.mark.parametrize("epochs", [1, 5, 60])
@pytest.mark.parametrize("frame_rows", [1, 7, 100_000])
def test_frames_and_epochs_of_all_sizes(epochs: int, frame_rows: int, used: list[str]) -> None:
    app = app_of(window.sliding(time=12, slide=3, by="k"), fields())
    with fed(app.graph(), {"ticks": ticks(300 if frame_rows == 1 else 2000, seed=frame_rows)}, epochs) as given:
        plan = make_plan(given.graph, degree=2, frame_rows=frame_rows)
        log = list(given.epochs)
        assert difference(run_reference(given.graph, log), run_local(plan, log)) is None


def check(app: tw.App, rows: list[Tick], on_error: str) -> None:
    if on_error != "fail":
        testing.assert_plan_invariant(app, {"ticks": rows})
        return
    for degree in (1, 2):
        with pytest.raises(TupleError):  # the same as that of the reference
            testing.run(app, {"ticks": rows}, degree=degree)


@pytest.mark.parametrize("on_error", ["fail", "skip", "dead_letter"])
@pytest.mark.parametrize("name", WINDOWS)
def test_sums_of_ints_that_exceed_64_bits(name: str, on_error: str, used: list[str]) -> None:
    """A tuple with which a pane's sum would is not part of the window; a window of panes of which it does has no
    result."""
    made = {"k": agg.any("k"), "sum": agg.sum("i"), "n": agg.count(), "other": agg.sum(lambda t: -t.i)}
    rows = ticks(400, ints=(HUGE, HUGE, -HUGE, 7))
    app = app_of(WINDOWS[name](("k",)), made, on_error)
    check(app, rows, on_error)
    if on_error == "dead_letter":
        shown = [letter.tuple for letter in testing.run(app, {"ticks": rows})["letters"]]
        assert any(text.startswith("Tick(") for text in shown)
        assert (name == "tumbling") or any(text.startswith("the mark") for text in shown)


@pytest.mark.parametrize("on_error", ["fail", "skip", "dead_letter"])
@pytest.mark.parametrize("name", WINDOWS)
def test_results_that_fail(name: str, on_error: str, used: list[str]) -> None:
    """A key of which a window fails at a mark has no results there."""
    made = {"k": agg.any("k"), "end": agg.window_end(), "ratio": agg.sum("i") / (agg.count() - 7)}
    check(app_of(WINDOWS[name](("k",)), made, on_error), ticks(400), on_error)


@pytest.mark.parametrize("on_error", ["skip", "dead_letter"])
@pytest.mark.parametrize("argument", [lambda t: 10 // t.i, lambda t: t.i * 2**61], ids=["quotient", "overflow"])
def test_arguments_that_fail(argument: Any, on_error: str, used: list[str]) -> None:
    """The tuple is not part of the window, even if it is late."""
    app = app_of(window.tumbling(time=10, by="k"), {"k": agg.any("k"), "sum": agg.sum(argument)}, on_error)
    testing.assert_plan_invariant(app, {"ticks": ticks(400, ints=(0, 1, 2, 2**61))})


def test_no_window_of_a_failed_tuple(used: list[str]) -> None:
    app = app_of(window.tumbling(time=10), {"sum": agg.sum(lambda t: 1 // t.i)})
    with pytest.raises(TupleError, match="ZeroDivisionError") as caught:
        testing.run(app, {"ticks": [Tick(n, "a", 0, 0.0, 0 if n == 33 else 1) for n in range(50)]})
    assert "t=33" in str(caught.value.found)


@pytest.mark.parametrize("zone", [None, ZoneInfo("Europe/Berlin")])
@pytest.mark.parametrize("slide", [timedelta(hours=1), timedelta(minutes=20)])
def test_times_with_a_zone(zone: ZoneInfo | None, slide: timedelta, used: list[str]) -> None:
    """Across the end of summer time, and at the end of time."""
    starts = [datetime(2024, 10, 27, 1, tzinfo=zone), datetime(9999, 12, 31, 23, 59, 59)]
    for start in starts:
        step = timedelta(minutes=7) if start.year < 9999 else timedelta(0)
        app = tw.App("zoned")
        source = app.source(tw.files("stamps"), Stamped, name="stamps").event_time("at")
        over = window.sliding(time=timedelta(hours=1), slide=slide, by="k")
        made = {"k": agg.any("k"), "start": agg.window_start(), "end": agg.window_end(), "n": agg.count()}
        source.aggregate(over, made, name="windows", on_error="skip").sink(tw.collect(), name="out")
        rows = [Stamped(start + number * step, "ab"[number % 2]) for number in range(40)]
        testing.assert_plan_invariant(app, {"stamps": rows})


def test_extreme_times(used: list[str]) -> None:
    """Marks do not go below the least time that is not extreme, so ints below it are late."""
    times = [-(2**63), -(2**62), 0, 5, 2**62 - 100, 2**62, 2**63 - 100]
    app = app_of(window.tumbling(time=10), {"n": agg.count()}, lateness=0)
    testing.assert_plan_invariant(app, {"ticks": [Tick(t, "a", 0, 0.0, 0) for t in times]})


def test_large_times(used: list[str]) -> None:
    """Windows that just fit into 64 bits."""
    for over, times in (
        (window.tumbling(time=10), (2**63 - 60, 2**63 - 30)),
        (window.tumbling(time=2**60), (5, 2**62 + 2**61)),
        (window.sliding(time=2**60, slide=2**59), (-(2**61), 2**60, 2**62)),
    ):
        app = app_of(over, {"n": agg.count(), "end": agg.window_end()}, lateness=0)
        testing.assert_plan_invariant(app, {"ticks": [Tick(t, "a", 0, 0.0, 0) for t in times]})


@pytest.mark.parametrize("on_error", ["fail", "skip", "dead_letter"])
def test_results_that_only_python_computes(on_error: str, used: list[str]) -> None:
    """Beyond 2**53, numpy divides other numbers than Python."""
    app = app_of(window.tumbling(time=10, by="k"), {"k": agg.any("k"), "mean": agg.mean("i")}, on_error)
    testing.assert_plan_invariant(app, {"ticks": ticks(60, ints=(2**53 + 1, 1))})


def test_bounds_are_computed_after_the_other_folds(used: list[str]) -> None:
    app = tw.App("stamped")
    source = app.source(tw.files("stamps"), Counted, name="stamps").event_time("at")
    over = window.sliding(time=timedelta(hours=1), slide=timedelta(minutes=20), by="k")
    made = {"end": agg.window_end(), "sum": agg.sum("i")}
    results = source.aggregate(over, made, on_error="dead_letter", name="windows")
    results.sink(tw.collect(), name="out")
    results.dead_letters.sink(tw.collect(), name="letters")
    start = datetime(9999, 12, 31, 23, 10)
    rows = [Counted(start + timedelta(minutes=minute), "a", HUGE) for minute in (0, 20, 40, 45)]
    testing.assert_plan_invariant(app, {"stamps": rows})


def test_a_table_is_stored_by_bucket() -> None:
    blank = {"sum": np.zeros(0, np.int64)}
    table = PaneTable(blank, 1, numbered=False)
    keys = pa.array([10, 20, 30], pa.int64())
    table.add_keys(keys, np.array([0, 1, 0]), [stable_hash(keys).view(np.int64)])
    owner, start, sums = np.array([0, 2, 1, 0]), np.array([5, 5, 0, 0]), np.array([1, 2, 3, 4])
    table.put(np.full(4, -1), owner, {START: start, "sum": sums})
    table.put(np.array([2]), np.array([1]), {START: np.array([0]), "sum": np.array([33])})
    table.keep(np.array([0, 2, 3]))
    again = PaneTable(blank, 1, numbered=False)
    for bucket in (0, 1, 2):
        again.decode(bucket, memoryview(table.encode(bucket)))
    assert again.keys is not None
    assert again.keys.to_pylist() == [10, 20], "a key without panes is not stored"
    assert again.buckets.tolist() == [0, 1]
    assert again.find(pa.array([20, 30, 10])).tolist() == [1, -1, 0]
    panes = zip(again.owner.tolist(), again.starts.tolist(), to_list(again.columns["sum"]), strict=True)
    assert list(panes) == [(0, 0, 4), (0, 5, 1), (1, 0, 33)]

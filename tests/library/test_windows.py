"""Aggregates over windows, beyond what docs/operators.md shows: tuples that fail, what a step costs, older state."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thalweg as tw
from tests.properties.check import difference, run_local, run_reference
from tests.properties.strategies import cut_all
from thalweg import agg, testing, window
from thalweg.errors import Where
from thalweg.ir.expr import Record
from thalweg.ir.windows import Window
from thalweg.lang.aggregates import FoldTable
from thalweg.library.fold_spec import Monoid, same_value
from thalweg.library.folds import FOLDS
from thalweg.library.window_aggregate import Pane, WindowAggregate, make_config
from thalweg.library.windows.by_event_time import EventTimeAggregate
from thalweg.library.windows.sliding import Sliding, SlidingAggregate
from thalweg.optimize.passes import make_plan
from thalweg.verify.compare import first_difference


class Pair(tw.Tuple):
    k: str
    i: int
    j: int


HUGE = 2**62
INTS = (0, 1, -1, 3, HUGE, HUGE, -HUGE, 2**63 - 1)
PAIRS = [(k, i, j) for k in "aab" for i in INTS for j in INTS]
# A byte picks a row: longer lists than a list of tuples would mostly have.
ROWS = st.binary(min_size=6, max_size=30).map(lambda data: [PAIRS[byte % len(PAIRS)] for byte in data])
SLIDING = [window.sliding(count=count, slide=slide, by="k") for count in (2, 3, 4, 1) for slide in (1, 2)]
WINDOWS = st.sampled_from([*SLIDING, window.running(by="k"), window.tumbling(count=3, by="k")])


class Rows:
    """A beacon's function: the i-th of some rows."""

    def __init__(self, rows: Iterable[tuple[Any, ...]]) -> None:
        self.rows = list(rows)

    def __call__(self, index: int) -> Pair:
        return Pair(*self.rows[index])


def outcome(rows: list[tuple[str, int, int]], over: Any, **more: Any) -> list[list[tuple[Any, ...]]]:
    """Results and dead letters, which must be the same under all plans."""
    app = tw.App("sums")
    pairs = app.source(tw.beacon(Rows(rows), count=len(rows)), Pair, name="pairs")
    fields = {"i": agg.sum("i"), "j": agg.sum("j"), "n": agg.count(), **more}
    made = pairs.aggregate(over, name="sums", on_error="dead_letter", **fields)
    made.sink(tw.collect(), name="out")
    made.dead_letters.sink(tw.collect(), name="letters")
    graph = app.graph()
    epochs = cut_all(graph, 7)
    expected = run_reference(graph, epochs)
    for degree, frame_rows in ((1, 1000), (2, 1), (2, 4)):
        found = run_local(make_plan(graph, degree=degree, buckets=5, frame_rows=frame_rows), epochs)
        assert difference(expected, found) is None
    assert expected.error is None
    return [expected.answer["out"], expected.answer["letters"]]


@settings(deadline=None, derandomize=True, max_examples=100)
@given(ROWS, WINDOWS)
def test_a_tuple_that_fails_is_as_if_it_had_not_come(rows: list[tuple[str, int, int]], over: Any) -> None:
    """Sums that leave 64 bits, in a kernel's row path and, because of a fold that no kernel has, in Python."""
    by_kernel, letters = outcome(rows, over)
    in_python, others = outcome(rows, over, far=agg.std("i"))
    assert first_difference(by_kernel, [row[:3] for row in in_python]) is None
    assert first_difference(letters, others) is None


L = TypeVar("L", bound=WindowAggregate)


def made(logic: L, spec: Window, kinds: Iterable[str]) -> L:
    """The logic of an aggregate of i, without an engine around it."""
    table = FoldTable(Pair.tuple_type, Where(__file__, 1))
    fields = tuple((kind, table.resolve(getattr(agg, kind)("i"))) for kind in kinds)
    logic.config = make_config(spec, tuple(table.folds), Record(fields))
    logic._submitted, logic.now = [], None
    return logic


def sliding(spec: Window, kinds: Iterable[str]) -> SlidingAggregate:
    return made(SlidingAggregate(), spec, kinds)


@pytest.mark.parametrize("spec", [window.sliding(count=2), window.sliding(delta=2, on="j")])
def test_a_window_does_not_grow_by_tuples_that_fail(spec: Window) -> None:
    logic = sliding(spec, ("sum", "std", "collect"))
    for j, i in enumerate((HUGE, HUGE, HUGE, 1, 1, 1)):
        try:
            logic.process(Pair("", i, j), 0)
        except OverflowError:
            assert i == HUGE
        assert len(logic.queue) == len(logic.lists) <= 3
        assert len(logic.places) in (0, len(logic.queue))
    assert [value["sum"] for _, _, value in logic._submitted[-2:]] == [2, 2 if isinstance(spec, Sliding) else 3]


def test_a_window_in_event_time_that_fails_is_not_tried_again() -> None:
    app = tw.App("time")
    pairs = app.source(tw.files("pairs"), Pair, name="pairs").event_time("j")
    fields: dict[str, Any] = {"n": agg.sum("i") + agg.count(), "end": agg.window_end()}
    made = pairs.aggregate(window.tumbling(time=2, by="k"), on_error="dead_letter", **fields)
    made.sink(tw.collect(), name="out")
    made.dead_letters.sink(tw.collect(), name="letters")
    rows = [("fails", 2**63 - 1, 0), ("", 1, 2), ("", 2, 4), ("", 3, 6)]
    found = testing.run(app, {"pairs": rows})
    assert [tuple(row) for row in found["out"]] == [(2, 4), (3, 6), (4, 8)]
    assert [row.tuple for row in found["letters"]] == ["the mark 2"]


@pytest.mark.parametrize("size", [3, 300])
def test_a_step_costs_the_same_whatever_the_window(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0

    def counted(older: Any, newer: Any) -> Any:
        nonlocal steps
        steps += 1
        return older + newer

    monkeypatch.setitem(FOLDS, "sum", replace(FOLDS["sum"], scalar=Monoid(same_value, counted, same_value)))
    for spec in (window.sliding(count=size), window.sliding(delta=size, on="j")):
        steps, logic = 0, sliding(spec, ("sum",))
        for j in range(1000):
            logic.process(Pair("", j, j), 0)
        assert 0 < steps <= 3000


def timed() -> EventTimeAggregate:
    return made(EventTimeAggregate(), window.sliding(time=6, slide=2, on="j"), ("sum",))


def test_panes_are_in_the_order_of_their_time() -> None:
    logic = timed()
    for j in (7, 3, 12, 1, 3, 9):
        logic.process(Pair("", 1, j), 0)
    assert list(logic.panes) == [0, 2, 6, 8, 12]
    assert logic.due == 2
    logic.on_mark(8)
    assert (list(logic.panes), logic.due) == ([6, 8, 12], 10)
    assert [(rank, value["sum"]) for _, rank, value in logic._submitted] == [(2, 1), (4, 3), (6, 3), (8, 3)]


def test_panes_that_an_older_version_stored() -> None:
    stored = {"panes": {6: Pane(), 2: Pane(), 4: Pane()}, "closed": None}
    assert list(timed().upgrade(stored, 1)["panes"]) == [2, 4, 6]


@pytest.mark.parametrize("more", [{}, {"far": agg.std("i")}], ids=["kernel", "in Python"])
def test_a_block_that_fails_at_the_end_is_a_dead_letter(more: Any) -> None:
    app = tw.App("end")
    pairs = app.source(tw.files("pairs"), Pair, name="pairs")
    fields: dict[str, Any] = {"share": agg.sum("i") / agg.sum("j"), **more}
    made = pairs.aggregate(window.tumbling(count=2, by="k"), on_error="dead_letter", name="shares", **fields)
    made.sink(tw.collect(), name="out")
    made.dead_letters.sink(tw.collect(), name="letters")
    found = testing.run(app, {"pairs": [("b", 1, 0), ("a", 1, 0), ("c", 1, 2)]}, degree=2)
    assert [row.share for row in found["out"]] == [0.5]
    assert [(row.error, row.tuple) for row in found["letters"]] == [
        ("ZeroDivisionError: division by zero", "the end"),
    ] * 2


class Exact(tw.Tuple):
    d: Decimal


def test_distinct_counts_the_nans_of_decimals_as_one_value() -> None:
    """Whether two NaNs are one object depends on the plan."""
    app = tw.App("distinct")
    numbers = app.source(tw.files("numbers"), Exact, name="numbers")
    twice = numbers.union(numbers.map(lambda t: {"d": t.d}, name="again"), name="twice")
    twice.aggregate(window.running(), n=agg.distinct("d")).sink(tw.collect(), name="out")
    rows = [(Decimal(text),) for text in ("NaN", "1", "NaN", "1.0")]
    for fuse in ("all", "none"):
        assert testing.run(app, {"numbers": rows}, fuse=fuse)["out"][-1].n == 2


class Offer(tw.Tuple):
    at: int
    price: Decimal
    until: dt.datetime


@pytest.mark.parametrize("over", [window.sliding(time=6, slide=2), window.sliding(punctuations=3)], ids=str)
def test_the_error_of_a_window_is_that_of_its_first_fold_that_fails(over: Window) -> None:
    """The second pane does not fit the first one in `until`, the third one in `price`."""
    naive, aware = dt.datetime(2026, 3, 1), dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    rows = [Offer(0, Decimal(1), naive), Offer(2, Decimal(2), aware), Offer(4, Decimal("NaN"), naive)]
    app = tw.App("offers")
    offers = app.source(tw.files("offers"), Offer, name="offers")
    ready = offers.event_time("at") if over.timed else offers.punctor(lambda t: True)
    best = ready.aggregate(over, price=agg.min("price"), until=agg.max("until"), on_error="dead_letter")
    best.sink(tw.none(), name="best")
    best.dead_letters.sink(tw.collect(), name="failed")
    if over.timed:
        best.late.sink(tw.none(), name="late")
    failed = [row.error.partition(":")[0] for row in testing.run(app, {"offers": rows})["failed"]]
    assert failed[:2] == ["TypeError", "InvalidOperation"]


class Level(tw.Tuple):
    i: int
    metres: float


def test_a_sliding_window_by_delta_drops_its_oldest_tuples_only() -> None:
    """If the attribute is not sorted, a tuple that is farther below stays as long as an older one stays."""
    rows = [Level(i, metres) for i, metres in enumerate([10.0, 1.0, 10.0, 16.0, 3.0, 21.5])]
    app = tw.App("levels")
    levels = app.source(tw.files("levels"), Level, name="levels")
    levels.aggregate(window.sliding(delta=5.0, on="metres"), held=agg.collect("i")).sink(tw.collect(), name="held")
    found = testing.run(app, {"levels": rows}, epochs=2)["held"]
    assert [[*row.held] for row in found] == [[0], [0, 1], [0, 1, 2], [3], [3, 4], [5]]

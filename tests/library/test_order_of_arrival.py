"""Overlapping windows in event time: order of arrival, whatever the slide; zones of bounds; state of older versions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import thalweg as tw
from tests.library.test_fold_specs import ALL, BOUNDS, MORE, some_tuple
from tests.properties.check import difference, run_local, run_reference
from tests.properties.functions import Base
from tests.properties.strategies import cut_all
from thalweg import agg, testing, window
from thalweg.errors import Where
from thalweg.ir.expr import Record
from thalweg.lang.aggregates import FoldTable
from thalweg.library.window_aggregate import Pane, make_config
from thalweg.library.windows.by_event_time import EventTimeAggregate
from thalweg.optimize.passes import make_plan

BERLIN, EAST = ZoneInfo("Europe/Berlin"), timezone(timedelta(hours=5, minutes=30))
# All that a fold adds in floats may differ in the last bits: it is added pane by pane.
ADDED = ("sum_x", "sum_y", "mean")


def windows(slide: int, fields: dict[str, Any]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """The results of windows of 6 by their key and end; equal to the reference's under several plans."""
    app = tw.App("arrival")
    source = app.source(tw.beacon(some_tuple, count=60), Base, name="source").event_time("n", lateness=4)
    made = source.aggregate(
        window.sliding(time=6, slide=slide, by="k"), the_key=agg.any("k"), the_end=agg.window_end(), **fields
    )
    made.sink(tw.collect(), name="out")
    made.late.sink(tw.none(), name="late")
    graph = app.graph()
    epochs = cut_all(graph, 17)
    expected = run_reference(graph, epochs)
    assert expected.error is None
    for degree, frame_rows in ((1, 1000), (3, 2)):
        plan = make_plan(graph, degree=degree, buckets=5, frame_rows=frame_rows)
        assert difference(expected, run_local(plan, epochs, through_bytes=True)) is None
    return {row[:2]: row[2:] for row in expected.answer["out"]}


def test_no_fold_depends_on_the_slide() -> None:
    """NaN, zeros of both signs and ties are among the values; tuples arrive up to three panes too late."""
    fields = {name: made for name, made in {**ALL, **MORE, **BOUNDS}.items() if name not in ADDED}
    tumbling = windows(6, fields)
    assert len(tumbling) > 3
    for slide in (1, 2, 3, 4):
        found = windows(slide, fields)
        shared = [end for end in tumbling if end in found]
        assert len(shared) > 1
        for end in shared:
            assert dict(zip(fields, map(repr, found[end]), strict=True)) == dict(
                zip(fields, map(repr, tumbling[end]), strict=True)
            )


class Tick(tw.Tuple):
    time: int
    name: str
    price: float
    exact: Decimal
    rank: int


TICKS = [
    Tick(5, "a", 2.0, Decimal("1.0"), 1),
    Tick(1, "b", 1.0, Decimal("1.00"), 1),
    Tick(4, "c", 1.0, Decimal("1"), 1),
    Tick(0, "d", 2.0, Decimal("2.0"), 2),
    Tick(3, "e", float("nan"), Decimal("2"), 2),
]


@pytest.mark.parametrize("slide", [1, 2, 3, 6])
def test_tuples_are_in_order_of_arrival(slide: int) -> None:
    app = tw.App("ticks")
    ticks = app.source(tw.files("ticks"), Tick, name="ticks").event_time("time", lateness=9)
    over = window.sliding(time=6, slide=slide)
    fields: dict[str, Any] = {
        "names": agg.collect("name"),
        "joined": agg.apply("".join, "name", str),
        "first": agg.first("name"),
        "last": agg.last("name"),
        "any": agg.any("name"),
        "argmin": agg.argmin("price", "name"),
        "argmax": agg.argmax("price", "name"),
        "wma": agg.wma("time"),
        "least": agg.min("exact"),
        "most": agg.max("exact"),
        "end": agg.window_end(),
    }
    made = ticks.aggregate(over, **fields)
    made.filter(lambda t: t.end == 6).sink(tw.collect(), name="folds")
    made.late.sink(tw.none())
    found = testing.run(app, {"ticks": TICKS})
    (row,) = found["folds"]
    assert (list(row.names), row.joined) == (["a", "b", "c", "d", "e"], "abcde")
    assert (row.first, row.last, row.any) == ("a", "e", "e")
    assert (row.argmin, row.argmax, row.wma) == ("b", "a", (5 * 1 + 1 * 2 + 4 * 3 + 0 * 4 + 3 * 5) / 15)
    assert (str(row.least), str(row.most)) == ("1.0", "2.0")


@pytest.mark.parametrize("slide", [1, 2, 3, 6])
@pytest.mark.parametrize(
    ("make", "of_window"),
    [
        (lambda s, w: s.apply(w, lambda rows: [rows[0], rows[-1]], Tick), lambda rows: [rows[0], rows[-1]]),
        (lambda s, w: s.sort("exact", window=w), lambda rows: sorted(rows, key=lambda t: t.exact)),
        (lambda s, w: s.top_k(1, "exact", window=w), lambda rows: [max(rows, key=lambda t: t.exact)]),
        (
            lambda s, w: s.skyline(window=w, least="rank"),
            lambda rows: [t for t in rows if t.rank == min(u.rank for u in rows)],
        ),
    ],
    ids=["apply", "sort", "top_k", "skyline"],
)
def test_functions_of_windows_get_tuples_in_order_of_arrival(make: Any, of_window: Any, slide: int) -> None:
    app = tw.App("ticks")
    ticks = app.source(tw.files("ticks"), Tick, name="ticks").event_time("time", lateness=9)
    made = make(ticks, window.sliding(time=6, slide=slide))
    made.sink(tw.collect(), name="out")
    made.late.sink(tw.none())
    inside = [[t for t in TICKS if end - 6 <= t.time < end] for end in range(-6, 18) if end % slide == 0]
    expected = [t.name for rows in inside if rows for t in of_window(rows)]
    assert [t.name for t in testing.run(app, {"ticks": TICKS})["out"]] == expected


# Zones.


class Sale(tw.Tuple):
    at: datetime
    shop: str
    price: float


SPRING = datetime(2024, 3, 31, tzinfo=UTC)  # the clocks of Berlin change at 1 o'clock
SALES = [
    Sale((SPRING + timedelta(minutes=minutes)).astimezone(zone), shop, 1.0)
    for shop, zone in (("berlin", BERLIN), ("delhi", EAST), ("mixed", UTC))
    for minutes in (10, 50, 70, 20)
]
SALES += [Sale(SPRING.replace(tzinfo=None) + timedelta(minutes=5), "plain", 1.0)]
SALES += [Sale((SPRING + timedelta(minutes=5)).astimezone(EAST), "mixed", 1.0)]


def hours(app: tw.App, slide: int) -> tw.Stream:
    """A window per hour."""
    sales = app.source(tw.iterable(SALES), Sale, name="sales")
    return sales.event_time("at", lateness=timedelta(hours=5)).aggregate(
        window.sliding(time=timedelta(hours=1), slide=timedelta(minutes=slide), by="shop"),
        name="hours",
        shop=agg.any("shop"),
        start=agg.window_start(),
        end=agg.window_end(),
        n=agg.count(),
    )


@pytest.mark.parametrize("slide", [60, 20])
def test_bounds_have_the_zone_of_the_oldest_tuple(slide: int) -> None:
    app = tw.App("zones")
    made = hours(app, slide)
    made.sink(tw.collect(), name="out")
    made.late.sink(tw.none())
    rows = [row for row in testing.run(app, {"sales": SALES})["out"] if row.end.minute % 60 in (0, 30)]
    zones = {"berlin": BERLIN, "delhi": EAST, "mixed": UTC, "plain": None}
    assert {row.shop: row.start.tzinfo for row in rows} == zones
    assert {row.shop: row.end.tzinfo for row in rows} == zones
    first, second = [(row.start, row.end, row.n) for row in rows if row.shop == "berlin"][-2:]
    assert [str(time) for time in (*first[:2], second[1])] == [
        "2024-03-31 01:00:00+01:00",
        "2024-03-31 03:00:00+02:00",
        "2024-03-31 04:00:00+02:00",
    ]
    assert (first[2], second[2]) == (3, 1)


class Closing(tw.Tuple):
    end: datetime
    shop: str
    note: str


class Hour(tw.Tuple):
    end: datetime
    shop: str
    n: int


CLOSINGS = [Closing((SPRING + timedelta(hours=1)).astimezone(BERLIN), "berlin", "closes")]


def with_notes(made: tw.Stream) -> None:
    known = made.app.source(tw.iterable(CLOSINGS), Closing, name="closings")
    joined = made.join(known, window.last(None), mine=window.last(None), on=("end", "shop"), name="joined")
    joined.sink(tw.collect(), name="out")


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_bounds_are_found_by_joins_with_zoned_times(tmp_path: Path, kind: str) -> None:
    """In one application, and through files that keep the offset (those of Arrow have no zone: docs/language.md)."""
    app = tw.App("first")
    made = hours(app, 60).map(lambda t: {"end": t.end, "shop": t.shop, "n": t.n}, name="short")
    with_notes(made)
    zoned = made.filter(lambda t: t.shop != "plain", name="zoned")
    zoned.sink(tw.files(tmp_path / "hours", format=kind), name="files")
    assert [(row[2], row[3]) for row in tw.run(app, engine="local").tuples("out")] == [(3, "closes")]
    app = tw.App("second")
    with_notes(app.source(tw.files(tmp_path / "hours", format=kind), Hour, name="hours"))
    assert [(row[2], row[3]) for row in tw.run(app, engine="local").tuples("out")] == [(3, "closes")]


# State of older versions.


def logic_of(kind: Any, slide: int, **fields: agg.AggregateExpr) -> EventTimeAggregate:
    table = FoldTable(Tick.tuple_type, Where(__file__, 1), Tick.tuple_type.kind("time"))
    resolved = tuple((name, table.resolve(made)) for name, made in fields.items())
    logic = kind()
    logic.config = make_config(window.sliding(time=6, slide=slide, on="time"), tuple(table.folds), Record(resolved))
    logic._submitted, logic.now = [], None
    return logic  # type: ignore[no-any-return]


def stored(start: int, elements: tuple[Any, ...], lists: tuple[list[Any], ...]) -> dict[int, Pane]:
    pane = Pane()
    pane.elements, pane.lists = elements, lists
    return {start: pane}


@pytest.mark.parametrize("slide", [6, 3])
def test_panes_of_an_older_version_are_taken_in_the_order_of_their_time(slide: int) -> None:
    fields = {
        "names": agg.collect("name"),
        "total": agg.sum("time"),
        "first": agg.first("name"),
        "least": agg.min("price"),
        "end": agg.window_end(),
    }
    logic = logic_of(EventTimeAggregate, slide, **fields)
    panes = stored(3, (4, "b", 2.0), (["b"], [None])) | stored(0, (1, "a", 3.0), (["a"], [None]))
    if slide == 6:
        panes = stored(0, (5, "a", 2.0), (["a", "b"], [None, None]))
    logic.__dict__.update(logic.upgrade({"panes": panes}, 2))
    logic.process(Tick(2, "c", 1.0, Decimal(1), 0), 0)
    logic.on_mark(6)
    assert logic._submitted[-1][2] == {"names": ("a", "b", "c"), "total": 7, "first": "a", "least": 1.0, "end": 6}


def test_a_fold_that_now_needs_all_values_is_refused() -> None:
    logic = logic_of(EventTimeAggregate, 3, wma=agg.wma("price"))
    with pytest.raises(NotImplementedError, match=r"agg\.wma now needs all values of the window"):
        logic.upgrade({"panes": stored(0, ((1, 2.0, 2.0),), ())}, 2)

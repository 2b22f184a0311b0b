"""Datetimes of one zone around the start and the end of summer time are compared as instants, not by local time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import thalweg as tw
from thalweg import agg, testing, window

BERLIN = ZoneInfo("Europe/Berlin")
HALF = timedelta(minutes=30)


class Visit(tw.Tuple):
    i: int
    at: datetime


# The hour from 2 to 3 occurs twice. In UTC: 00:50, 01:10, 01:50, 00:05.
AUTUMN = [
    Visit(0, datetime(2024, 10, 27, 2, 50, tzinfo=BERLIN)),
    Visit(1, datetime(2024, 10, 27, 2, 10, tzinfo=BERLIN, fold=1)),
    Visit(2, datetime(2024, 10, 27, 2, 50, tzinfo=BERLIN, fold=1)),
    Visit(3, datetime(2024, 10, 27, 2, 5, tzinfo=BERLIN)),
]
# The hour from 2 to 3 does not occur: the visits are 20 minutes apart.
SPRING = [
    Visit(0, datetime(2024, 3, 31, 1, 50, tzinfo=BERLIN)),
    Visit(1, datetime(2024, 3, 31, 3, 10, tzinfo=BERLIN)),
]


def by_instant(rows: list[Visit]) -> list[int]:
    return [row.i for row in sorted(rows, key=lambda row: row.at.astimezone(UTC))]


def test_sorted_tuples() -> None:
    app = tw.App("sorted")
    visits = app.source(tw.files("visits"), Visit, name="visits")
    four = window.tumbling(count=4)
    visits.sort("at", window=four).sink(tw.collect(), name="window")
    visits.sort("at", buffer=4).sink(tw.collect(), name="buffer")
    visits.top_k(3, "at", window=four).sink(tw.collect(), name="top")
    first, rest = visits.split(lambda t: 0 if t.i == 1 else 1, 2)
    first.merge_ordered(rest.filter(lambda t: t.i == 0), on="at").sink(tw.collect(), name="merged")
    found = {sink: [row.i for row in rows] for sink, rows in testing.run(app, {"visits": AUTUMN}).items()}
    assert found == {"window": [3, 0, 1, 2], "buffer": [3, 0, 1, 2], "top": [2, 1, 0], "merged": [0, 1]}
    assert found["window"] == by_instant(AUTUMN)


def test_aggregates() -> None:
    app = tw.App("aggregates")
    visits = app.source(tw.files("visits"), Visit, name="visits")
    fields = {
        "least": agg.min("at"),
        "most": agg.max("at"),
        "first": agg.argmin("at", "i"),
        "last": agg.argmax("at", "i"),
        "times": agg.distinct("at"),
    }
    timed = visits.event_time("at", lateness=timedelta(hours=9))
    visits.aggregate(window.tumbling(count=4), fields).sink(tw.collect(), name="count")
    visits.aggregate(window.sliding(count=4, slide=4), fields).sink(tw.collect(), name="sliding")
    over = window.sliding(time=timedelta(hours=8), slide=HALF)
    timed.aggregate(over, {**fields, "n": agg.count()}).filter(lambda t: t.n == 4).sink(tw.collect(), name="time")
    found = testing.run(app, {"visits": AUTUMN})
    for rows in found.values():
        assert {(row.least.fold, row.most.fold, row.first, row.last, row.times) for row in rows} == {(0, 1, 3, 2, 4)}


def test_distances() -> None:
    app = tw.App("distances")
    visits = app.source(tw.files("visits"), Visit, name="visits")
    visits.aggregate(window.sliding(delta=HALF, on="at"), seen=agg.collect("i")).sink(tw.collect(), name="sliding")
    visits.aggregate(window.tumbling(delta=HALF, on="at"), seen=agg.collect("i")).sink(tw.collect(), name="tumbling")
    earlier = visits.map(lambda t: {"j": t.i, "when": t.at})
    near = visits.join(earlier, window.last(None), band=("at", "when", HALF)).filter(lambda t: t.i != t.j)
    near.map(lambda t: {"pair": t.i * 10 + t.j}).sink(tw.collect(), name="pairs")

    def found(rows: list[Visit]) -> dict[str, list[object]]:
        return {sink: [*map(_plain, out)] for sink, out in testing.run(app, {"visits": rows}).items()}

    assert found(AUTUMN) == {"sliding": [[0], [0, 1], [2], [2, 3]], "tumbling": [[0, 1], [2, 3]], "pairs": [10]}
    assert found(SPRING) == {"sliding": [[0], [0, 1]], "tumbling": [[0, 1]], "pairs": [10]}


def _plain(row: tuple[object, ...]) -> object:
    (value,) = row
    return list(value) if isinstance(value, list) else value

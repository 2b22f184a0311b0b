"""Event time of several sources, idle sources, and the event time of windows' results."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from thalweg import agg, testing, window
from thalweg.engine.state.inspect_checkpoint import inspect_checkpoint
from thalweg.errors import GraphError
from thalweg.explain import cut_invariance
from thalweg.library.multi_port import LeastTime, LeastTimeConfig, Origin


class Reading(tw.Tuple):
    t: int
    k: str


class Event(tw.Tuple):
    at: dt.datetime
    k: str


def source(app: tw.App, name: str, shards: int = 1) -> tw.Stream:
    return app.source(tw.beacon(lambda i: Reading(i, name), count=100, shards=shards), Reading, name=name)


def counts(stream: tw.Stream, time: Any = 10, **more: Any) -> tw.Stream:
    made = stream.aggregate(
        window.tumbling(time=time, by="k"), k=agg.any("k"), end=agg.window_end(), n=agg.count(), **more
    )
    made.sink(tw.collect(), name="out")
    made.late.sink(tw.collect(), name="late")
    return made


def readings(name: str, *times: int) -> list[Reading]:
    return [Reading(t, name) for t in times]


# Several sources.


def test_sources_are_concurrent(tmp_path: Path) -> None:
    """Two folders of the same days. The second is read after the first in each epoch; none of it is late."""
    start = dt.datetime(2026, 3, 1)
    for folder, step in (("a", 5), ("b", 7)):
        (tmp_path / folder).mkdir()
        rows = [{"at": (start + dt.timedelta(minutes=step * i)).isoformat(), "k": folder} for i in range(400)]
        (tmp_path / folder / "0.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for max_tuples in (1_000_000, 300, 7):
        for degree in (1, 2):
            app = tw.App("union")
            a, b = (
                app.source(tw.files(tmp_path / folder, format="jsonl"), Event, name=folder) for folder in ("a", "b")
            )
            counts(a.union(b).event_time("at"), dt.timedelta(hours=1))
            result = tw.run(app, engine="local", degree=degree, max_tuples_per_epoch=max_tuples)
            assert result.tuples("late") == []
            assert sum(n for *_, n in result.tuples("out")) == 800


def mapped(a: tw.Stream, b: tw.Stream) -> tw.Stream:
    return a.union(b).map(lambda r: {"t": r.t, "k": r.k}).filter(lambda r: r.t >= 0).event_time("t")


def unions(a: tw.Stream, b: tw.Stream) -> tw.Stream:
    return a.filter(lambda r: r.t % 2 == 0).union(b).union(a.filter(lambda r: r.t % 2 == 1)).event_time("t")


def before(a: tw.Stream, b: tw.Stream) -> tw.Stream:
    return a.event_time("t").union(b.event_time("t", lateness=3))


def after_state(a: tw.Stream, b: tw.Stream) -> tw.Stream:
    return a.union(b).dedup(("k", "t")).event_time("t")


@tw.composite
def composite(a: tw.Stream, b: tw.Stream) -> tw.Stream:
    return a.union(b).map(lambda r: {"t": r.t, "k": r.k}).event_time("t")


@pytest.mark.parametrize("combine", [mapped, unions, before, after_state, composite])
def test_wherever_event_time_is(combine: Any) -> None:
    app = tw.App("union")
    counts(combine(source(app, "a"), source(app, "b")))
    inputs = {name: readings(name, *range(100)) for name in ("a", "b")}
    testing.assert_plan_invariant(app, inputs, epochs=3, plans=4)
    found = testing.run(app, inputs, epochs=3)
    assert found["late"] == []
    assert [n for *_, n in found["out"]] == [10] * 20
    assert found.by_epoch("out")[0] != [], "windows are closed before the end"


MEETINGS: dict[str, Any] = {
    "pair": lambda first, second: first.pair(second),
    "merge_ordered": lambda first, second: first.merge_ordered(second, on="t"),
    "barrier": lambda first, second: first.barrier(second.map(lambda r: {"other": r.k})),
}


@pytest.mark.parametrize("name", MEETINGS)
@pytest.mark.parametrize("turned", [False, True])
def test_streams_that_wait_for_each_other_have_the_minimum_of_their_event_times(name: str, turned: bool) -> None:
    """The second source is far ahead. Its event time alone would make all tuples of the first late."""
    app = tw.App("meeting")
    behind, ahead = (
        app.source(tw.iterable(readings(k, *range(start, start + 12))), Reading, name=k).event_time(
            "t", lateness=12, idle=None
        )
        for k, start in (("behind", 0), ("ahead", 100))
    )
    counts(MEETINGS[name](*((ahead, behind) if turned else (behind, ahead))), 4)
    result = tw.run(app, engine="local", degree=1, max_tuples_per_epoch=6)
    assert result.tuples("late") == []


def test_a_stream_without_event_time_leaves_none_to_streams_that_meet_it() -> None:
    app = tw.App("meeting")
    timed, untimed = source(app, "a").event_time("t"), source(app, "b")
    for made in (timed.pair(untimed), timed.merge_ordered(untimed, on="t")):
        with pytest.raises(GraphError, match="has no event time"):
            counts(made)


def test_shards_are_concurrent_and_files_are_not(tmp_path: Path) -> None:
    app = tw.App("shards")
    counts(source(app, "a", shards=4).event_time("t"))
    for max_tuples in (1000, 40, 4):
        result = tw.run(app, engine="local", max_tuples_per_epoch=max_tuples)
        assert result.tuples("late") == []
        assert [n for *_, n in result.tuples("out")] == [10] * 10
    (tmp_path / "in").mkdir()
    for number, first in enumerate((50, 0)):
        lines = (json.dumps({"t": first + i, "k": "a"}) for i in range(50))
        (tmp_path / "in" / f"{number}.jsonl").write_text("\n".join(lines))
    app = tw.App("files")
    counts(app.source(tw.files(tmp_path / "in", format="jsonl"), Reading).event_time("t"))
    assert len(tw.run(app, engine="local").tuples("late")) == 50


def test_a_loop_is_a_source() -> None:
    """Tuples that come back with their old times are not late."""
    app = tw.App("loop")
    loop = app.feedback(Reading, name="loop")
    both = source(app, "a").union(loop)
    timed = both.event_time("t", idle=None)
    both.filter(lambda r: r.k == "a").map(lambda r: {"t": r.t, "k": "again"}, Reading).feed(loop)
    counts(timed)
    for degree in (1, 2):
        found = tw.run(app, engine="local", degree=degree, max_tuples_per_epoch=10)
        assert found.tuples("late") == []
        assert [n for *_, n in found.tuples("out")] == [10] * 20


def test_one_source_has_no_operator_for_marks() -> None:
    app = tw.App("one")
    a = source(app, "a")
    counts(a.filter(lambda r: r.t > 3).union(a).event_time("t"))
    assert [o.name for o in app.graph().operators if o.makes_marks] == []
    assert app.graph().by_name["a"].sub_positions == 0


def test_two_event_times_of_one_source_do_not_depend_on_cuts() -> None:
    """The source is not idle when one of its branches has no tuples."""
    app = tw.App("branches")
    a = source(app, "a")
    one, other = a.filter(lambda r: r.t < 5), a.filter(lambda r: r.t >= 5)
    counts(one.event_time("t", idle=1).union(other.event_time("t", idle=1)))
    assert cut_invariance(app.graph())[0]
    rows = readings("a", *range(60))
    found = [testing.run(app, {"a": rows}, epochs=epochs) for epochs in (1, 7, 60)]
    assert found[0] == found[1] == found[2]


# Idle sources.


def idle_app(**options: Any) -> tw.App:
    app = tw.App("idle")
    counts(source(app, "a").union(source(app, "b")).event_time("t", **options))
    return app


def ends(found: testing.Result) -> list[list[int]]:
    return [[row.end for row in rows] for rows in found.by_epoch("out")]


def test_an_idle_source_holds_others_back_only_for_some_epochs() -> None:
    one = [readings("a", e * 10) for e in range(9)]
    other = [readings("b", 0), [], [], [], [], [], []]
    held = testing.run(idle_app(idle=3), {"a": one, "b": other})
    assert ends(held)[:6] == [[], [], [], [], [10, 10, 20, 30, 40], [50]]
    assert ends(testing.run(idle_app(idle=1), {"a": one, "b": other}))[:4] == [[], [], [10, 10, 20], [30]]
    never = ends(testing.run(idle_app(idle=None), {"a": one, "b": other}))
    assert [rows for rows in never[:-1] if rows] == []
    assert [row.end for row in held["out"]] == never[-1]


def test_a_source_that_never_had_tuples_is_idle_too() -> None:
    one = [readings("a", e * 10) for e in range(6)]
    found = testing.run(idle_app(idle=2), {"a": one, "b": []})
    assert [len(rows) for rows in found.by_epoch("out")][:5] == [0, 0, 0, 3, 1]


def test_a_source_that_comes_back_counts_again() -> None:
    one = [readings("a", e * 10) for e in range(8)]
    other = [readings("b", 0), [], [], [], readings("b", 5, 30, 41), readings("b", 42), readings("b", 69), []]
    found = testing.run(idle_app(idle=2), {"a": one, "b": other})
    assert [tuple(row) for row in found["late"]] == [(5, "b"), (30, "b")]
    by_epoch = [[row.end for row in rows] for rows in found.by_epoch("out")]
    assert by_epoch[4:7] == [[40], [], [50, 50, 60]], "waits for b at 41 and 42"


def test_idleness_of_results_of_windows() -> None:
    """The source of one side of a union is idle: its aggregate's marks end, and the other side goes on."""
    app = tw.App("sides")
    sides = [
        source(app, name)
        .event_time("t", idle=2)
        .aggregate(window.tumbling(time=10, by="k"), k=agg.any("k"), t=agg.window_end())
        for name in ("a", "b")
    ]
    sides[0].union(sides[1]).aggregate(window.tumbling(time=10), end=agg.window_end(), n=agg.count()).sink(
        tw.collect(), name="out"
    )
    one, other = [readings("a", 10 * e) for e in range(8)], [readings("b", 0, 11), [], [], [], [], [], [], []]
    found = testing.run(app, {"a": one, "b": other})
    assert [[tuple(r) for r in rows] for rows in found.by_epoch("out")][:6] == [
        *([], [(10, 2)], [], [(20, 1), (30, 1)], [(40, 1)], [(50, 1)])
    ]
    testing.assert_plan_invariant(app, {"a": one, "b": other}, plans=4)


def test_epochs_without_progress_are_not_idle() -> None:
    """A stream with tuples is not idle, even if its event time does not reach the next step."""
    app = tw.App("slow")
    slow, fast = source(app, "a"), source(app, "b")
    timed = slow.event_time("t", idle=1).custom(Keep(), Reading, by="k").union(fast.event_time("t", idle=1))
    counts(timed)
    found = testing.run(app, {"a": [readings("a", 1)] * 8, "b": [readings("b", 10 * e) for e in range(8)]})
    assert found["late"] == []
    assert [len(rows) for rows in found.by_epoch("out")][:8] == [0] * 8


class Keep(tw.Operator):
    def process(self, t: Reading, port: int) -> None:
        self.submit(t)


@pytest.mark.parametrize("idle", [0, -1, True, 1.5, "3"])
def test_idle_is_a_number_of_epochs(idle: Any) -> None:
    with pytest.raises(GraphError, match="event_time: bad idle"):
        source(tw.App("bad"), "a").event_time("t", idle=idle)


def test_the_state_of_version_1() -> None:
    least = LeastTime()
    least.config = LeastTimeConfig({(port, 0): Origin(port, 10) for port in (0, 1)})
    assert least.settings() == "least time MeetConfig(ports=2, on='', names=())"
    upgraded = least.upgrade({"times": {0: 5, 1: 7}, "told": 5}, 1)
    assert upgraded.keys() == vars(LeastTime()).keys()


def test_the_state_shows_the_origins(tmp_path: Path) -> None:
    app = idle_app()
    tw.run(app, engine="local", checkpoint=tmp_path / "state", max_tuples_per_epoch=30)
    (entry,) = inspect_checkpoint(tmp_path / "state").operator("event_time.marks").entries()
    assert entry.values["times"] == {"a": 90, "b": 90}


# The results of windows.


def minutes(app: tw.App, name: str = "a") -> tw.Stream:
    return (
        source(app, name)
        .event_time("t")
        .aggregate(window.tumbling(time=10, by="k"), k=agg.any("k"), end=agg.window_end(), n=agg.count())
    )


def test_a_chained_window_closes_at_the_same_mark() -> None:
    app = tw.App("chain")
    made = minutes(app)
    made.sink(tw.collect(), name="minutes")
    hours = made.aggregate(window.tumbling(time=30), end=agg.window_end(), n=agg.sum("n"), parts=agg.count())
    hours.sink(tw.collect(), name="out")
    hours.late.sink(tw.collect(), name="late")
    inputs = {"a": [readings("a", *range(31)), readings("a", *range(31, 60)), readings("a", 60)]}
    found = testing.run(app, inputs)
    rows = [[tuple(row) for row in rows] for rows in found.by_epoch("out")]
    assert rows == [[(30, 30, 3)], [], [(60, 30, 3)], [(90, 1, 1)]]
    assert found["late"] == []
    testing.assert_plan_invariant(app, inputs, plans=4)


def test_chained_windows_with_datetimes() -> None:
    app = tw.App("chain")
    events = app.source(tw.beacon(lambda i: Event(dt.datetime(2026, 1, 1), "a"), count=1), Event, name="a")
    minute, hour = dt.timedelta(minutes=1), dt.timedelta(hours=1)
    per_minute = events.event_time("at").aggregate(window.tumbling(time=minute), end=agg.window_end(), n=agg.count())
    per_minute.aggregate(window.tumbling(time=hour), end=agg.window_end(), n=agg.sum("n"), minutes=agg.count()).sink(
        tw.collect(), name="out"
    )
    start = dt.datetime(2026, 1, 1)
    rows = [Event(start + dt.timedelta(seconds=20 * i), "a") for i in range(3 * 120)]
    assert [tuple(r) for r in testing.run(app, {"a": rows}, epochs=4)["out"]] == [
        (start + hour, 180, 60),
        (start + 2 * hour, 180, 60),
    ]


def test_sliding_windows_of_results() -> None:
    app = tw.App("sliding")
    made = minutes(app).aggregate(window.sliding(time=20, slide=10), end=agg.window_end(), n=agg.sum("n"))
    made.sink(tw.collect(), name="out")
    found = testing.run(app, {"a": readings("a", *range(40))}, epochs=3)
    assert [tuple(row) for row in found["out"]] == [(10, 10), (20, 20), (30, 20), (40, 20), (50, 10)]


def test_a_join_and_a_union_of_results() -> None:
    app = tw.App("both")
    one, other = minutes(app, "a"), minutes(app, "b").map(lambda r: {"there": r.end, "k2": r.k, "m": r.n})
    joined = one.join(other.event_time("there"), window.within(1), mine=window.within(1), where=lambda a, b: True)
    joined.map(lambda r: {"end": r.end, "n": r.n, "m": r.m}).sink(tw.collect(), name="pairs")
    joined.late.sink(tw.collect(), name="late")
    union = one.union(minutes(app, "c")).aggregate(window.tumbling(time=20), end=agg.window_end(), n=agg.sum("n"))
    union.sink(tw.collect(), name="twenty")
    found = testing.run(app, {name: readings(name, *range(40)) for name in "abc"}, epochs=3)
    assert found["late"] == []
    assert [tuple(row) for row in found["pairs"]] == [(end, 10, 10) for end in (10, 20, 30, 40)]
    assert [tuple(row) for row in found["twenty"]] == [(20, 40), (40, 40)]


def test_dedup_takes_the_end_itself() -> None:
    app = tw.App("dedup")
    minutes(app).dedup("k", within=10).sink(tw.collect(), name="out")
    found = testing.run(app, {"a": readings("a", *range(40))}, epochs=3)
    assert [row.end for row in found["out"]] == [10, 30]


def test_an_explicit_event_time_is_a_plain_one() -> None:
    """The result of a window that ends at 30 then belongs to the window that begins there."""
    app = tw.App("explicit")
    again = minutes(app).event_time("end")
    again.aggregate(window.tumbling(time=30), end=agg.window_end(), n=agg.count()).sink(tw.collect(), name="out")
    found = testing.run(app, {"a": readings("a", *range(60))}, epochs=3)
    assert [tuple(row) for row in found["out"]] == [(30, 2), (60, 3), (90, 1)]


def test_the_late_stream_keeps_its_event_time() -> None:
    app = tw.App("late")
    made = minutes(app)
    made.sink(tw.collect(), name="minutes")
    late = made.late.aggregate(window.tumbling(time=100), end=agg.window_end(), n=agg.count())
    late.sink(tw.collect(), name="out")
    found = testing.run(app, {"a": readings("a", 0, 50, 9, 10, 55)})
    assert [tuple(row) for row in found["out"]] == [(100, 2)]


def test_a_map_keeps_or_drops_the_end() -> None:
    app = tw.App("maps")
    kept = minutes(app).map(lambda r: {"end": r.end, "double": r.n * 2})
    kept.aggregate(window.tumbling(time=20), end=agg.window_end(), n=agg.sum("double")).sink(tw.collect(), name="out")
    assert [tuple(r) for r in testing.run(app, {"a": readings("a", *range(20))})["out"]] == [(20, 40)]
    dropped = minutes(tw.App("dropped")).map(lambda r: {"n": r.n})
    with pytest.raises(GraphError, match="has no event time") as error:
        dropped.aggregate(window.tumbling(time=20), n=agg.count())
    assert str(error.value.hint).startswith("keep end in dropped (")


def test_results_without_the_end_have_no_event_time() -> None:
    timed = source(tw.App("endless"), "a").event_time("t")
    made = timed.aggregate(window.tumbling(time=10), n=agg.count(), t=agg.max("t"))
    with pytest.raises(GraphError, match="has no event time") as error:
        made.aggregate(window.tumbling(time=20), n=agg.count())
    assert "end=agg.window_end()" in str(error.value.hint)


def test_results_and_raw_tuples_have_no_common_event_time() -> None:
    app = tw.App("mixed")
    results = minutes(app).map(lambda r: {"t": r.end, "k": r.k}, Reading)
    both = results.union(source(app, "b").event_time("t"))
    with pytest.raises(GraphError, match="has no event time") as error:
        both.aggregate(window.tumbling(time=20), n=agg.count())
    assert "after the union" in str(error.value.hint)


def test_what_passes_tuples_on_keeps_their_event_time() -> None:
    app = tw.App("best")
    best = source(app, "a").event_time("t").top_k(1, "t", window=window.tumbling(time=10))
    best.aggregate(window.tumbling(time=30), end=agg.window_end(), n=agg.count()).sink(tw.collect(), name="out")
    found = testing.run(app, {"a": readings("a", *range(60))}, epochs=3)
    assert [tuple(row) for row in found["out"]] == [(30, 3), (60, 3)]

"""A function sees the values that it captured when it was passed to Thalweg: in every place that takes user code."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw
from thalweg import agg, testing, window
from thalweg.engine.core.run import RunOptions
from thalweg.engine.core.stop import Stop
from thalweg.engine.local.run import run_local
from thalweg.errors import GraphError, Where
from thalweg.ir.frozen_code import Freezer
from thalweg.optimize.passes import make_plan

LIMIT = 0

SETTINGS: dict[str, int] = {}


class Row(tw.Tuple):
    k: str
    n: int


class Count(tw.Tuple):
    n: int


ROWS = [("a", 1), ("b", 4), ("a", 7), ("b", 9)]
TUPLES = [Row(*row) for row in ROWS]
LIMITS = (2, 5, 8)
EXPECTED = [[4, 7, 9], [7, 9], [9]]


@pytest.fixture(autouse=True)
def _restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "LIMIT", 0)
    monkeypatch.setitem(globals(), "SETTINGS", {})


LATER: Callable[[int], bool]  # not yet assigned


def above(n: int) -> bool:
    return n > LIMIT


def is_above(t: Any) -> bool:
    """It cannot be read, because of `repr`."""
    return bool(repr(t)) and above(t.n)


class Limit:
    """Its methods read a global and an attribute of the class."""

    least = 0

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __call__(self, t: Any) -> bool:
        return bool(t.n > max(self.limit, LIMIT, self.least))

    def method(self, t: Any) -> bool:
        return self(t)


class Passing(tw.Operator):
    def process(self, t: Any, port: int) -> None:
        if self.passes(t.n):
            self.submit(t)

    @staticmethod
    def passes(n: int) -> bool:
        return above(n)


class PassingMore(Passing):
    def process(self, t: Any, port: int) -> None:
        super().process(t, port)


@dataclass
class Bounds:
    low: int


@functools.lru_cache
def cached_above(n: int) -> bool:
    return n > LIMIT


def passing(t: Any, state: Any, submit: Any) -> None:
    if t.n > LIMIT:
        submit(t)


def many_above(rows: list[Any]) -> list[Any]:
    return [t for t in rows if t.n > LIMIT]


def table_above(table: Any) -> Any:
    return pa.table({"k": table["k"], "n": [n if n > LIMIT else -1 for n in table["n"].to_pylist()]})


Build = Callable[[tw.Stream, int], tw.Stream]

# Each has the tuples with n > limit as its result; the limit is in a global, in SETTINGS, and an argument.
PLACES: dict[str, Build] = {
    "filter, read": lambda s, limit: s.filter(lambda t: t.n > LIMIT),
    "filter, a helper read": lambda s, limit: s.filter(lambda t: above(t.n)),
    "filter": lambda s, limit: s.filter(lambda t: bool(repr(t)) and t.n > LIMIT),
    "filter, a helper": lambda s, limit: s.filter(is_above),
    "filter, a cached helper": lambda s, limit: s.filter(lambda t: cached_above(t.n)),
    "filter, a dict": lambda s, limit: s.filter(lambda t: t.n > SETTINGS["limit"]),
    "filter, a partial": lambda s, limit: s.filter(functools.partial(lambda least, t: t.n > max(least, LIMIT), limit)),
    "filter, a callable object": lambda s, limit: s.filter(Limit(limit)),
    "filter, a bound method": lambda s, limit: s.filter(Limit(limit).method),
    "filter, a nested function": lambda s, limit: s.filter(lambda t: [n for n in [t.n] if n > LIMIT] != []),
    "filter, a declared function": lambda s, limit: s.filter(tw.declare(effects="none")(lambda t: t.n > LIMIT)),
    "map": lambda s, limit: s.map(lambda t: {"k": t.k, "n": t.n if above(t.n) else -1}, Row).filter(lambda t: t.n > 0),
    "flat_map": lambda s, limit: s.flat_map(lambda t: [t] if t.n > LIMIT else [], Row),
    "split": lambda s, limit: _second(*s.split(lambda t: int(bool(repr(t)) and t.n > LIMIT), 2)),
    "join": lambda s, limit: s.join(
        s.map(lambda t: {"k": t.k, "m": t.n}),
        window.last(1, by="k"),
        mine=window.last(1, by="k"),
        on="k",
        where=lambda t, u: t.n == u.m and t.n > LIMIT,
    ).map(lambda t: {"k": t.k, "n": t.n}, Row),
    "map_batches": lambda s, limit: s.map_batches(table_above, Row).filter(lambda t: t.n > 0),
    "apply": lambda s, limit: s.apply(window.tumbling(count=1), many_above),
    "custom": lambda s, limit: s.custom(passing, Row, by="k"),
    "operator class": lambda s, limit: s.custom(Passing(), Row, by="k"),
    "operator class with a base": lambda s, limit: tw.operator(PassingMore(), s, into=Row, by="k")[0],
    "aggregate, an argument": lambda s, limit: _kept(s, agg.sum(lambda t: t.n if t.n > LIMIT else 0)),
    "aggregate, apply": lambda s, limit: _kept(s, agg.apply(lambda ns: sum(n for n in ns if n > LIMIT), "n", int)),
    "punctor": lambda s, limit: (
        s.punctor(lambda t: bool(repr(t)) and t.n > LIMIT)
        .aggregate(window.tumbling(punctuation=True), k=agg.last("k"), n=agg.last("n"))
        .filter(lambda t: t.n > 0)
    ),
}


def _second(first: tw.Stream, second: tw.Stream) -> tw.Stream:
    first.sink(tw.none())
    return second


def _kept(stream: tw.Stream, total: Any) -> tw.Stream:
    """Windows of one tuple, and those with a sum."""
    return stream.aggregate(window.tumbling(count=1), k=agg.last("k"), n=total).filter(lambda t: t.n > 0)


def set_limit(limit: int) -> None:
    global LIMIT
    LIMIT = SETTINGS["limit"] = limit


@pytest.mark.parametrize("place", PLACES)
def test_operators_made_in_a_loop_keep_their_own_values(place: str) -> None:
    app = tw.App("loop")
    rows = app.source(tw.iterable([]), Row, name="rows")
    for limit in LIMITS:
        set_limit(limit)
        PLACES[place](rows, limit).sink(tw.collect(), name=f"above_{limit}")
    set_limit(100)
    for degree in (1, 2):
        found = testing.run(app, {"rows": ROWS}, degree=degree)
        assert [[row[1] for row in found[f"above_{limit}"]] for limit in LIMITS] == EXPECTED


@pytest.mark.slow
def test_so_do_those_that_run_in_workers_and_after_a_restart(tmp_path: Path) -> None:
    """All places in one application, in one process and in two, with a stop after the first epoch."""
    app = tw.App("loop")
    rows = app.source(tw.beacon(lambda i: TUPLES[i], count=len(ROWS)), Row)
    for limit in LIMITS:
        set_limit(limit)
        for number, build in enumerate(PLACES.values()):
            build(rows, limit).sink(tw.collect(), name=f"{number}_{limit}")
    set_limit(100)
    for degree in (1, 2):
        plan = make_plan(app.graph(), degree=degree)
        options = RunOptions(checkpoint=tmp_path / str(degree), max_tuples_per_epoch=1)
        assert run_local(plan, options, lambda report: options.stop.request()).stopped
        found = run_local(plan, replace(options, stop=Stop()), lambda report: None)
        for number, place in enumerate(PLACES):
            numbers = [[row[1] for row in found.tuples(f"{number}_{limit}")] for limit in LIMITS]
            assert numbers == EXPECTED, place


def test_variables_of_functions_are_captured_like_globals() -> None:
    app = tw.App("loop")
    rows = app.source(tw.iterable([]), Row, name="rows")
    table = [0]
    for limit in LIMITS:
        table[0] = limit

        def low(n: int, least: list[int] = table) -> bool:
            return n > limit and n > least[0]

        class Own(tw.Operator):
            def process(self, t: Any, port: int) -> None:
                if low(t.n) and t.n > table[0]:
                    self.submit(t)

        rows.filter(lambda t: low(t.n)).sink(tw.collect(), name=f"read_{limit}")
        rows.filter(lambda t: bool(repr(t)) and low(t.n) and t.n > table[0]).sink(tw.collect(), name=f"code_{limit}")
        rows.custom(Own(), Row, by="k").sink(tw.collect(), name=f"class_{limit}")
    limit = table[0] = 100
    found = testing.run(app, {"rows": ROWS}, degree=2)
    for kind in ("read", "code", "class"):
        assert [[row[1] for row in found[f"{kind}_{limit}"]] for limit in LIMITS] == EXPECTED


def test_aggregates_made_before_their_operator_keep_their_values() -> None:
    app = tw.App("loop")
    rows = app.source(tw.iterable([]), Row, name="rows")
    fields: Any = {f"above_{limit}": agg.sum(lambda t: t.n if t.n > limit else 0) for limit in LIMITS}
    rows.aggregate(window.tumbling(count=4), **fields).sink(tw.collect(), name="out")
    assert testing.run(app, {"rows": ROWS})["out"] == [(20, 16, 9)]


def test_sources_keep_their_values() -> None:
    app = tw.App("loop")
    listed = [Row("x", 1)]
    for limit in LIMITS:
        app.source(tw.beacon(lambda i: Row("a", limit), count=1), Row).sink(tw.collect(), name=f"beacon_{limit}")
        app.source(tw.iterable(lambda: [Row("a", limit)]), Row).sink(tw.collect(), name=f"iterable_{limit}")
    app.source(tw.iterable(listed), Row).sink(tw.collect(), name="listed")
    listed.append(Row("y", 2))
    limit = 100
    found = tw.run(app, engine="local")
    assert found.tuples("listed") == [("x", 1)]
    for kind in ("beacon", "iterable"):
        assert [found.tuples(f"{kind}_{limit}") for limit in LIMITS] == [[("a", limit)] for limit in LIMITS]


def test_a_source_that_the_driver_runs_may_capture_anything() -> None:
    app, lock = tw.App("locked"), threading.Lock()

    def rows() -> list[Any]:
        with lock:
            return TUPLES

    app.source(tw.iterable(rows), Row).sink(tw.collect())
    assert tw.run(app, engine="local").tuples() == ROWS


def test_functions_that_are_defined_later_are_found_when_the_graph_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    app = tw.App("later")
    app.source(tw.iterable(TUPLES), Row).filter(lambda t: LATER(t.n)).sink(tw.collect())  # noqa: F821
    monkeypatch.setitem(globals(), "LATER", above)
    set_limit(5)
    app.graph()
    set_limit(100)
    assert tw.run(app, engine="local").tuples() == [("a", 7), ("b", 9)]


def test_one_object_may_be_passed_to_several_operators() -> None:
    app, code = tw.App("shared"), Passing()
    rows = app.source(tw.iterable(TUPLES), Row)
    for limit in LIMITS:
        set_limit(limit)
        rows.custom(code, Row).sink(tw.collect(), name=f"above_{limit}")
    found = tw.run(app, engine="local")
    assert [[row[1] for row in found.tuples(f"above_{limit}")] for limit in LIMITS] == EXPECTED


def test_a_frozen_function_keeps_its_name_code_and_declaration() -> None:
    @tw.declare(state="stateless")
    def counted(t: Any, least: int = 3) -> bool:
        """Words."""
        return bool(t.n > max(least, LIMIT))

    made = Freezer().freeze(counted)
    assert made is not counted
    assert made.__code__ is counted.__code__
    assert (made.__name__, made.__qualname__, made.__module__, made.__doc__, made.__dict__) == (
        counted.__name__,
        counted.__qualname__,
        __name__,
        "Words.",
        counted.__dict__,
    )
    assert Freezer().freeze(made) is made


def test_what_captures_nothing_and_what_workers_import_is_not_frozen() -> None:
    plain = lambda t: t.n > 1
    freezer = Freezer()
    assert freezer.freeze(plain) is plain
    assert freezer.freeze(functools.reduce) is functools.reduce
    assert freezer.freeze(testing.run) is testing.run


def test_functions_that_call_each_other_are_frozen_together() -> None:
    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    assert [Freezer().freeze(even)(n) for n in range(3)] == [True, False, True]


def test_classes_with_slots_properties_and_bases_are_frozen() -> None:
    limit = 3

    class Slotted(Limit):
        __slots__ = ("own",)

        def __init__(self) -> None:
            super().__init__(1)
            self.own = 2

        @property
        def least_of_all(self) -> int:
            return min(self.own, self.limit, limit, self.above().low)

        @classmethod
        def above(cls) -> Bounds:
            return Bounds(limit + cls.least)

        @functools.cached_property
        def cached(self) -> int:
            return limit

    made: Any = Freezer().freeze(lambda: (Slotted().least_of_all, Slotted().cached, Slotted(), Slotted))
    Slotted.least = limit = -100
    least, cached, instance, cls = made()
    assert (least, cached) == (1, 3)
    assert type(instance) is cls is not Slotted


MISSING = object()


def given(value: object = MISSING) -> bool:
    return value is not MISSING


@dataclass
class Group:
    """Python compares the default of `members` by identity, too."""

    members: list[int] = field(default_factory=list)

    @functools.cached_property
    def size(self) -> int:
        return len(self.members)


def test_an_operator_has_one_copy_of_an_object_wherever_it_is_captured() -> None:
    found = (MISSING, given)  # it is copied before the function, and with it
    plain: list[Callable[[], bool]] = [lambda: given(), lambda: given(MISSING)]
    codes: list[Any] = [*plain, lambda: found[1](found[0]), lambda: found[1]()]
    for code in codes:
        assert Freezer().freeze(code)() is False
    assert Freezer().freeze(lambda: given(None))() is True
    assert Freezer().freeze(lambda: Group().members)() == []


@pytest.mark.parametrize("make", [list, dict, set, bytearray, lambda: ["end"], lambda: ("end", "of file")])
def test_so_it_has_of_lists_and_dicts_that_several_functions_capture(make: Callable[[], Any]) -> None:
    value = make()
    holder = {"value": value}

    def same(other: Any = value) -> bool:
        return other is value

    codes: list[Callable[[], bool]] = [
        lambda: same(value) and same(),
        lambda: value is holder["value"] and same(holder["value"]),
        functools.partial(same, value),
        functools.partial(lambda held, is_same: held["value"] is value and is_same(), holder, same),
        lambda given=value: same(given),  # type: ignore[misc]
        lambda *, given=value: same(given),  # type: ignore[misc]
    ]
    for code in codes:
        assert Freezer().freeze(code)()


@pytest.mark.parametrize("degree", [1, 2])
def test_functions_that_fill_one_buffer_see_what_the_other_added(degree: int) -> None:
    buffer: list[int] = []

    def add(value: int) -> None:
        buffer.append(value)

    @tw.declare(state="stateless")
    def twice(t: Any) -> Count:
        buffer.clear()
        add(t.n)
        add(t.n)
        return Count(sum(buffer))

    app = tw.App("buffer")
    app.source(tw.iterable(TUPLES), Row).map(twice, Count).sink(tw.collect())
    assert [t.n for t in tw.run(app, engine="local", degree=degree).tuples()] == [2 * n for _, n in ROWS]


def test_methods_of_captured_dicts_and_lists_are_copied() -> None:
    table = {"a": 1}
    get: Any = table.get
    made: Any = Freezer().freeze(lambda key: get(key))
    table["a"] = 2
    assert made("a") == 1


@pytest.mark.parametrize("degree", [1, 2])
def test_classes_with_cached_properties_are_sent_to_workers(degree: int) -> None:
    app = tw.App("properties")
    rows = app.source(tw.iterable(TUPLES), Row)
    size = tw.declare(state="stateless")(lambda t: {"n": Group([1] * t.n).size})
    rows.map(size, Count, name="sized").sink(tw.collect(), name="sizes")
    result = testing.run(app, {"rows": TUPLES}, degree=degree)
    assert [row.n for row in result["sizes"]] == [n for _, n in ROWS]


class Handle:
    def __init__(self) -> None:
        self.lock = threading.Lock()


HANDLE = Handle()


@pytest.mark.parametrize("place", [*PLACES, "beacon"])
def test_a_value_that_cannot_be_sent_is_reported_with_operator_and_line(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every place that takes code."""
    app = tw.App("refused")
    rows = app.source(tw.iterable(TUPLES), Row, name="rows")
    monkeypatch.setitem(globals(), "LIMIT", HANDLE)
    monkeypatch.setitem(globals(), "SETTINGS", {"limit": HANDLE})
    beacon: Build = lambda s, limit: app.source(tw.beacon(lambda i: LIMIT, count=1), Row)
    build = {**PLACES, "beacon": beacon}[place]
    with pytest.raises(GraphError, match="cannot be sent to a worker") as found:
        build(rows, 1)
    error = found.value
    assert error.operator
    assert error.where is not None
    assert error.where.file == __file__
    assert "_thread.lock" in str(error.found)


@pytest.mark.parametrize(
    ("code", "captured"),
    [
        (lambda t: bool(HANDLE) and t.n > 1, "<lambda> captures HANDLE"),
        (lambda t, lock=HANDLE: t.n > 1, "<lambda> captures a default of an argument"),
        (functools.partial(lambda lock, t: t.n > 1, HANDLE), "partial cannot be sent to a worker"),
    ],
)
def test_what_cannot_be_sent_to_a_worker_is_refused(code: Any, captured: str) -> None:
    app = tw.App("refused")
    rows = app.source(tw.iterable(TUPLES), Row)
    with pytest.raises(GraphError, match="cannot be sent to a worker") as found:
        rows.filter(code, name="locked")
    error = found.value
    assert error.message.startswith(captured)
    assert (error.operator, error.found) == ("locked", "TypeError: cannot pickle '_thread.lock' object")
    assert isinstance(error.where, Where)
    assert error.where.file == __file__


def test_a_later_value_that_cannot_be_sent_is_refused_and_never_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the error, the name had the value None. And the error must not be reported by other applications."""
    app = tw.App("later")
    app.source(tw.iterable(TUPLES), Row).filter(lambda t: LATER is not None).sink(tw.collect())  # noqa: F821
    monkeypatch.setitem(globals(), "LATER", HANDLE)
    with pytest.raises(GraphError, match="captures LATER, which cannot be sent"):
        app.graph()
    other = tw.App("other")
    other.source(tw.iterable(TUPLES), Row).sink(tw.collect())
    other.graph()
    with pytest.raises(tw.ThalwegError, match="name 'LATER' is not defined"):
        tw.run(app, engine="local")

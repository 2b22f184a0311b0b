"""Facts of every kind of operator, and what operators of one graph do to each other."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from tests.analysis.shared_stats import reads, writes
from thalweg import agg, window
from thalweg.analysis.derive_facts import facts_of
from thalweg.ir.facts import HIDDEN_STATE, Facts
from thalweg.lang.app import App, Stream


class Tick(tw.Tuple):
    symbol: str
    price: float
    volume: int
    time: dt.datetime


class Word(tw.Tuple):
    symbol: str
    n: int


class Rate(tw.Tuple):
    symbol: str
    rate: float


def two() -> tuple[App, Stream, Stream]:
    app = tw.App("facts")
    a = app.source(tw.files("a", format="parquet"), Tick, name="a")
    b = app.source(tw.files("b", format="parquet"), Rate, name="b")
    return app, a, b


def facts(build: Any) -> Facts:
    app, a, b = two()
    made = build(a, b)
    for i, stream in enumerate(made if isinstance(made, tuple) else (made,)):
        stream.sink(tw.none(), name=f"out{i}")
    b.sink(tw.none(), name="rest")
    a.sink(tw.none(), name="rest2")
    return facts_of(app.graph())["op"]


def sel(found: Facts) -> list[str]:
    return [str(s) for s in found.selectivity]


def _with_letters(made: Stream) -> tuple[Stream, ...]:
    return made, made.dead_letters


TICK = {n: n for n in ("symbol", "price", "volume", "time")}
minute = dt.timedelta(minutes=1)

MODELS: list[tuple[str, Any, str, list[str], Any]] = [
    ("filter", lambda a, b: a.filter(lambda t: t.price > 1, name="op"), "stateless", ["0..1"], TICK),
    (
        "map",
        lambda a, b: a.map(lambda t: {"s": t.symbol, "v": t.volume * 2, "symbol": t.symbol}, name="op"),
        "stateless",
        ["1"],
        {"s": "symbol", "symbol": "symbol"},
    ),
    (
        "map that may fail and is skipped",
        lambda a, b: a.map(lambda t: {"v": 1 // t.volume}, on_error="skip", name="op"),
        "stateless",
        ["0..1"],
        {},
    ),
    (
        "map that cannot fail",
        lambda a, b: _with_letters(a.map(lambda t: {"v": t.volume}, on_error="dead_letter", name="op")),
        "stateless",
        ["1", "0..1"],
        {"v": "volume"},
    ),
    (
        "int that becomes a float",
        lambda a, b: a.map(lambda t: Rate(t.symbol, t.volume), Rate, name="op"),
        "stateless",
        ["1"],
        {"symbol": "symbol"},
    ),
    (
        "split",
        lambda a, b: a.split(lambda t: 0 if t.volume > 1 else 1, 2, name="op"),
        "stateless",
        ["0..1", "0..1"],
        TICK,
    ),
    ("split randomly", lambda a, b: a.split_randomly([1, 1, 1], seed=1, name="op"), "stateless", ["0..1"] * 3, TICK),
    ("delay", lambda a, b: a.delay(1, name="op"), "stateless", ["1"], TICK),
    ("union", lambda a, b: a.union(a.filter(lambda t: t.volume > 1), name="op"), "stateless", ["1"], TICK),
    ("event time", lambda a, b: a.event_time("time", name="op"), "stateless", ["1", "0..1"], TICK),
    ("punctor", lambda a, b: a.punctor(lambda t: t.volume > 1, name="op"), "stateless", ["1", "0..1"], TICK),
    (
        "running aggregate",
        lambda a, b: a.aggregate(window.running(by="symbol"), symbol=agg.any("symbol"), n=agg.count(), name="op"),
        "partitioned by symbol",
        ["1"],
        {"symbol": "symbol"},
    ),
    (
        "tumbling aggregate",
        lambda a, b: a.aggregate(
            window.tumbling(count=3, by="symbol"), s=agg.first("symbol"), n=agg.count(), name="op"
        ),
        "partitioned by symbol",
        ["0..1"],
        {"s": "symbol"},
    ),
    (
        "aggregate without a key",
        lambda a, b: a.aggregate(window.sliding(count=3), s=agg.last("symbol"), name="op"),
        "one state for all tuples",
        ["1"],
        {},
    ),
    (
        "aggregate by rows",
        lambda a, b: a.aggregate(
            window.sliding(count=3, slide=2, by="symbol"),
            symbol=agg.any("symbol"),
            q=agg.quantile("price", 0.5),
            name="op",
        ),
        "partitioned by symbol",
        ["0..1"],
        {"symbol": "symbol"},
    ),
    (
        "event-time aggregate",
        lambda a, b: a.event_time("time").aggregate(
            window.tumbling(time=minute, by="symbol"), symbol=agg.any("symbol"), name="op"
        ),
        "partitioned by symbol",
        ["0", "0..1", "0..1"],
        {"symbol": "symbol"},
    ),
    ("dedup", lambda a, b: a.dedup("symbol", name="op"), "partitioned by symbol", ["0..1"], TICK),
    (
        "top k",
        lambda a, b: a.top_k(2, "price", window=window.tumbling(count=5, by="symbol"), name="op"),
        "partitioned by symbol",
        ["0..*"],
        {},
    ),
    ("sorted buffer", lambda a, b: a.sort("time", buffer=3, name="op"), "one state for all tuples", ["0..1"], {}),
    (
        "join",
        lambda a, b: a.join(b, window.last(1, by="symbol"), on="symbol", name="op"),
        "partitioned by symbol",
        ["0..1"],
        TICK,
    ),
    (
        "windowed join",
        lambda a, b: a.join(b, window.last(3, by="symbol"), on="symbol", name="op"),
        "partitioned by symbol",
        ["0..*"],
        TICK,
    ),
    (
        "lookup",
        lambda a, b: a.lookup([Rate("x", 1.0), Rate("y", 2.0)], Rate, on="symbol", name="op"),
        "stateless",
        ["0..1"],
        TICK,
    ),
    (
        "lookup with a value for what is missing",
        lambda a, b: a.lookup([Rate("x", 1.0), Rate("x", 2.0)], Rate, on="symbol", missing={"rate": 0.0}, name="op"),
        "stateless",
        ["1..2"],
        TICK,
    ),
    (
        "barrier",
        lambda a, b: a.barrier(b, by="symbol", name="op"),
        "partitioned by symbol",
        ["0..1"],
        {"symbol": "symbol"},
    ),
    ("map batches", lambda a, b: a.map_batches(lambda table: table, Tick, name="op"), "stateless", ["1"], {}),
]


@pytest.mark.parametrize(("name", "build", "state", "selectivity", "forwards"), MODELS, ids=[m[0] for m in MODELS])
def test_models(name: str, build: Any, state: str, selectivity: list[str], forwards: Any) -> None:
    found = facts(build)
    assert str(found.state) == state, found.state.because
    assert sel(found) == selectivity
    assert found.forwards[0][0] == forwards
    assert len(found.selectivity) == len(found.forwards) == len(found.writes)
    assert all(found.state.because.where.file for _ in [0])


def test_a_join_forwards_the_key_from_both_sides() -> None:
    found = facts(lambda a, b: a.join(b, window.last(2, by="symbol"), on="symbol", name="op"))
    assert found.forwards[0][1] == {"symbol": "symbol", "rate": "rate"}
    assert found.reads == (None, None)


def test_reads_of_what_was_read_exactly() -> None:
    found = facts(lambda a, b: a.filter(lambda t: t.price > 1 and t.volume > 2, name="op"))
    assert found.reads == (frozenset(("price", "volume")),)
    assert found.writes == (frozenset(),)


def test_every_operator_of_a_graph_has_facts() -> None:
    app, a, b = two()
    loop = app.feedback(Tick, name="loop")
    back = a.union(loop, name="both").filter(lambda t: t.volume > 3, name="again")
    back.feed(loop, name="feed")
    b.sink(tw.none(), name="out")
    found = facts_of(app.graph())
    assert list(found) == ["a", "b", "loop", "both", "again", "feed", "out"]
    assert str(found["a"].state) == "stateless"
    assert str(found["out"].state) == "one state for all tuples"


def test_immediate_loops() -> None:
    app, a, _ = two()
    seen: list[int] = []

    def remember(t: Any) -> bool:
        seen.append(t.volume)
        return True

    loop = app.feedback(Tick, immediate=True, name="loop")
    both = a.union(loop, name="both").filter(remember, name="inner")
    both.feed(loop, name="feed")
    both.sink(tw.none(), name="out")
    app._operators = [o for o in app._operators if o.name != "b"]
    found = facts_of(app.graph())["loop"]
    assert found.state.kind == "unknown"
    assert "changes seen with append()" in str(found.state.because)


TABLE = {"x": 1}


def test_what_one_operator_changes_another_must_not_read() -> None:
    """In a helper module, which operators share. Of the application's own variables, each has its copy."""

    def graph(*functions: Any) -> Any:
        app, a, b = two()
        for i, function in enumerate(functions):
            a.map(function, Word, name=f"op{i}").sink(tw.none(), name=f"out{i}")
        b.sink(tw.none(), name="rest")
        return facts_of(app.graph())

    def own_writes(t: Any) -> Any:
        TABLE[t.symbol] = t.volume
        return {"symbol": t.symbol, "n": 1}

    own = graph(lambda t: {"symbol": t.symbol, "n": TABLE.get(t.symbol, 0)}, tw.declare(state="stateless")(own_writes))
    assert own["op0"].stateless
    alone = graph(reads)["op0"]
    assert alone.stateless
    assert alone.has("reads_mutable")
    together = graph(reads, writes)
    assert together["op0"].state.kind == "unknown"
    assert "reads the global TABLE, which op1 changes (writes TABLE[t.symbol]" in str(together["op0"].state.because)
    assert together["op1"].stateless
    assert str(together["op1"].declared).startswith("declared, ")


def test_facts_are_found_once_for_a_graph() -> None:
    app, a, b = two()
    a.sink(tw.none())
    b.sink(tw.none())
    graph = app.graph()
    assert facts_of(graph) is facts_of(graph)


@dataclass
class Kept:
    count: int
    best: Word
    table: dict[str, int]


def _remembers(t: Any, kept: Any, submit: Any) -> Any:
    kept = Kept(kept.count + 1, Word(t.symbol, max(kept.best.n, t.volume)), {}) if kept else None
    submit(Word(t.symbol, kept.count * 100 + kept.best.n if kept else 0))
    return kept


def _keeps_a_global(t: Any, kept: Any, submit: Any) -> Any:
    kept = Kept(kept.count + 1, kept.best, TABLE)
    kept.table[t.symbol] = t.volume
    return kept


def test_values_in_a_state_are_data() -> None:
    """What is done with it changes at most that state; unless something else was put into it."""
    own = facts(lambda a, b: a.custom(_remembers, Word, by="symbol", name="op"))
    assert (own.state.kind, own.state.by) == ("partitioned", (("symbol",),))
    shared = facts(lambda a, b: a.custom(_keeps_a_global, Word, by="symbol", name="op"))
    assert shared.state.kind == "unknown"


class Sleeper(tw.Operator):
    def __init__(self) -> None:
        self.times: list[Any] = []

    def process(self, t: Any, port: int) -> None:
        self.times.append(t.volume)
        self.sleep_until(min(sorted(self.times)[0], 5) + int(self.times[-1]))

    def on_mark(self, time: int) -> None:
        self.forget()


class OnlySleeps(tw.Operator):
    def process(self, t: Any, port: int) -> None:
        self.sleep_until(t.volume)


def test_a_time_to_sleep_is_state_of_the_key() -> None:
    """Whatever the time is computed from; and an operator that does nothing else is not stateless."""
    for operator in (Sleeper(), OnlySleeps()):
        found = facts(lambda a, b: a.event_time("time").custom(operator, Word, by="symbol", name="op"))
        assert (found.state.kind, found.state.by) == ("partitioned", (("symbol",),))


def test_paths_are_not_hidden_state() -> None:
    """Python's own code makes objects by `object.__new__` and fills them: that is not state of the operator."""
    found = facts(lambda a, b: a.filter(lambda t: (Path("x") / t.symbol).exists(), name="op"))
    assert not found.has(*HIDDEN_STATE)

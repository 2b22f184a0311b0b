"""Graphs in which every operator of the library occurs, over tuples with ties, NaN, out of order and late."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

import thalweg as tw
from tests.properties.strategies import cut_all
from thalweg import agg, window
from thalweg.ir.graph import LogicalGraph


class Row(tw.Tuple):
    i: int
    n: int
    x: float
    d: Decimal
    w: dt.datetime
    k: str

    def later(self) -> int:
        return self.n + 1


def row(index: int) -> Row:
    drawn = random.Random(index * 7919)
    x = drawn.choice([0.5, -0.0, 0.0, 2.5, math.nan, -1.5, 2.5])
    d = drawn.choice([Decimal("1.5"), Decimal("1.50"), Decimal("1") / 3, Decimal("1e-30"), Decimal(2)])
    w = dt.datetime(2024, 1, 1) + dt.timedelta(minutes=index // 3 + drawn.randrange(4))
    return Row(index, index // 4 + drawn.randrange(-2, 3), x, d, w, drawn.choice("ab"))


def graph_of(build: Callable[[tw.Stream], object], count: int = 60, cut: int = 13) -> tuple[LogicalGraph, Any]:
    app = tw.App("definitions")
    build(app.source(tw.beacon(row, count=count), Row, name="rows"))
    graph = app.graph()
    return graph, cut_all(graph, cut)


def keep(*streams: tw.Stream) -> None:
    for number, stream in enumerate(streams):
        stream.sink(tw.collect(), name=f"out{number}")


def odd(stream: tw.Stream) -> tuple[tw.Stream, tw.Stream]:
    """Two streams; the second has other names and, where it has any, an event time of its own."""
    other = stream.filter(lambda t: t.i % 3 == 1, name="other")
    renamed = other.map(lambda t: {"k": t.k, "ri": t.i, "rn": t.n, "rx": t.x, "rd": t.d, "rw": t.w}, name="renamed")
    return stream.filter(lambda t: t.i % 3 != 1, name="one"), renamed


def joined(how: Callable[[tw.Stream, tw.Stream], tw.Stream]) -> Callable[[tw.Stream], None]:
    return lambda s: keep(how(*odd(s)))


def timed(how: Callable[[tw.Stream, tw.Stream], tw.Stream]) -> Callable[[tw.Stream], None]:
    def build(s: tw.Stream) -> None:
        left, right = odd(s)
        made = how(left.event_time("n", lateness=2, name="time"), right.event_time("rn", lateness=1, name="rtime"))
        keep(made, made.late, made.late_other)

    return build


def loop(s: tw.Stream) -> None:
    """The tuples that come back have the class of the loop, and keys act at the end."""
    back = s.app.feedback(Row, immediate=True, name="loop")
    later = back.filter(lambda t: t.later() % 3 != 0, name="later")
    plain = s.map(lambda t: {"i": t.i, "n": t.n, "x": t.x, "d": t.d, "w": t.w, "k": t.k}, name="plain")
    ended = plain.union(later, name="both").custom(Ended(), Row, by="k", name="ended")
    some = ended.filter(lambda t: 0 < t.n < 4, name="some")
    less = some.map(lambda t: {"i": t.i + 9, "n": t.n - 1, "x": t.x, "d": t.d, "w": t.w, "k": t.k}, name="less")
    least = some.map(lambda t: {"i": t.i + 99, "n": t.n - 2, "x": t.x, "d": t.d, "w": t.w, "k": t.k}, name="least")
    less.union(least, name="fed").feed(back, name="feed")
    keep(ended, some)


def loop_of_windows(s: tw.Stream) -> None:
    """A table, windows and a join inside a loop; open windows are closed at the end."""
    back = s.app.feedback(Price, immediate=True, name="loop")
    prices = s.map(lambda t: {"k": t.k, "price": t.n}, name="price").union(back, name="both")
    known = prices.lookup([Rate("a", 2), Rate("a", 3)], Rate, on="k", missing={"rate": 5}, name="known")
    sums = known.aggregate(window.tumbling(count=3, by="k"), k=agg.any("k"), sum=agg.sum("rate"), name="sums")
    halves = sums.flat_map(lambda t: [Price(t.k, t.sum // 2)] if t.sum > 8 else [], Price, name="halves")
    before = halves.join(s.map(lambda t: {"k": t.k, "i": t.i}, name="last"), window.last(1), on="k", name="before")
    passed, fed = before.split(lambda t: t.i % 2, 2, name="parts")
    fed.map(lambda t: Price(t.k, t.price), Price, name="fed").feed(back, name="feed")
    keep(sums, passed)


class Ended(tw.Operator):
    """Emits a tuple at the end; has attributes that the library's operators use for their own purposes."""

    def __init__(self) -> None:
        self.count, self.due = 0, 2**62
        self.last: Any = None

    def is_empty(self) -> bool:
        return self.count == 0

    def process(self, t: Any, port: int) -> None:
        self.count, self.last = self.count + 1, t
        self.submit(Row(t.i, t.n, t.x, t.d, t.w, t.k))

    def on_mark(self, time: int) -> None:
        self.submit(Row(-1, self.count, 0.5, Decimal(time), self.last.w, self.last.k))

    def at_end(self) -> None:
        self.submit(Row(-2, self.count, 0.5, Decimal(0), self.last.w, self.last.k))


class Price(tw.Tuple):
    k: str
    price: int


class Rate(tw.Tuple):
    k: str
    rate: int


PRICES = [Price("a", 3), Price("c", 4), Price("a", 5)]


def total(t: Any, state: list[int], submit: Callable[..., None]) -> list[int] | None:
    submit(Row(sum(state), len(state), t.x, t.d, t.w, t.k))
    if t.n % 2:
        state.append(t.n)
        return state
    return None if t.n % 8 == 0 else [*state[-2:], t.n]


def extend(t: Any, state: list[int], submit: Callable[..., None]) -> None:
    state.append(t.n)
    submit(Row(sum(state), len(state), t.x, t.d, t.w, t.k))


class Sessions(tw.Operator):
    """Sleeps for two from the last tuple of a key, then emits and forgets it."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def process(self, t: Any, port: int) -> None:
        self.rows.append(t)
        if self.now is not None:
            self.sleep_until(self.now + 2)
        if len(self.rows) == 20:
            self.forget()

    def on_mark(self, time: int) -> None:
        self.forget()
        self.submit(self.rows[-1])

    def at_end(self) -> None:
        self.submit(self.rows[0])


def with_late(made: tw.Stream) -> None:
    keep(made, made.late)


def marked(s: tw.Stream) -> tuple[tw.Stream, tw.Stream]:
    left = s.filter(lambda t: t.i % 2 == 0, name="one").punctor(lambda t: t.n % 3 == 0, name="left")
    return left, s.filter(lambda t: t.i % 2 == 1, name="two").punctor(lambda t: t.n % 4 == 0, name="right")


def times(s: tw.Stream) -> tuple[tw.Stream, tw.Stream]:
    left = s.filter(lambda t: t.i % 2 == 0, name="one").event_time("n", lateness=1, name="left")
    return left, s.filter(lambda t: t.i % 2 == 1, name="two").event_time("n", lateness=4, name="right")


def counted(streams: tuple[tw.Stream, tw.Stream]) -> None:
    """A class that acts on the marks of both streams."""
    keep(*tw.operator(Ended(), *streams, into=Row, by="k", name="both"))


def halves(s: tw.Stream) -> tuple[tw.Stream, tw.Stream]:
    return s.filter(lambda t: t.i % 2 == 0, name="one"), s.filter(lambda t: t.i % 2 == 1, name="two")


def met(how: Callable[[tw.Stream, tw.Stream], tw.Stream]) -> Callable[[tw.Stream], None]:
    return lambda s: keep(how(*halves(s)))


def short(table: pa.Table) -> pa.Table:
    """Decimals with few digits, whose Arrow type depends on all rows of the batch."""
    rows = table.to_pydict()
    return pa.table(rows | {"d": [value.normalize() for value in rows["d"]]})


def batches(made: tw.Stream) -> None:
    """Some Decimals have more digits than Arrow's."""
    keep(made, made.dead_letters)


MINUTES = dt.timedelta(minutes=2)
OVER = {
    "running": window.running(by="k"),
    "tumbling": window.tumbling(count=7),
    "sliding": window.sliding(count=4, by="k"),
}
GRAPHS: Mapping[str, Callable[[tw.Stream], None]] = {
    "dedup": lambda s: keep(s.dedup(["k", "x"], name="first")),
    "dedup within": lambda s: with_late(s.event_time("w", name="time").dedup("k", within=MINUTES, name="first")),
    "custom": lambda s: keep(s.custom(total, Row, by="k", state=[], name="total")),
    "custom in place": lambda s: keep(s.custom(extend, Row, by="k", state=[], name="total")),
    "class that forgets": lambda s: keep(s.event_time("n", name="time").custom(Sessions(), Row, by="k", name="ended")),
    "class": lambda s: keep(s.event_time("n", name="time").custom(Ended(), Row, by="k", name="ended")),
    "sort buffer": lambda s: keep(s.sort(("x", "n"), buffer=5, name="sorted")),
    "sort": lambda s: keep(s.sort("x", window=OVER["tumbling"], name="up")),
    "sort descending": lambda s: keep(s.sort(("x", "d"), window=OVER["tumbling"], descending=True, name="down")),
    "sort mixed": lambda s: keep(
        s.sort(("x", "k", "d"), window=OVER["tumbling"], descending=[True, False, True], name="both")
    ),
    "sort buffer mixed": lambda s: keep(s.sort(("x", "n"), buffer=5, descending=[True, False], name="both")),
    "top_k mixed": lambda s: keep(s.top_k(2, ("k", "x"), window=OVER["sliding"], least=[True, False], name="top")),
    "top_k": lambda s: keep(s.top_k(2, "x", window=OVER["running"], name="top")),
    "top_k least": lambda s: keep(s.top_k(3, "d", window=OVER["sliding"], least=True, name="top")),
    "skyline": lambda s: keep(s.skyline(most="x", least="n", window=OVER["tumbling"], name="best")),
    "join": joined(lambda a, b: a.join(b, window.last(3), mine=window.last(2), on="k", name="j")),
    "join all": joined(lambda a, b: a.join(b, window.last(None), mine=window.last(0), on="k", name="j")),
    "join band": joined(
        lambda a, b: a.join(_unkeyed(b), window.last(9), mine=window.last(9), band=("n", "rn", 1), name="j")
    ),
    "join decimals": joined(
        lambda a, b: a.join(_unkeyed(b), window.last(9), band=("d", "rd", Decimal("1.16668")), name="j")
    ),
    "join dates": joined(lambda a, b: a.join(_unkeyed(b), window.last(9), band=("w", "rw", MINUTES), name="j")),
    "join where": joined(
        lambda a, b: a.join(b, window.last(5), on="k", band=("n", "rn", 2), where=lambda t, u: t.x > u.rx, name="j")
    ),
    "join within": timed(lambda a, b: a.join(b, window.within(3), mine=window.within(3), on="k", name="j")),
    "join last within": timed(lambda a, b: a.join(b, window.within(1), mine=window.last(3), on="k", name="j")),
    "join within last": timed(lambda a, b: a.join(b, window.last(3), mine=window.within(1), on="k", name="j")),
    "lookup": lambda s: keep(s.lookup(PRICES, Price, on="k", name="price")),
    "lookup missing": lambda s: keep(s.lookup(PRICES, Price, on="k", missing={"price": 0}, name="price")),
    "merge": met(lambda one, two: one.merge_ordered(two, on="n", name="merged")),
    "merge floats": lambda s: keep(_by_x(s)),
    "barrier": joined(lambda a, b: a.barrier(b, by="k", name="met")),
    "pair": met(lambda one, two: one.pair(two, by="k", name="paired")),
    "event time of two streams": lambda s: counted(times(s)),
    "punctuation of two streams": lambda s: counted(marked(s)),
    "loop": loop,
    "loop of windows": loop_of_windows,
    "random split": lambda s: keep(*s.sort("x", window=OVER["tumbling"], name="up").split_randomly([1, 2], seed=3)),
    "map_batches": lambda s: batches(s.map_batches(lambda table: table, Row, on_error="dead_letter", name="same")),
    "map_batches inferred": lambda s: batches(s.map_batches(short, Row, on_error="dead_letter", name="short")),
}


def _unkeyed(s: tw.Stream) -> tw.Stream:
    return s.map(lambda t: {"ri": t.ri, "rn": t.rn, "rx": t.rx, "rd": t.rd, "rw": t.rw}, name="without_key")


def _by_x(s: tw.Stream) -> tw.Stream:
    """Two sorted streams, with NaN after all numbers."""
    one, two = (half.sort("x", window=window.tumbling(count=100)) for half in halves(s))
    return one.merge_ordered(two, on="x", name="merged")

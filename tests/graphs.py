"""Small hand-written applications that several tests look at."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import thalweg as tw
from thalweg import agg, window
from thalweg.ir.graph import LogicalGraph


class Tick(tw.Tuple):
    kind: str
    symbol: str
    price: float
    volume: int


_SECRETIVE = np.absolute  # code that cannot be read


def bargains() -> LogicalGraph:
    """The paper's example: two filters, an aggregate and a join by the same key."""
    app = tw.App("bargains")
    ticks = app.source(tw.files("ticks"), Tick)
    trades = ticks.filter(lambda t: t.kind == "T")
    quotes = ticks.filter(lambda t: t.kind == "Q")
    vwap = trades.aggregate(
        window.sliding(count=50, by="symbol"),
        symbol=agg.any("symbol"),
        vwap=agg.sum(lambda t: t.price * t.volume) / agg.sum("volume"),
    )
    bargains = (
        quotes.join(vwap, window.last(1, by="symbol"), on="symbol")
        .filter(lambda q: q.vwap > q.price)
        .map(lambda q: {"symbol": q.symbol, "gain": (q.vwap - q.price) * q.volume})
    )
    bargains.sink(tw.collect(), name="out")
    return app.graph()


def stateless() -> LogicalGraph:
    """No state, hence one stage."""
    app = tw.App("stateless")
    ticks = app.source(tw.files("ticks"), Tick)
    priced = ticks.map(lambda t: {"symbol": t.symbol, "value": t.price * t.volume})
    large = priced.filter(lambda t: t.value > 100.0)
    large.sink(tw.collect(), name="out")
    return app.graph()


def two_keys() -> LogicalGraph:
    """The second aggregate needs another key: an exchange must stand between them."""
    app = tw.App("two_keys")
    ticks = app.source(tw.files("ticks"), Tick)
    per_symbol = ticks.aggregate(
        window.running(by="symbol"), symbol=agg.any("symbol"), kind=agg.last("kind"), volume=agg.sum("volume")
    )
    per_kind = per_symbol.aggregate(window.running(by="kind"), kind=agg.any("kind"), most=agg.max("volume"))
    total = per_kind.aggregate(window.running(), most=agg.max("most"))
    total.sink(tw.collect(), name="out")
    return app.graph()


def same_key() -> LogicalGraph:
    """The key is forwarded, through a map as well: both aggregates can share a stage."""
    app = tw.App("same_key")
    ticks = app.source(tw.files("ticks"), Tick)
    sums = ticks.aggregate(window.running(by="symbol"), symbol=agg.any("symbol"), volume=agg.sum("volume"))
    scaled = sums.map(lambda t: {"symbol": t.symbol, "share": t.volume / 100})
    peaks = scaled.aggregate(window.sliding(count=3, by="symbol"), symbol=agg.any("symbol"), peak=agg.max("share"))
    peaks.sink(tw.collect(), name="out")
    return app.graph()


def rekeyed() -> LogicalGraph:
    """The map computes a new symbol: what was partitioned by symbol no longer is."""
    app = tw.App("rekeyed")
    ticks = app.source(tw.files("ticks"), Tick)
    sums = ticks.aggregate(
        window.running(by="symbol"), symbol=agg.any("symbol"), kind=agg.last("kind"), volume=agg.sum("volume")
    )
    renamed = sums.map(lambda t: {"symbol": t.kind, "volume": t.volume})
    again = renamed.aggregate(window.running(by="symbol"), symbol=agg.any("symbol"), volume=agg.sum("volume"))
    again.sink(tw.collect(), name="out")
    return app.graph()


def late_source() -> LogicalGraph:
    """A source declared after operators is still in the first PE, and PEs keep declaration order."""
    app = tw.App("late_source")
    first = app.source(tw.files("a"), Tick)
    trades = first.filter(lambda t: t.kind == "T")
    second = app.source(tw.files("b"), Tick)
    both = trades.union(second)
    both.sink(tw.collect(), name="out")
    return app.graph()


def diamond() -> LogicalGraph:
    """Branches of one stream that meet again, with an aggregate on one of them."""
    app = tw.App("diamond")
    ticks = app.source(tw.files("ticks"), Tick)
    cheap, dear = ticks.split(lambda t: 0 if t.price < 10.0 else 1, 2, name="split")
    volumes = cheap.aggregate(window.running(by="symbol"), symbol=agg.any("symbol"), volume=agg.sum("volume"))
    shrunk = dear.map(lambda t: {"symbol": t.symbol, "volume": t.volume})
    both = volumes.union(shrunk)
    both.sink(tw.collect(), name="out")
    both.filter(lambda t: t.volume > 5, name="large").sink(tw.collect(), name="out_large")
    return app.graph()


def unknown() -> LogicalGraph:
    """An operator of which nothing can be known: it calls what it is given from outside."""
    app = tw.App("unknown")
    numbers = app.source(tw.files("in", format="parquet"), Tick, name="numbers")
    odd = numbers.filter(lambda t: bool(_SECRETIVE(t.volume)), name="odd")
    odd.sink(tw.collect(), name="out")
    return app.graph()


GRAPHS: dict[str, Callable[[], LogicalGraph]] = {
    f.__name__: f for f in (bargains, stateless, two_keys, same_key, rekeyed, late_source, diamond)
}


def nested_keys() -> LogicalGraph:
    """The second key is a part of the first."""
    app = tw.App("nested_keys")
    ticks = app.source(tw.files("ticks"), Tick)
    fine = ticks.aggregate(
        window.running(by=("symbol", "kind")), symbol=agg.any("symbol"), kind=agg.any("kind"), volume=agg.sum("volume")
    )
    coarse = fine.aggregate(window.running(by="symbol"), symbol=agg.any("symbol"), most=agg.max("volume"))
    coarse.sink(tw.collect(), name="out")
    return app.graph()


def picking() -> LogicalGraph:
    """A filter whose tuples are routed by key, and state with the same key after it."""
    app = tw.App("picking")
    ticks = app.source(tw.files("ticks"), Tick)
    picked = ticks.filter(lambda t: t.price > 0).parallel(key="symbol")
    sums = picked.aggregate(window.running(by="symbol"), n=agg.count())
    sums.sink(tw.collect(), name="out")
    return app.graph()


def asking() -> LogicalGraph:
    """State for which the user asked for three channels."""
    app = tw.App("asking")
    ticks = app.source(tw.files("ticks"), Tick)
    sums = ticks.aggregate(window.running(by="symbol"), n=agg.count()).parallel(3)
    sums.sink(tw.collect(), name="out")
    return app.graph()


def wishing() -> LogicalGraph:
    """An operator with a PE of its own, and two that share one."""
    app = tw.App("wishing")
    ticks = app.source(tw.files("ticks"), Tick)
    mapped = ticks.map(lambda t: {"price": t.price * 2}).isolate()
    picked = mapped.filter(lambda t: t.price > 0)
    doubled = picked.map(lambda t: {"price": t.price * 2}).fuse_with(picked)
    doubled.sink(tw.collect(), name="out")
    return app.graph()


PLANNED = GRAPHS | {f.__name__: f for f in (unknown, nested_keys, picking, asking, wishing)}

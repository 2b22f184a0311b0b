"""The bargains kernel: its ticks, Thalweg's form of it, and a plain Python loop that is also the reference.

Trades make the volume-weighted average price (VWAP) of their symbol, over all of its trades so far or over its last
`window` ones; a quote below its symbol's last VWAP is a bargain.
"""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from make_ticks import tick_table

import thalweg as tw
from thalweg import agg, window
from thalweg.endpoints.collect import Collect
from thalweg.endpoints.files import Files

COLUMNS = ("kind", "symbol", "price", "volume")
Bargain = tuple[str, float, float, float]  # symbol, vwap, price, gain
Lists = Sequence[list[object]]


class Tick(tw.Tuple):
    kind: str
    symbol: str
    price: float
    volume: int


def make_app(folder: Path, last: int | None, sink: Files | Collect, app: tw.App | None = None) -> tw.App:
    """`last`: how many trades the VWAP takes; None: all so far. `app`: of a module that has parameters."""
    app = app or tw.App("bargains")
    by_symbol = window.running(by="symbol") if last is None else window.sliding(count=last, by="symbol")
    ticks = app.source(tw.files(folder, format="parquet"), Tick)
    trades = ticks.filter(lambda t: t.kind == "T")
    quotes = ticks.filter(lambda t: t.kind == "Q")
    vwap = trades.aggregate(
        by_symbol,
        symbol=agg.any("symbol"),
        vwap=agg.sum(lambda t: t.price * t.volume) / agg.sum("volume"),
    )
    bargains = (
        quotes.join(vwap, window.last(1, by="symbol"), on="symbol")
        .filter(lambda q: q.vwap > q.price)
        .map(lambda q: {"symbol": q.symbol, "vwap": q.vwap, "price": q.price, "gain": (q.vwap - q.price) * q.volume})
    )
    bargains.sink(sink, name="found")
    return app


def python_loop(lists: Lists, last: int | None) -> list[Bargain]:
    """What one writes without any library, and with some care: sums are carried, nothing is summed twice."""
    return _loop_running(lists) if last is None else _loop_sliding(lists, last)


def _loop_running(lists: Lists) -> list[Bargain]:
    sums: dict[str, tuple[float, int]] = {}
    found: list[Bargain] = []
    kind: str
    symbol: str
    price: float
    volume: int
    for kind, symbol, price, volume in zip(*lists, strict=True):
        if kind == "T":
            spent, traded = sums.get(symbol, (0.0, 0))
            sums[symbol] = spent + price * volume, traded + volume
        elif symbol in sums:
            spent, traded = sums[symbol]
            vwap = spent / traded
            if vwap > price:
                found.append((symbol, vwap, price, (vwap - price) * volume))
    return found


class _Held:
    """The trades of one symbol's window and their sums."""

    __slots__ = ("spent", "traded", "trades")

    def __init__(self) -> None:
        self.trades: deque[tuple[float, int]] = deque()
        self.spent, self.traded = 0.0, 0


def _loop_sliding(lists: Lists, last: int) -> list[Bargain]:
    windows: dict[str, _Held] = {}
    found: list[Bargain] = []
    kind: str
    symbol: str
    price: float
    volume: int
    for kind, symbol, price, volume in zip(*lists, strict=True):
        held = windows.get(symbol)
        if kind == "T":
            if held is None:
                held = windows[symbol] = _Held()
            if len(held.trades) == last:
                spent, traded = held.trades.popleft()
                held.spent -= spent
                held.traded -= traded
            held.trades.append((price * volume, volume))
            held.spent += price * volume
            held.traded += volume
        elif held is not None:
            vwap = held.spent / held.traded
            if vwap > price:
                found.append((symbol, vwap, price, (vwap - price) * volume))
    return found


def write_ticks(folder: Path, files: int, rows: int) -> None:
    """Seeded ticks with a sequence number, which only contenders that lose the order need.

    Spark's file source takes files by time stamp, so each file gets its own.
    """
    folder.mkdir(parents=True)
    now = time.time_ns()
    for index in range(files):
        table = tick_table(rows, seed=index)
        table = table.append_column("seq", pa.array(np.arange(index * rows, (index + 1) * rows)))
        file = folder / f"ticks-{index:03d}.parquet"
        pq.write_table(table, file)
        stamp = now - (files - index) * 1_000_000_000
        os.utime(file, ns=(stamp, stamp))


def read_lists(folder: Path) -> Lists:
    table = pq.read_table(folder, columns=list(COLUMNS))
    return [column.to_pylist() for column in table.columns]


def read_bargains(folder: Path) -> list[Bargain]:
    """What a contender wrote: Parquet files with the four columns."""
    files = sorted(f for f in folder.glob("*.parquet") if f.stat().st_size)
    tables = [pq.read_table(f, columns=["symbol", "vwap", "price", "gain"]) for f in files]
    return [row for t in tables for row in zip(*(c.to_pylist() for c in t.columns), strict=True)]


def disagreement(found: Iterable[Bargain], expected: Iterable[Bargain]) -> str | None:
    """The first difference between two sets of bargains that is more than rounding, or None."""
    ours, theirs = (sorted(bargains, key=lambda b: (b[0], b[2])) for bargains in (found, expected))
    if len(ours) != len(theirs):
        return f"{len(ours):,} bargains instead of {len(theirs):,}"
    for a, b in zip(ours, theirs, strict=True):
        if a[0] != b[0] or not all(
            math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9) for x, y in zip(a[1:], b[1:], strict=True)
        ):
            return f"{a} instead of {b}"
    return None

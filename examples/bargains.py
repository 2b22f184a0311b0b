"""Bargains: quotes below the volume-weighted average price (VWAP) of the symbol's last 50 trades.

    thalweg run examples/bargains.py --degree 2
    python examples/check_bargains.py                 (compare with an independent implementation)

At the first start, make_ticks.py makes seeded ticks in examples/data/ticks.
"""

from pathlib import Path

from make_ticks import make_ticks

import thalweg as tw
from thalweg import agg, window


class Tick(tw.Tuple):
    kind: str  # "T" for a trade, "Q" for a quote
    symbol: str
    price: float
    volume: int


TICKS = Path(__file__).parent / "data" / "ticks"
if not TICKS.exists():
    make_ticks(TICKS)

app = tw.App("bargains")

ticks = app.source(tw.files(TICKS, format="parquet"), Tick)
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
    .map(lambda q: {"symbol": q.symbol, "price": q.price, "vwap": q.vwap, "gain": (q.vwap - q.price) * q.volume})
)
bargains.sink(tw.collect(), name="found")

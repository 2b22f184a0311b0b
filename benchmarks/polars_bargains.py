"""Bargains by hand in Polars: one batch, all data in memory. Not a streaming program, but a bound for one.

python benchmarks/polars_bargains.py FOLDER OUT [--window N]: each form reads, computes and writes twice; the least
of the second times is printed, in seconds. A process of its own, because the number of threads is fixed when Polars
is loaded.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl


def read(folder: Path) -> Any:
    """Lazily; symbols as codes."""
    return pl.scan_parquet(folder / "*.parquet").with_columns(pl.col("symbol").cast(pl.Categorical))


def as_of(ticks: Any, last: int | None) -> Any:
    """The VWAP of each trade; each quote looks up the last one."""
    spent, traded = pl.col("price") * pl.col("volume"), pl.col("volume")
    if last is None:
        sums = spent.cum_sum(), traded.cum_sum()
    else:
        sums = spent.rolling_sum(last, min_samples=1), traded.rolling_sum(last, min_samples=1)
    vwap = sums[0].over("symbol") / sums[1].over("symbol")
    trades = ticks.filter(pl.col("kind") == "T").select("seq", "symbol", vwap=vwap)
    quotes = ticks.filter(pl.col("kind") == "Q")
    return _lower(quotes.join_asof(trades, on="seq", by="symbol", check_sortedness=False))


def cumulative(ticks: Any, last: int | None) -> Any:
    """Without a join: quotes count as nothing in the sums that go over both. Only for the running form."""
    assert last is None
    trade = pl.col("kind") == "T"
    spent = pl.when(trade).then(pl.col("price") * pl.col("volume")).otherwise(0.0)
    traded = pl.when(trade).then(pl.col("volume")).otherwise(0)
    sums = ticks.with_columns(spent=spent.cum_sum().over("symbol"), traded=traded.cum_sum().over("symbol"))
    quotes = sums.filter(~trade & (pl.col("traded") > 0))
    return _lower(quotes.with_columns(vwap=pl.col("spent") / pl.col("traded")))


def _lower(joined: Any) -> Any:
    gain = (pl.col("vwap") - pl.col("price")) * pl.col("volume")
    return joined.filter(pl.col("vwap") > pl.col("price")).select(
        pl.col("symbol").cast(pl.String), "vwap", "price", gain=gain
    )


def forms(last: int | None) -> dict[str, Callable[[Any, int | None], Any]]:
    """Neither of the two was reliably faster when they were compared, so both are run and the better one counts."""
    return {"as-of": as_of, "cumulative": cumulative} if last is None else {"as-of": as_of}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--window", type=int)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    times: list[float] = []
    for form in forms(options.window).values():
        for _ in range(2):
            began = time.perf_counter()
            found = form(read(options.folder), options.window).collect()
            found.write_parquet(options.out / "found.parquet", compression="snappy")
            seconds = time.perf_counter() - began
        times.append(seconds)
    print(min(times))


if __name__ == "__main__":
    main()

"""Bargains in plain PySpark, as a user who knows the engine writes it: a state per symbol, vectorized where possible.

Behind a shuffle rows arrive in any order, so every form needs the column `seq`, and sorts by it within its group.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

INPUT = "kind string, symbol string, price double, volume bigint, seq bigint"
OUTPUT = "symbol string, vwap double, price double, gain double"
STATE_RUNNING = "spent double, traded double"
# Packed float64, because applyInPandasWithState of 4.3.0 fails with array<double> (KeyError: 'elementType').
STATE_SLIDING = "spent binary, traded binary"

Numbers = npt.NDArray[np.float64]
Held = tuple[Any, Any]  # the state of a symbol: two sums, or the window's trades, packed
Body = Callable[[str, Iterator[pd.DataFrame], Held | None, int | None], tuple[Any, Held]]


def state_schema(last: int | None) -> str:
    return STATE_RUNNING if last is None else STATE_SLIDING


def bargains_of(symbol: str, parts: Iterator[pd.DataFrame], held: Held | None, last: int | None) -> tuple[Any, Held]:
    """A symbol's bargains in an epoch, and its state afterwards. NumPy throughout: most groups are a few dozen rows."""
    frames = list(parts)
    rows = frames[0] if len(frames) == 1 else pd.concat(frames)
    order = np.argsort(rows["seq"].to_numpy())
    trade, price, volume = (rows[name].to_numpy()[order] for name in ("trade", "price", "volume"))
    sums = running_sums if last is None else sliding_sums
    spent, traded, new = sums(held, trade, price * volume, volume.astype(np.float64), last or 0)
    with np.errstate(invalid="ignore"):  # no trade yet: 0 / 0, which is not a bargain
        vwap = spent / traded
    at = np.flatnonzero(~trade & (vwap > price))
    vwap, price = vwap[at], price[at]
    gain = (vwap - price) * volume[at]
    return pd.DataFrame({"symbol": symbol, "vwap": vwap, "price": price, "gain": gain}), new


def running_sums(
    held: Held | None, trade: npt.NDArray[np.bool_], spent: Numbers, traded: Numbers, last: int
) -> tuple[Numbers, Numbers, Held]:
    before = held or (0.0, 0.0)
    spent = before[0] + np.cumsum(np.where(trade, spent, 0.0))
    traded = before[1] + np.cumsum(np.where(trade, traded, 0.0))
    return spent, traded, (float(spent[-1]), float(traded[-1]))


def sliding_sums(
    held: Held | None, trade: npt.NDArray[np.bool_], spent: Numbers, traded: Numbers, last: int
) -> tuple[Numbers, Numbers, Held]:
    """Differences of cumulative sums; the state is the window's trades, oldest first."""
    before = [np.frombuffer(packed) for packed in held or (b"", b"")]
    stop = len(before[0]) + np.cumsum(trade)  # trades seen up to each row
    start = np.maximum(stop - last, 0)
    results: list[Numbers] = []
    new: list[bytes] = []
    for old, values in zip(before, (spent, traded), strict=True):
        known = np.concatenate([old, values[trade]])
        total = np.concatenate([[0.0], np.cumsum(known)])
        results.append(total[stop] - total[start])
        new.append(known[-last:].tobytes())
    return results[0], results[1], (new[0], new[1])


def bargains_in_pandas(
    symbol: str, parts: Iterator[pd.DataFrame], held: Held | None, last: int | None
) -> tuple[Any, Held]:
    """The same in pandas' own words, as its documentation teaches them: columns, masks, `cumsum` and `rolling`."""
    rows = pd.concat(parts).sort_values("seq", ignore_index=True)
    trades = rows[rows["trade"]]
    new = pd.DataFrame({"spent": trades["price"] * trades["volume"], "traded": trades["volume"].astype(float)})
    if last is None:
        before = pd.Series(held or (0.0, 0.0), index=["spent", "traded"])
        sums, after = before + new.cumsum(), before + new.sum()
        kept: Held = (float(after["spent"]), float(after["traded"]))
    else:
        old = pd.DataFrame(dict(zip(new, map(np.frombuffer, held or (b"", b"")), strict=True)))
        known = pd.concat([old.set_axis(old.index - len(old)), new])
        before = old.sum()
        sums = known.rolling(last, min_periods=1).sum().loc[new.index]
        kept = tuple(known[name].tail(last).to_numpy().tobytes() for name in known)
    so_far = before["spent"] / before["traded"] if before["traded"] else np.nan
    rows["vwap"] = (sums["spent"] / sums["traded"]).reindex(rows.index).ffill().fillna(so_far)
    found = rows[~rows["trade"] & (rows["vwap"] > rows["price"])]
    found = found.assign(symbol=symbol, gain=(found["vwap"] - found["price"]) * found["volume"])
    return found[["symbol", "vwap", "price", "gain"]], kept


def apply_in_pandas(rows: DataFrame, last: int | None, body: Body = bargains_of) -> DataFrame:
    def step(key: Any, parts: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        found, new = body(key[0], parts, state.getOption, last)
        state.update(new)
        if len(found):
            yield found

    return rows.groupBy("symbol").applyInPandasWithState(
        step, OUTPUT, state_schema(last), "append", GroupStateTimeout.NoTimeout
    )


class InPandas(StatefulProcessor):
    def __init__(self, last: int | None) -> None:
        self.last = last

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.state = handle.getValueState("held", state_schema(self.last))

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        found, new = bargains_of(key[0], rows, self.state.get(), self.last)
        self.state.update(new)
        if len(found):
            yield found

    def close(self) -> None:
        pass


class InRows(StatefulProcessor):
    """Rows come one by one, so the body is a loop."""

    def __init__(self, last: int | None) -> None:
        self.last = last

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.state = handle.getValueState("held", state_schema(self.last))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        step = self._running if self.last is None else self._sliding
        yield from step(key[0], sorted(rows, key=lambda row: row.seq))

    def _running(self, symbol: str, rows: list[Row]) -> Iterator[Row]:
        spent, traded = self.state.get() or (0.0, 0.0)
        for _, trade, price, volume, _ in rows:
            if trade:
                spent += price * volume
                traded += volume
            elif traded and (vwap := spent / traded) > price:
                yield Row(symbol=symbol, vwap=vwap, price=price, gain=(vwap - price) * volume)
        self.state.update((spent, traded))

    def _sliding(self, symbol: str, rows: list[Row]) -> Iterator[Row]:
        assert self.last is not None
        spent, traded = (np.frombuffer(packed).tolist() for packed in self.state.get() or (b"", b""))
        spent_sum, traded_sum = sum(spent), sum(traded)
        for _, trade, price, volume, _ in rows:
            if trade:
                spent.append(price * volume)
                traded.append(float(volume))
                old = len(spent) - 1 - self.last
                spent_sum += spent[-1] - (spent[old] if old >= 0 else 0.0)
                traded_sum += traded[-1] - (traded[old] if old >= 0 else 0.0)
            elif traded and (vwap := spent_sum / traded_sum) > price:
                yield Row(symbol=symbol, vwap=vwap, price=price, gain=(vwap - price) * volume)
        self.state.update((np.array(spent[-self.last :]).tobytes(), np.array(traded[-self.last :]).tobytes()))

    def close(self) -> None:
        pass


def transform_in_pandas(rows: DataFrame, last: int | None) -> DataFrame:
    return rows.groupBy("symbol").transformWithStateInPandas(InPandas(last), OUTPUT, "append", "none")


def transform_in_rows(rows: DataFrame, last: int | None) -> DataFrame:
    return rows.groupBy("symbol").transformWithState(InRows(last), OUTPUT, "append", "none")


FORMS: dict[str, Callable[[DataFrame, int | None], DataFrame]] = {
    "applyInPandasWithState": apply_in_pandas,
    "applyInPandasWithState, in pandas": functools.partial(apply_in_pandas, body=bargains_in_pandas),
    "transformWithStateInPandas": transform_in_pandas,
    "transformWithState": transform_in_rows,
}


def start(
    spark: SparkSession, form: str, folder: Path, files: int, last: int | None, out: Path, checkpoint: Path
) -> StreamingQuery:
    """From Spark's file source to its exactly-once Parquet sink, `files` files per epoch."""
    ticks = spark.readStream.schema(INPUT).option("maxFilesPerTrigger", files).parquet(str(folder))
    # A flag instead of a string: what a careful user sends through a shuffle.
    rows = ticks.select("symbol", (f.col("kind") == "T").alias("trade"), "price", "volume", "seq")
    writer = FORMS[form](rows, last).writeStream.format("parquet").option("path", str(out))
    return writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()

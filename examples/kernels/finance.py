"""Finance (Schneider et al., Figure 11): trades become moving averages, quotes are projected, both are combined in the
order of their times, and quotes below the average of their symbol are bargains."""

from collections.abc import Callable

import thalweg as tw
from thalweg import agg, window


class Trade(tw.Tuple):
    time: int
    symbol: str
    price: float
    volume: int


class Quote(tw.Tuple):
    time: int
    symbol: str
    bid: float
    ask: float


class Event(tw.Tuple):
    time: int
    symbol: str
    average: float
    ask: float


class Bargain(tw.Tuple):
    time: int
    symbol: str
    gain: float


def trade(number: int) -> Trade:
    return Trade(2 * number, f"S{number * 7 % 31}", 100.0 + number * 13 % 17, 10 + number % 5)


def quote(number: int) -> Quote:
    return Quote(2 * number + 1, f"S{number * 5 % 31}", 98.0 + number * 11 % 19, 99.0 + number * 11 % 19)


app = tw.App("finance")
trades = app.source(tw.beacon(trade, count=3_000), Trade)
quotes = app.source(tw.beacon(quote, count=3_000), Quote)
averages = trades.aggregate(
    window.sliding(count=20, by="symbol"),
    time=agg.last("time"),
    symbol=agg.any("symbol"),
    average=agg.sum(lambda t: t.price * t.volume) / agg.sum("volume"),
)
vwap = averages.map(lambda a: {"time": a.time, "symbol": a.symbol, "average": a.average, "ask": 0.0}, Event)
project = quotes.map(lambda q: {"time": q.time, "symbol": q.symbol, "average": 0.0, "ask": q.ask}, Event)
combine = vwap.merge_ordered(project, on="time")


def bargains_of(event: Event, state: dict[str, float], submit: Callable[[Bargain], None]) -> None:
    if event.average > 0:
        state["average"] = event.average
    elif state.get("average", 0.0) > event.ask:
        submit(Bargain(event.time, event.symbol, state["average"] - event.ask))


bargains = combine.custom(bargains_of, Bargain, by="symbol", state={})
bargains.sink(tw.collect(), name="found")

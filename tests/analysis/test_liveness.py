"""Live attributes: only needed attributes are read from files or sent, and none is missing on any path."""

from __future__ import annotations

from typing import Any

import thalweg as tw
from tests.graphs import Tick, bargains
from thalweg import agg, window
from thalweg.analysis.liveness import live_attributes
from thalweg.ir.graph import LogicalGraph


def live(graph: LogicalGraph, **options: Any) -> dict[str, str]:
    return {str(s): " ".join(names) for s, names in live_attributes(graph, **options).items()}


def test_bargains() -> None:
    assert live(bargains()) == {
        "ticks": "kind symbol price volume",
        "trades": "symbol price volume",
        "quotes": "symbol price volume",
        "vwap": "symbol vwap",
        "bargains.join": "symbol price volume vwap",
        "bargains.filter": "symbol price volume vwap",
        "bargains": "symbol gain",
    }


def mapped(function: Any) -> LogicalGraph:
    """A map with the fields a and b; only a is used after it."""
    app = tw.App("mapped")
    ticks = app.source(tw.files("ticks"), Tick)
    both = ticks.map(function, name="both")
    both.map(lambda t: {"a": t.a}, name="one").sink(tw.collect())
    return app.graph()


def test_a_dead_field_is_not_computed() -> None:
    graph = mapped(lambda t: {"a": t.price, "b": t.symbol})
    assert live(graph)["ticks"] == "price"


def test_a_dead_field_that_could_raise_is_computed() -> None:
    graph = mapped(lambda t: {"a": t.symbol, "b": t.price / t.volume})
    assert live(graph)["ticks"] == "symbol price volume"


def test_where_a_kernel_may_fall_back_the_whole_function_can_be_called() -> None:
    """`price > volume` is left to Python beyond 2**53, and Python's lambda then reads the symbol as well."""
    graph = mapped(lambda t: {"a": t.price > t.volume, "b": t.symbol})
    assert live(graph)["ticks"] == "symbol price volume"


def test_by_rows_every_function_is_called_as_a_whole() -> None:
    graph = mapped(lambda t: {"a": t.price, "b": t.symbol})
    assert live(graph, by_rows=True)["ticks"] == "symbol price"


def test_an_opaque_function_may_read_everything() -> None:
    app = tw.App("opaque")
    ticks = app.source(tw.files("ticks"), Tick)
    ticks.filter(lambda t: print(t.symbol) is None, name="long").map(lambda t: {"p": t.price}).sink(tw.collect())
    assert live(app.graph())["ticks"] == "kind symbol price volume"
    assert live(app.graph())["long"] == "price"


def test_an_aggregate_needs_its_key_and_its_arguments() -> None:
    app = tw.App("aggregate")
    ticks = app.source(tw.files("ticks"), Tick)
    ticks.aggregate(window.running(by="kind"), total=agg.sum("volume")).sink(tw.collect())
    assert live(app.graph())["ticks"] == "kind volume"


def test_a_stream_of_positions_only() -> None:
    """Counting without a key reads no attribute at all."""
    app = tw.App("count")
    ticks = app.source(tw.files("ticks"), Tick)
    ticks.aggregate(window.running(), n=agg.count()).sink(tw.collect())
    assert live(app.graph())["ticks"] == ""

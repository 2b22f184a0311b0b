"""Applications in which one operator fails on the tuples whose x is 0: one application for each kind of operator."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import thalweg as tw
from thalweg import agg, window


class Item(tw.Tuple):
    k: int
    x: int
    y: float
    s: str


class Made(tw.Tuple):
    k: int
    v: int


class Name(tw.Tuple):
    x: int
    n: str


def hard(t: Any) -> int:
    """It calls what no kernel has, and fails if x is 0."""
    return int((zlib.crc32(t.s.encode()) % 8) // t.x)


def made(t: Any) -> dict[str, Any]:
    return {"k": t.k, "v": hard(t)}


def twice(t: Any) -> Iterable[dict[str, Any]]:
    return [{"k": t.k, "v": hard(t)}, {"k": t.k, "v": 1}]


def batch(table: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pa.table({"k": table["k"], "v": pc.divide_checked(table["k"], table["x"])})


def batch_that_names_rows(table: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    zeros = pc.indices_nonzero(pc.equal(table["x"], 0))
    if len(zeros):
        raise tw.FailedRows(zeros.to_numpy(), "x is zero")
    return pa.table({"k": table["k"], "v": pc.divide_checked(table["k"], table["x"])})


def counted(t: Any, state: int, submit: Callable[..., None]) -> int:
    submit({"k": t.k, "v": state // t.x})
    return state + 1


class Counter(tw.Operator):
    def __init__(self) -> None:
        self.seen = 0

    def process(self, item: Any, port: int) -> None:
        self.seen += 1
        self.submit({"k": item.k, "v": self.seen // item.x})


class Plain(tw.Operator):
    def process(self, item: Any, port: int) -> None:
        self.submit({"k": item.k, "v": item.k // item.x})


def applied(items: list[Any]) -> Iterable[dict[str, Any]]:
    return [{"k": items[-1].k, "v": 1 // items[-1].x}]


def chain(stream: tw.Stream, policy: str) -> list[tw.Stream]:
    failing = (
        stream.filter(lambda t: t.y >= 0.0)
        .map(lambda t: {"k": t.k, "x": t.x, "z": t.y * 2})
        .map(lambda t: {"k": t.k, "v": 100 // t.x}, Made, on_error=policy)
    )
    return [failing, failing.filter(lambda t: t.v >= 0)]


Form = Callable[[tw.Stream, str], tw.Stream | Iterable[tw.Stream]]

OPERATORS: dict[str, Form] = {
    "map, readable": lambda s, p: s.map(lambda t: {"k": t.k, "v": 100 // t.x}, Made, on_error=p),
    "map, opaque": lambda s, p: s.map(made, Made, on_error=p),
    "map of text, readable": lambda s, p: s.map(lambda t: {"k": t.k, "v": len(t.s.upper()) // t.x}, Made, on_error=p),
    "chain of four, readable": chain,
    "filter, readable": lambda s, p: s.filter(lambda t: 100 // t.x > 1, on_error=p),
    "filter, opaque": lambda s, p: s.filter(lambda t: hard(t) >= 0, on_error=p),
    "flat_map": lambda s, p: s.flat_map(twice, Made, on_error=p),
    "split, readable": lambda s, p: s.split(lambda t: 100 // t.x % 2, 2, on_error=p),
    "split, opaque": lambda s, p: s.split(lambda t: hard(t) % 2, 2, on_error=p),
    "map_batches": lambda s, p: s.map_batches(batch, Made, on_error=p),
    "map_batches, rows named": lambda s, p: s.map_batches(batch_that_names_rows, Made, on_error=p),
    "punctor, readable": lambda s, p: s.punctor(lambda t: 100 // t.x > 90, on_error=p),
    "punctor, opaque": lambda s, p: s.punctor(lambda t: hard(t) > 6, on_error=p),
    "running aggregate, readable": lambda s, p: s.aggregate(
        window.running(by="k"), k=agg.any("k"), v=agg.sum(lambda t: 100 // t.x), on_error=p
    ),
    "running aggregate, its field": lambda s, p: s.aggregate(
        window.running(by="k"), k=agg.any("k"), v=agg.sum("x") / agg.last("x"), on_error=p
    ),
    "tumbling aggregate, readable": lambda s, p: s.aggregate(
        window.tumbling(count=10, by="k"), k=agg.any("k"), v=agg.sum(lambda t: 100 // t.x), on_error=p
    ),
    "sliding aggregate, readable": lambda s, p: s.aggregate(
        window.sliding(count=10, by="k"), k=agg.any("k"), v=agg.sum(lambda t: 100 // t.x), on_error=p
    ),
    "event-time aggregate": lambda s, p: s.event_time("k").aggregate(
        window.tumbling(time=100), v=agg.sum(lambda t: 100 // t.x), on_error=p
    ),
    "apply": lambda s, p: s.apply(window.sliding(count=3), applied, Made, on_error=p),
    "join where": lambda s, p: s.join(
        s.map(lambda t: {"k": t.k, "z": t.x}), window.last(1, by="k"), on="k", where=lambda a, b: 1 // a.x, on_error=p
    ),
    "custom": lambda s, p: s.custom(counted, Made, by="k", state=0, on_error=p),
    "operator with state": lambda s, p: s.custom(Counter(), Made, by="k", on_error=p),
    "operator without state": lambda s, p: tw.operator(Plain(), s, into=Made, on_error=p),
}


def application(folder: Path, form: Form, policy: str) -> tw.App:
    """The application of one form; its result and its dead letters are only counted."""
    app = tw.App("failing")
    found = form(app.source(tw.files(folder), Item, name="items"), policy)
    streams = [found] if isinstance(found, tw.Stream) else list(found)
    for number, stream in enumerate(streams):
        stream.sink(tw.none(), name=f"out{number}")
    if policy == "dead_letter":
        streams[0].dead_letters.sink(tw.none(), name="letters")
    return app

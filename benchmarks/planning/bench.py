"""How long planning takes, by the number of operators: from a graph to a verified plan, in several shapes; and, with
`built`, from nothing to a verified plan, of operators without names.

python -m benchmarks.planning.bench [SIZE …] [--shape NAME]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import thalweg as tw
from thalweg import agg, window
from thalweg.ir.graph import LogicalGraph
from thalweg.optimize.passes import make_plan

SIZES = (1_000, 2_000, 5_000, 10_000)


class Row(tw.Tuple):
    k: str
    n: int
    v: float


def _rows() -> tuple[tw.App, tw.Stream]:
    app = tw.App("planned")
    return app, app.source(tw.files("rows"), Row, name="rows")


def chain(operators: int) -> LogicalGraph:
    """Maps, one after the other."""
    app, stream = _rows()
    for number in range(operators):
        stream = stream.map(lambda t: {"k": t.k, "n": t.n + 1, "v": t.v}, name=f"map{number}")
    stream.sink(tw.none(), name="out")
    return app.graph()


def fan(operators: int) -> LogicalGraph:
    """One stream into many filters, all of which meet in a union."""
    app, stream = _rows()
    parts = [stream.filter(lambda t: t.n > 0, name=f"filter{number}") for number in range(operators)]
    parts[0].union(*parts[1:], name="together").sink(tw.none(), name="out")
    return app.graph()


def keyed(operators: int) -> LogicalGraph:
    """Aggregates, by another key than the one before: an exchange before each."""
    app, stream = _rows()
    for number in range(operators):
        by = "kn"[number % 2]
        stream = stream.aggregate(
            window.running(by=by), name=f"sum{number}", k=agg.last("k"), n=agg.last("n"), v=agg.sum("v")
        )
    stream.sink(tw.none(), name="out")
    return app.graph()


def same_key(operators: int) -> LogicalGraph:
    """Aggregates by the same key: all in one PE."""
    app, stream = _rows()
    for number in range(operators):
        stream = stream.aggregate(
            window.running(by="k"), name=f"sum{number}", k=agg.any("k"), n=agg.last("n"), v=agg.sum("v")
        )
    stream.sink(tw.none(), name="out")
    return app.graph()


def ladder(operators: int) -> LogicalGraph:
    """Diamonds, one after the other: two filters of a stream, and their union."""
    app, stream = _rows()
    for number in range(operators // 3):
        left = stream.filter(lambda t: t.n > 0, name=f"left{number}")
        right = stream.filter(lambda t: t.v > 0, name=f"right{number}")
        stream = left.union(right, name=f"both{number}")
    stream.sink(tw.none(), name="out")
    return app.graph()


def branches(operators: int) -> LogicalGraph:
    """One stream into many aggregates by key, each with a map and a sink of its own."""
    app, stream = _rows()
    for number in range(operators // 3):
        summed = stream.aggregate(window.running(by="k"), name=f"sum{number}", k=agg.any("k"), v=agg.sum("v"))
        summed.map(lambda t: {"v": t.v}, name=f"map{number}").sink(tw.none(), name=f"out{number}")
    return app.graph()


def taps(operators: int) -> LogicalGraph:
    """A chain of filters, and a union at the end that takes every one of its streams."""
    app, stream = _rows()
    streams = [stream]
    for number in range(operators):
        streams.append(streams[-1].filter(lambda t: t.n > 0, name=f"filter{number}"))
    streams[0].union(*streams[1:], name="all").sink(tw.none(), name="out")
    return app.graph()


def built(operators: int) -> LogicalGraph:
    """Maps, one after the other, which get their names and read their functions from the program."""
    app, stream = _rows()
    for _ in range(operators):
        stream = stream.map(lambda t: {"k": t.k, "n": t.n + 1, "v": t.v})
    stream.sink(tw.none())
    return app.graph()


SHAPES: dict[str, Callable[[int], LogicalGraph]] = {
    shape.__name__: shape for shape in (chain, fan, keyed, same_key, ladder, branches, taps, built)
}
WITH_BUILDING = ("built",)  # shapes whose time begins before the graph is built


def seconds(shape: str, size: int) -> float:
    started = time.perf_counter()
    graph = SHAPES[shape](size)
    begun = started if shape in WITH_BUILDING else time.perf_counter()
    make_plan(graph, degree=2)
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--shape", choices=SHAPES, action="append")
    options = parser.parse_args()
    print(f"{'seconds for':<12}" + "".join(f"{size:>10,}" for size in options.sizes) + "  operators")
    for name in options.shape or SHAPES:
        times = [seconds(name, size) for size in options.sizes]
        print(f"{name:<12}" + "".join(f"{spent:>10.2f}" for spent in times), flush=True)


if __name__ == "__main__":
    main()

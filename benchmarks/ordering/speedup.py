"""Two channels against one in the local engine, with growing work per tuple."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.harness import Measured, interleaved

import thalweg as tw
from thalweg.engine.inputs.cutter import EpochCutter
from thalweg.engine.local.parallel import ParallelEngine
from thalweg.engine.local.pool import Pool
from thalweg.engine.local.serial import LocalEngine
from thalweg.engine.storage.log import Epoch, InputLog
from thalweg.optimize.passes import make_plan
from thalweg.runtime.columns import to_list

STEPS = (0, 10, 100, 1000)
CHANNELS = 2


class Item(tw.Tuple):
    k: int
    j: int
    n: int


class Worked:
    """A function whose work is a loop of Python's."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def __call__(self, t: Any) -> Item:
        total = 0
        for step in range(self.steps):
            total += step
        return Item(t.k, t.j, t.n + total)


class Counted(tw.Operator):
    """The same work, with a count per key."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.count = 0

    def process(self, t: Any, port: int) -> None:
        total = 0
        for step in range(self.steps):
            total += step
        self.count += 1
        self.submit(Item(t.k, t.j, self.count + total))


def stateless(items: tw.Stream, steps: int) -> tw.Stream:
    return items.map(Worked(steps), Item, name="worked")


def stateful(items: tw.Stream, steps: int) -> tw.Stream:
    return items.custom(Counted(steps), Item, by="k", name="counted")


def shuffle(items: tw.Stream, steps: int) -> tw.Stream:
    by_k = items.custom(Counted(steps), Item, by="k", name="by_k")
    return by_k.custom(Counted(steps), Item, by="j", name="by_j")


GRAPHS: dict[str, Callable[[tw.Stream, int], tw.Stream]] = {
    "stateless": stateless,
    "stateful": stateful,
    "shuffle": shuffle,
}


def write_items(folder: Path, count: int) -> None:
    seeded = np.random.default_rng(7)
    folder.mkdir(parents=True, exist_ok=True)
    columns = {"k": seeded.integers(0, 1000, count), "j": seeded.integers(0, 1000, count), "n": np.arange(count)}
    pq.write_table(pa.table(columns), folder / "items.parquet", row_group_size=50_000)


def make_graph(folder: Path, name: str, steps: int) -> Any:
    app = tw.App(name)
    GRAPHS[name](app.source(tw.files(folder), Item, name="items"), steps).sink(tw.collect(), name="found")
    return app.graph()


def epochs_of(graph: Any, log: Path) -> list[Epoch]:
    cutter = EpochCutter(graph.sources, InputLog(log), 1_000_000)
    while cutter.next_epoch(closing=True) is not None:
        pass
    return list(InputLog(log))


def run(engine: LocalEngine, epochs: list[Epoch]) -> tuple[float, list[Any]]:
    began = time.perf_counter()
    found = [engine.run_epoch(epoch)["found"] for epoch in epochs]
    seconds = time.perf_counter() - began
    engine.close()
    return seconds, [to_list(f.columns["n"]) for f in found if f is not None]


def speedups(scratch: Path, tuples: int, rounds: int, steps: tuple[int, ...]) -> Iterator[tuple[str, Measured]]:
    """By graph and work: tuples per second with one channel in this process and with two in two others. The processes
    are there and have the plan: what starting them costs is in the text of the results, not in these numbers."""
    pool = Pool(CHANNELS)
    try:
        for name in GRAPHS:
            for work in steps:
                count = min(tuples, tuples * 40 // (work + 1))
                folder = scratch / f"items {count}"
                write_items(folder, count)
                graph = make_graph(folder, name, work)
                one, two = make_plan(graph, degree=1), make_plan(graph, degree=CHANNELS)
                assert (two.channels, two.reads_in_one) == (CHANNELS, False), "the plan is not parallel"
                epochs = epochs_of(graph, scratch / f"log {name} {work}")
                rates: Measured = {"one channel": [], "two channels": []}
                answers: dict[str, list[Any]] = {}
                for number, contender in interleaved(list(rates), rounds + 1):
                    engine = LocalEngine(one) if contender == "one channel" else ParallelEngine(two, workers=pool)
                    if isinstance(engine, ParallelEngine):
                        engine.prepare()
                    seconds, answers[contender] = run(engine, epochs)
                    if number:  # the first round warms up
                        rates[contender].append(count / seconds)
                assert answers["one channel"] == answers["two channels"], f"{name}: the answers differ"
                yield f"{name}, {work} steps", rates
    finally:
        pool.close()


def start_seconds() -> float:
    """What the first run with several channels pays, until its workers have a plan."""
    app = tw.App("start")
    app.source(tw.beacon(lambda i: {"k": i, "j": i, "n": i}, count=1), Item, name="items").sink(tw.collect())
    began = time.perf_counter()
    engine = ParallelEngine(make_plan(app.graph(), degree=CHANNELS))
    engine.prepare()
    seconds = time.perf_counter() - began
    engine.close()
    return seconds

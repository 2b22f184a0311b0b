"""User functions in one process, without Spark: python benchmarks/kernels/functions.py [--quick] [--rounds N]

Two forms: ten cheap lambdas in a row, all of which can be read, against calls of the same lambdas tuple by tuple; and
a function that cannot be read between a map and a filter, against a loop written by hand around the same function.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.harness import Measured, machine, rate_table, write_results
from benchmarks.kernels.bench import Job, Preloaded, measure

import thalweg as tw
from thalweg.engine.inputs.cutter import EpochCutter
from thalweg.engine.inputs.readers import InputReader
from thalweg.engine.local.serial import LocalEngine
from thalweg.engine.sinks.writers import tuples_of
from thalweg.engine.storage.log import InputLog
from thalweg.ir.graph import LogicalGraph
from thalweg.optimize.passes import make_plan
from thalweg.runtime.columns import to_arrow
from thalweg.runtime.frame import Frame

WORDS = tuple(f"w{i}" for i in range(20))
Row = tuple[int, int, float, float, str]


class Item(tw.Tuple):
    a: int
    b: int
    x: float
    y: float
    s: str


@dataclass(slots=True)
class Slotted:
    """What one would write by hand for the same attributes."""

    a: int
    b: int
    x: float
    y: float
    s: str


def ten_functions(made: Any) -> list[Callable[[Any], Any]]:
    """Maps and filters in turn; each filter drops a few percent."""
    return [
        lambda t: made(t.a + 1, t.b, t.x * 1.5, t.y, t.s),
        lambda t: t.a % 10 != 3,
        lambda t: made(t.a, t.b * 2, t.x + t.y, t.y, t.s),
        lambda t: t.x > 0.05,
        lambda t: made(t.a - t.b, t.b, t.x, t.y * 0.5, t.s),
        lambda t: t.s != "w3",
        lambda t: made(t.a, t.b + 1, t.x - t.y, t.y, t.s),
        lambda t: t.b > 10,
        lambda t: made(t.a, t.b, t.x * t.y, t.y, t.s),
        lambda t: t.y < 0.49,
    ]


def leveled(t: Any) -> dict[str, Any]:
    """It calls what no kernel has."""
    level = zlib.crc32(t.s.encode()) % 8
    return {"a": t.a + level, "b": t.b, "x": t.x * level, "y": t.y, "s": t.s}


def chain_app(folder: Path) -> tw.App:
    app = tw.App("chain")
    stream = app.source(tw.files(folder), Item, name="items")
    for number, function in enumerate(ten_functions(Item)):
        stream = stream.filter(function, name=f"f{number}") if number % 2 else stream.map(function, name=f"f{number}")
    stream.sink(tw.collect(), name="found")
    return app


def chain_calls(rows: list[Slotted]) -> list[Row]:
    m0, f1, m2, f3, m4, f5, m6, f7, m8, f9 = ten_functions(Slotted)
    found = []
    for row in rows:
        t = m0(row)
        if not f1(t):
            continue
        t = m2(t)
        if not f3(t):
            continue
        t = m4(t)
        if not f5(t):
            continue
        t = m6(t)
        if not f7(t):
            continue
        t = m8(t)
        if f9(t):
            found.append((t.a, t.b, t.x, t.y, t.s))
    return found


def opaque_app(folder: Path) -> tw.App:
    app = tw.App("opaque")
    stream = app.source(tw.files(folder), Item, name="items")
    scaled = stream.map(lambda t: Item(t.a + 1, t.b, t.x * 1.5, t.y, t.s), name="scaled")
    scaled.map(leveled, Item, name="levels").filter(lambda t: t.x > 1.0, name="high").sink(tw.collect(), name="found")
    return app


def opaque_loop(rows: list[Slotted]) -> list[Row]:
    found = []
    for row in rows:
        r = leveled(Slotted(row.a + 1, row.b, row.x * 1.5, row.y, row.s))
        if r["x"] > 1.0:
            found.append((r["a"], r["b"], r["x"], r["y"], r["s"]))
    return found


FORMS: dict[str, tuple[Callable[[Path], tw.App], Callable[[list[Slotted]], list[Row]], str, float]] = {
    "ten lambdas": (chain_app, chain_calls, "python calls", 15.0),
    "opaque function": (opaque_app, opaque_loop, "python loop", 0.7),
}


class Local:
    """The local engine over frames that were read before."""

    def __init__(self, graph: LogicalGraph, log: Path, epoch_rows: int) -> None:
        self.plan, self.log = make_plan(graph, degree=1), InputLog(log)
        cutter = EpochCutter(graph.sources, self.log, epoch_rows)
        while cutter.next_epoch(closing=True) is not None:
            pass
        self.epochs = list(self.log)
        self.engine = LocalEngine(self.plan)  # compiled once: nothing here keeps state
        preloaded = {n: Preloaded(r) for n, r in self.engine.readers.items()}
        self.engine.readers = cast(dict[str, InputReader], preloaded)

    def run(self) -> list[Frame]:
        found = (self.engine.run_epoch(epoch)["found"] for epoch in self.epochs)
        return [frame for frame in found if frame is not None]

    def rows(self) -> Iterator[Row]:
        for frame in self.run():
            yield from cast(Any, tuples_of(pa.table({n: to_arrow(frame.columns[n]) for n in Item.tuple_type.names})))


def write_items(folder: Path, count: int) -> list[Slotted]:
    seeded = random.Random(7)
    rows = [
        Slotted(seeded.randrange(1000), seeded.randrange(1000), seeded.random(), seeded.random(), seeded.choice(WORDS))
        for _ in range(count)
    ]
    columns = {n: [getattr(row, n) for row in rows] for n in Item.tuple_type.names}
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / "items.parquet")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tuples", type=int, default=500_000)
    parser.add_argument("--epoch", type=int, default=100_000, help="tuples per epoch of the local engine")
    parser.add_argument("--quick", action="store_true", help="100,000 tuples, 5 rounds, no results written")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.tuples, options.rounds, options.epoch = 100_000, 5, 50_000
    document: dict[str, Any] = {
        "machine": machine("numpy", "pyarrow"),
        "options": {name: getattr(options, name) for name in ("rounds", "tuples", "epoch")},
        "rates": {},
    }
    sections: list[str] = []
    with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as scratch:
        folder = Path(scratch) / "items"
        rows = write_items(folder, options.tuples)
        for form, (make_app, by_hand, peer, goal) in FORMS.items():
            local = Local(make_app(folder).graph(), Path(scratch) / f"log {form}", options.epoch)
            if list(local.rows()) != by_hand(rows):
                sys.exit(f"{form}: thalweg local does not give the answer")
            jobs: dict[str, Job] = {"thalweg local": local.run, peer: lambda by_hand=by_hand: by_hand(rows)}  # type: ignore[misc]
            rates: Measured = measure(jobs, options.tuples, options.rounds)
            document["rates"][form] = rates
            sections.append(f"## {form} (goal: {goal:g} ×)\n\n{rate_table(rates, {peer: rates[peer]})}")
            if not options.json:
                print(f"\n{sections[-1]}", flush=True)
    if options.json:
        print(json.dumps(document))
    if not options.quick:
        file = Path(__file__).with_name("functions-results")
        write_results(file, "User functions: last results", "\n\n".join(sections), document)


if __name__ == "__main__":
    main()

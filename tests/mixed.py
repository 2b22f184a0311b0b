"""An application with all kinds of state in a folder of its own, for tests that move checkpoints.

Kernels and tables, event time, a sliding join, objects of the application's own classes, a loop, a state without a key;
one source is spooled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.small import contents
from thalweg.api import run_plan
from thalweg.cli.find_app import load_app
from thalweg.engine.core.run import RunOptions, RunResult
from thalweg.engine.storage.checkpoint import EpochReport
from thalweg.ir.graph import LogicalGraph
from thalweg.optimize.passes import make_plan

APP = """
from dataclasses import dataclass

import thalweg as tw
from thalweg import agg, window


class Number(tw.Tuple):
    k: str
    i: int
    t: int


class Best(tw.Tuple):
    i: int


@dataclass
class Seen:
    count: int
    best: Best


def remember(t, seen, submit):
    seen = Seen(seen.count + 1, Best(max(seen.best.i, t.i))) if seen else Seen(1, Best(t.i))
    submit(Number(t.k, seen.count * 100 + seen.best.i, t.t))
    return seen


def number(i):
    return {"k": "abcdefghij"[i * 7 % 10], "i": i * 13 % 17, "t": i + i * 5 % 4}


app = tw.App("mixed")
numbers = app.source(tw.iterable(lambda: (number(i) for i in range(90))), Number)
others = app.source(tw.beacon(lambda i: number(i + 3), count=60), Number)

tens = numbers.event_time("t", lateness=3).aggregate(
    window.tumbling(time=10, by="k"), start=agg.window_start(), k=agg.any("k"), total=agg.sum("i")
)
tens.sink(tw.collect(), name="windows")
sums = others.aggregate(window.sliding(count=3, by="k"), k=agg.any("k"), total=agg.sum("i"))
numbers.join(sums, window.last(1, by="k"), on="k").sink(tw.collect(), name="joined")
numbers.custom(remember, Number, by="k").sink(tw.collect(), name="best")
loop = app.feedback(Number)
rounds = numbers.union(loop).custom(remember, Number, by="i", name="rounds")
rounds.filter(lambda t: t.i % 100 > 8 and t.i < 300).map(lambda t: Number(t.k, t.i % 10, t.t)).feed(loop)
rounds.sink(tw.collect(), name="again")
others.aggregate(window.running(), n=agg.count(), total=agg.sum("i")).sink(tw.collect(), name="all")
"""
PER_EPOCH = 20


@dataclass(frozen=True)
class Mixed:
    folder: Path

    @staticmethod
    def make(folder: Path) -> Mixed:
        folder.mkdir(parents=True)
        (folder / f"mixed_{folder.name.replace('-', '_')}.py").write_text(APP)
        return Mixed(folder)

    @property
    def app(self) -> Path:
        return next(self.folder.glob("mixed_*.py"))

    def graph(self) -> LogicalGraph:
        return load_app(str(self.app)).graph()

    def run(
        self,
        checkpoint: Path,
        engine: str = "local",
        degree: int = 2,
        fuse: str = "all",
        buckets: int | None = None,
        watch: Callable[[EpochReport], None] = lambda report: None,
    ) -> RunResult:
        plan = make_plan(self.graph(), degree=degree, fuse=fuse, buckets=buckets)
        options = RunOptions(checkpoint, max_tuples_per_epoch=PER_EPOCH, interval_s=0.05, master="local[2]")
        return run_plan(plan, engine, options, watch)


def results(checkpoint: Path) -> dict[str, bytes]:
    """What the sinks hold, file by file, apart from the run's own name."""
    found = contents(checkpoint / "results")
    return {name: data for name, data in found.items() if not name.endswith("_thalweg.json")}

"""How many buckets the state should have: the time of an epoch by number of keys, buckets per channel and keys touched.

Every epoch writes the buckets it touched, whole. Many buckets cost a read and a write each when all keys are touched;
few buckets cost the state of all keys when few are.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.harness import Measured, Spread, interleaved, machine, ratio, table, write_results
from benchmarks.spark.contenders import CHANNELS, MASTER, SESSION, epoch_ms, finished

import thalweg as tw
from thalweg import agg, window
from thalweg.engine.core.run import RunOptions, opened
from thalweg.engine.spark.labels import balanced_labels
from thalweg.engine.spark.run import start_query
from thalweg.engine.spark.session import spark_session
from thalweg.engine.storage.log import Chunk, Epoch
from thalweg.optimize.passes import make_plan

ALL, FEW = "all keys touched", "few keys touched"


@dataclass(frozen=True)
class Sizes:
    """How much is run; the defaults are the real thing."""

    keys: tuple[int, ...] = (1_000, 100_000, 1_000_000)
    buckets: tuple[int, ...] = (1, 4, 16, 64)  # per channel
    all_epochs: int = 8  # that touch every key once, after one that creates the keys
    few_epochs: int = 20  # of `few_rows` tuples of `few_keys` keys
    few_rows: int = 1_000
    few_keys: int = 10
    warm: int = 2  # epochs of each kind that are not counted


QUICK = Sizes(keys=(1_000,), buckets=(1, 16), all_epochs=3, few_epochs=4, warm=1)


class Reading(tw.Tuple):
    key: int
    x: float


def remember(t: Any, state: float, submit: Callable[..., None]) -> float:
    submit(t)
    return float(state + t.x)


def make_app(folder: Path, kind: str) -> tw.App:
    """One operator with state: a table of two folds, or an object per key."""
    app = tw.App("buckets")
    readings = app.source(tw.files(folder), Reading, name="readings")
    if kind == "table":
        made = readings.aggregate(window.running(by="key"), total=agg.sum("x"), times=agg.count(), name="state")
    else:
        made = readings.custom(remember, Reading, by="key", state=0.0, name="state")
    made.sink(tw.none(), name="out")
    return app


def write_epochs(folder: Path, keys: int, sizes: Sizes) -> None:
    """A file per epoch: first all keys again and again, in a different order each time, then few of them."""
    chance = np.random.default_rng(7)
    folder.mkdir(parents=True)
    touched = [chance.permutation(keys) for _ in range(1 + sizes.all_epochs)]
    few = chance.choice(keys, sizes.few_keys, replace=False)
    touched += [chance.choice(few, sizes.few_rows) for _ in range(sizes.few_epochs)]
    for number, chosen in enumerate(touched):
        columns = {"key": chosen.astype(np.int64), "x": chance.random(len(chosen))}
        pq.write_table(pa.table(columns), folder / f"{number:05d}.parquet")


def logged(folder: Path) -> Iterator[Epoch]:
    """The input log determines where epochs are cut: here between the files, whatever their size."""
    base = 0
    for number, file in enumerate(sorted(folder.glob("*.parquet"))):
        stat, rows = file.stat(), pq.read_metadata(file).num_rows
        chunk = Chunk("readings", number, str(file), 0, rows, rows, stat.st_size, stat.st_mtime_ns)
        yield Epoch(number, (chunk,), base=base)
        base += rows


def run(folder: Path, kind: str, buckets: int, sizes: Sizes) -> dict[str, list[int]]:
    """Milliseconds of the epochs that count, by what they touched."""
    graph = make_app(folder, kind).graph()
    plan = make_plan(graph, degree=CHANNELS, buckets=buckets * CHANNELS)
    options = RunOptions(conf=SESSION)
    epochs = list(logged(folder))
    with (
        opened(plan, options, "spark", balanced_labels(plan.channels)) as opening,
        spark_session(None, options.conf, plan.channels) as spark,
    ):
        for epoch in epochs:
            opening.checkpoint.log.append(epoch)
        ms = epoch_ms(finished(start_query(spark, plan, options, opening), len(epochs) + 1))
    first_few = 1 + sizes.all_epochs
    return {ALL: ms[1 + sizes.warm : first_few], FEW: ms[first_few + sizes.warm : len(epochs)]}


@dataclass
class Results:
    """A round's median per contender, by number of keys and what was touched."""

    ms: dict[str, Measured] = field(default_factory=dict)
    epochs_ms: dict[str, list[list[int]]] = field(default_factory=dict)

    def add(self, keys: int, name: str, found: dict[str, list[int]]) -> None:
        for touched, ms in found.items():
            title = f"{keys:,} keys, {touched}"
            self.ms.setdefault(title, {}).setdefault(name, []).append(statistics.median(ms))
            self.epochs_ms.setdefault(f"{title}, {name}", []).append(ms)

    def report(self) -> str:
        return "\n\n".join(f"## {title}\n\n{_table(measured)}" for title, measured in self.ms.items())


def _table(measured: Measured) -> str:
    first = next(iter(measured))
    rows = [
        [name, Spread.of(ms).text(), found.text(2) if (found := ratio(ms, measured[first])) else ""]
        for name, ms in measured.items()
    ]
    return table(["state", "ms per epoch", f"× {first}"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kind", choices=("table", "objects"), default="table", help="of state: folds, or an object")
    parser.add_argument("--keys", type=int, nargs="+", default=Sizes.keys)
    parser.add_argument("--quick", action="store_true", help="1,000 keys, a few epochs, 2 rounds: does it work?")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args()
    sizes, rounds = (QUICK, 2) if options.quick else (Sizes(keys=tuple(options.keys)), options.rounds)
    document: dict[str, Any] = {
        "machine": machine("pyspark", "pyarrow", "numpy"),
        "options": {"rounds": rounds, "kind": options.kind, "channels": CHANNELS},
    }
    results = Results()
    with tempfile.TemporaryDirectory(prefix="thalweg-buckets-") as scratch, spark_session(MASTER, SESSION, 1):
        for keys in sizes.keys:
            write_epochs(Path(scratch) / str(keys), keys, sizes)
        contenders = {f"buckets per channel: {n}": n for n in sizes.buckets}
        run(Path(scratch) / str(sizes.keys[0]), options.kind, 1, sizes)  # the JVM's first query is slow
        for number, name in interleaved(list(contenders), rounds):
            for keys in sizes.keys:
                began = time.monotonic()
                results.add(keys, name, run(Path(scratch) / str(keys), options.kind, contenders[name], sizes))
                said = f"round {number + 1}: {name}, {keys:,} keys, {time.monotonic() - began:.0f} s"
                print(said, file=sys.stderr, flush=True)
            document.update(ms=results.ms, epochs_ms=results.epochs_ms)
            if not options.quick:
                file = Path(__file__).with_name(f"buckets-{options.kind}-results")
                write_results(file, "Buckets: last results", results.report(), document, Path(__file__).name)
    print(json.dumps(document) if options.json else results.report())


if __name__ == "__main__":
    main()

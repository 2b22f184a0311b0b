"""What a longer window costs: python benchmarks/kernels/sliding.py [--rounds N] [--quick] [--json]

Aggregates over the last n tuples of a key, seen at every tuple, for n of 100 and 10,000: by the kernel (sum, mean, min,
max), and tuple by tuple in Python (the same, and a standard deviation).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.harness import Measured, interleaved, machine, rate_table, write_results

import thalweg as tw
from thalweg import agg, window
from thalweg.engine.inputs.cutter import EpochCutter
from thalweg.engine.local.serial import LocalEngine
from thalweg.engine.storage.log import InputLog
from thalweg.optimize.passes import make_plan

SIZES = (100, 10_000)
KEYS = 4


class Reading(tw.Tuple):
    sensor: int
    value: float


FOLDS: dict[str, Any] = {
    "total": agg.sum("value"),
    "mean": agg.mean("value"),
    "least": agg.min("value"),
    "most": agg.max("value"),
}
FORMS: dict[str, tuple[dict[str, Any], int]] = {  # aggregates, and the share of the tuples that is enough for a round
    "kernel": (FOLDS, 1),
    "tuple by tuple": ({**FOLDS, "spread": agg.std("value")}, 8),
}


class Sliding:
    """One window size over all epochs, from no state on."""

    def __init__(self, folder: Path, log: Path, size: int, folds: dict[str, Any], epoch_rows: int) -> None:
        app = tw.App("sliding")
        readings = app.source(tw.files(folder), Reading, name="readings")
        seen = readings.aggregate(window.sliding(count=size, by="sensor"), name="seen", **folds)
        seen.sink(tw.none(), name="found")
        graph = app.graph()
        self.plan = make_plan(graph, degree=1)
        cutter = EpochCutter(graph.sources, InputLog(log), epoch_rows)
        while cutter.next_epoch(closing=True) is not None:
            pass
        self.epochs = list(InputLog(log))

    def seconds(self) -> float:
        engine = LocalEngine(self.plan)
        engine.run_epoch(self.epochs[0])  # fills the windows
        started = time.perf_counter()
        for epoch in self.epochs[1:]:
            engine.run_epoch(epoch)
        return time.perf_counter() - started


def write_readings(folder: Path, count: int) -> None:
    seeded = np.random.default_rng(7)
    folder.mkdir(parents=True)
    columns = {"sensor": seeded.integers(0, KEYS, count), "value": seeded.random(count)}
    pq.write_table(pa.table(columns), folder / "readings.parquet", row_group_size=50_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tuples", type=int, default=1_000_000)
    parser.add_argument("--epoch", type=int, default=100_000)
    parser.add_argument("--quick", action="store_true", help="fewer tuples, 3 rounds, no results written")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.tuples, options.rounds = 400_000, 3
    document: dict[str, Any] = {
        "machine": machine("numpy", "pyarrow"),
        "options": {name: getattr(options, name) for name in ("rounds", "tuples", "epoch")},
        "rates": {},
    }
    sections: list[str] = []
    with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as scratch:
        for form, (folds, share) in FORMS.items():
            folder, tuples = Path(scratch) / f"readings {share}", options.tuples // share
            write_readings(folder, tuples)
            epoch = min(options.epoch, tuples // 2)
            jobs = {
                f"window of {size:,}": Sliding(folder, Path(scratch) / f"{form} {size}", size, folds, epoch)
                for size in SIZES
            }
            rates: Measured = {name: [] for name in jobs}
            for _, name in interleaved(list(jobs), options.rounds):
                rates[name].append((tuples - epoch) / jobs[name].seconds())
            document["rates"][form] = rates
            peer = f"window of {SIZES[0]:,}"
            sections.append(f"## {form} (goal: 0.67 × or more)\n\n{rate_table(rates, {peer: rates[peer]})}")
            if not options.json:
                print(f"\n{sections[-1]}", flush=True)
    if options.json:
        print(json.dumps(document))
    if not options.quick:
        file = Path(__file__).with_name("sliding-results")
        write_results(file, "Longer windows: last results", "\n\n".join(sections), document)


if __name__ == "__main__":
    main()

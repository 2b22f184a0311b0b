"""Aggregates over windows in event time: python benchmarks/kernels/event_time.py [--rounds N] [--quick] [--only TEXT]

Frame by frame, as PEs run them, against tuple by tuple (the path of folds that are not kept in columns), a loop that a
person would write in plain Python, and Polars on all tuples at once. All of them read the same Parquet file.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.harness import Measured, interleaved, machine, rate_table, write_results

import thalweg as tw
from thalweg import agg, window
from thalweg.engine.inputs.cutter import EpochCutter
from thalweg.engine.local.serial import LocalEngine
from thalweg.engine.storage.log import InputLog
from thalweg.library.windows.by_event_time import EventTimeAggregate
from thalweg.optimize.passes import make_plan

SIZE = 1000
EPOCH = 200_000


class Reading(tw.Tuple):
    t: int
    sensor: int
    value: float


COUNT: dict[str, Any] = {"sensor": agg.any("sensor"), "n": agg.count()}
FOLDS: dict[str, Any] = {
    "sensor": agg.any("sensor"),
    "total": agg.sum("value"),
    "mean": agg.mean("value"),
    "least": agg.min("value"),
    "most": agg.max("value"),
}
# Number of keys (0: no key), slide, folds.
JOBS: dict[str, tuple[int, int, dict[str, Any]]] = {
    "tumbling, count, 1,000 keys": (1000, SIZE, COUNT),
    "tumbling, sum mean min max, 1,000 keys": (1000, SIZE, FOLDS),
    "tumbling, count, 100,000 keys": (100_000, SIZE, COUNT),
    "tumbling, count, no key": (0, SIZE, {"n": agg.count()}),
    "sliding of 5 panes, count, 1,000 keys": (1000, SIZE // 5, COUNT),
    "sliding of 5 panes, sum mean min max, 1,000 keys": (1000, SIZE // 5, FOLDS),
}
SHARE = 10  # of the tuples, which is enough for the slow contenders


def engine_seconds(folder: Path, log: Path, keys: int, slide: int, folds: dict[str, Any]) -> Callable[[], float]:
    app = tw.App("windows")
    readings = app.source(tw.files(folder), Reading, name="readings").event_time("t")
    over = window.sliding(time=SIZE, slide=slide, by=("sensor",) if keys else ())
    readings.aggregate(over, folds, name="seen").sink(tw.none(), name="found")
    graph = app.graph()
    cutter = EpochCutter(graph.sources, InputLog(log), EPOCH)
    while cutter.next_epoch(closing=True) is not None:
        pass
    plan, epochs = make_plan(graph, degree=1), list(InputLog(log))

    def run() -> float:
        engine = LocalEngine(plan)
        started = time.perf_counter()
        for epoch in epochs:
            engine.run_epoch(epoch)
        return time.perf_counter() - started

    return run


def tuple_by_tuple(folder: Path, log: Path, keys: int, slide: int, folds: dict[str, Any]) -> Callable[[], float]:
    """The graph, the plan and the code are made anew, because all of them differ."""

    def run() -> float:
        known = EventTimeAggregate.in_columns
        EventTimeAggregate.in_columns = False  # type: ignore[assignment, method-assign]
        try:
            with tempfile.TemporaryDirectory(dir=log.parent) as fresh:
                return engine_seconds(folder, Path(fresh) / "log", keys, slide, folds)()
        finally:
            EventTimeAggregate.in_columns = known  # type: ignore[method-assign]

    return run


def plain_loop(folder: Path, keys: int, slide: int, folds: dict[str, Any]) -> Callable[[], float]:
    """Panes in a dict by start, then by key; the windows that a tuple's time has passed are closed."""
    many = len(folds) > 2

    def run() -> float:
        started = time.perf_counter()
        columns = pq.read_table(folder).to_pydict()
        panes: dict[int, dict[int, Any]] = {}
        closed, results = None, []
        for t, sensor, value in zip(columns["t"], columns["sensor"], columns["value"], strict=True):
            start = t // slide * slide
            if closed is None or start > closed:
                closed = start
                for end in sorted(s + SIZE for s in panes if s + SIZE <= t):
                    merged: dict[int, Any] = {}
                    for pane in range(end - SIZE, end, slide):
                        for key, found in panes.get(pane, {}).items():
                            held = merged.get(key)
                            merged[key] = found if held is None else _both(held, found, many)
                    results.append((end, merged))
                    panes.pop(end - SIZE, None)
            held_panes = panes.setdefault(start, {})
            key = sensor if keys else 0
            if many:
                held = held_panes.get(key)
                if held is None:
                    held_panes[key] = (1, value, value, value)
                else:
                    n, total, least, most = held
                    held_panes[key] = (n + 1, total + value, min(least, value), max(most, value))
            else:
                held_panes[key] = held_panes.get(key, 0) + 1
        return time.perf_counter() - started

    return run


def _both(older: Any, newer: Any, many: bool) -> Any:
    if not many:
        return older + newer
    return older[0] + newer[0], older[1] + newer[1], min(older[2], newer[2]), max(older[3], newer[3])


def polars_batch(folder: Path, keys: int, slide: int, folds: dict[str, Any]) -> Callable[[], float]:
    value = pl.col("value")
    made = [pl.len().alias("n")] if len(folds) <= 2 else [value.sum(), value.mean().alias("m"), value.min().alias("l")]
    if len(folds) > 2:
        made.append(value.max().alias("h"))

    def run() -> float:
        started = time.perf_counter()
        frame = pl.read_parquet(folder / "readings.parquet").sort("t")
        by = ["sensor"] if keys else None
        frame.group_by_dynamic("t", every=f"{slide}i", period=f"{SIZE}i", group_by=by).agg(*made)
        return time.perf_counter() - started

    return run


def write_readings(folder: Path, count: int, keys: int) -> None:
    """Times that advance by 1 in 50 tuples, with some tuples out of order inside a window."""
    seeded = np.random.default_rng(7)
    folder.mkdir(parents=True)
    times = np.maximum(np.arange(count) // 50 - seeded.integers(0, 3, count), 0)
    columns = {"t": times, "sensor": seeded.integers(0, max(keys, 1), count), "value": seeded.random(count)}
    pq.write_table(pa.table(columns), folder / "readings.parquet", row_group_size=50_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tuples", type=int, default=2_000_000)
    parser.add_argument("--quick", action="store_true", help="fewer tuples, 3 rounds, no results written")
    parser.add_argument("--only", default="", help="only the jobs with this text in their names")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.tuples, options.rounds = 400_000, 3
    document: dict[str, Any] = {
        "machine": machine("numpy", "pyarrow", "polars"),
        "options": {name: getattr(options, name) for name in ("rounds", "tuples")},
        "rates": {},
    }
    sections: list[str] = []
    with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as name:
        scratch = Path(name)
        for number, (job, parts) in enumerate(JOBS.items()):
            if options.only not in job:
                continue
            all_tuples, some = scratch / f"{number} all", scratch / f"{number} some"
            write_readings(all_tuples, options.tuples, parts[0])
            write_readings(some, options.tuples // SHARE, parts[0])
            contenders = {
                "frame by frame": (options.tuples, engine_seconds(all_tuples, scratch / f"{number} log", *parts)),
                "tuple by tuple": (options.tuples // SHARE, tuple_by_tuple(some, scratch / f"{number} slow", *parts)),
                "plain loop": (options.tuples // SHARE, plain_loop(some, *parts)),
                "Polars": (options.tuples, polars_batch(all_tuples, *parts)),
            }
            rates: Measured = {name: [] for name in contenders}
            for _, name in interleaved(list(contenders), options.rounds):
                tuples, seconds = contenders[name]
                rates[name].append(tuples / seconds())
            document["rates"][job] = rates
            peers = {name: rates[name] for name in contenders if name != "frame by frame"}
            sections.append(f"## {job}\n\n{rate_table(rates, peers)}")
            if not options.json:
                print(f"\n{sections[-1]}", flush=True)
    if options.json:
        print(json.dumps(document))
    if not options.quick and not options.only:
        file = Path(__file__).with_name("event-time-results")
        write_results(file, "Windows in event time: last results", "\n\n".join(sections), document, "event_time.py")


if __name__ == "__main__":
    main()

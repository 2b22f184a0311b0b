"""Thalweg's kernels in one process, without Spark: python benchmarks/kernels/bench.py [--quick] [--rounds N]"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ["POLARS_MAX_THREADS"] = "1"  # before Polars is loaded: all contenders have one thread

from benchmarks import bargains, polars_bargains
from benchmarks.harness import Measured, best, interleaved, machine, rate_table, write_results

import thalweg as tw
from thalweg.engine.inputs.cutter import EpochCutter
from thalweg.engine.inputs.readers import InputReader
from thalweg.engine.local.serial import LocalEngine
from thalweg.engine.sinks.writers import tuples_of
from thalweg.engine.storage.log import InputLog, Piece
from thalweg.ir.plan import Plan
from thalweg.optimize.passes import make_plan
from thalweg.runtime.columns import to_arrow
from thalweg.runtime.frame import Frame

FILE_ROWS, CHECKED = 200_000, 50_000
FORMS = {"running": None, "sliding 50": 50}
Job = Callable[[], object]


class Preloaded:
    """A source's reader that has read everything before."""

    def __init__(self, reader: InputReader) -> None:
        self.reader, self.read = reader, dict[Piece, list[Frame]]()

    def frames(self, piece: Piece, frame_rows: int) -> Iterator[Frame]:
        if piece not in self.read:
            self.read[piece] = list(self.reader.frames(piece, frame_rows))
        return iter(self.read[piece])


class Local:
    """Thalweg's local engine over an input log that was cut before: kernels, state and order, no sink, no commit."""

    def __init__(self, folder: Path, log: Path, last: int | None, epoch_rows: int) -> None:
        self.plan: Plan = make_plan(bargains.make_app(folder, last, tw.collect()).graph(), degree=1)
        self.log = InputLog(log)
        cutter = EpochCutter(self.plan.graph.sources, self.log, epoch_rows)
        while cutter.next_epoch(closing=True) is not None:
            pass
        self.epochs = list(self.log)
        self.preloaded = {n: Preloaded(r) for n, r in LocalEngine(self.plan).readers.items()}

    def run(self, *, reading: bool) -> list[Frame]:
        engine = LocalEngine(self.plan)
        if not reading:
            engine.readers = cast(dict[str, InputReader], self.preloaded)
        found = (engine.run_epoch(epoch)["found"] for epoch in self.epochs)
        return [frame for frame in found if frame is not None]

    def bargains(self, *, reading: bool) -> list[bargains.Bargain]:
        names = ("symbol", "vwap", "price", "gain")
        frames = self.run(reading=reading)
        tables = [pa.table({n: to_arrow(f.columns[n]) for n in names}) for f in frames]
        return [cast(bargains.Bargain, row) for t in tables for row in tuples_of(t)]


def contenders(folder: Path, log: Path, last: int | None, epoch_rows: int) -> dict[str, dict[str, Job]]:
    """By whether reading Parquet is part of the time. In memory, each has the ticks in the form it likes best."""
    local = Local(folder, log, last, epoch_rows)
    lists = bargains.read_lists(folder)
    frame = polars_bargains.read(folder).collect()
    return {
        "in memory": {
            "thalweg local": lambda: local.run(reading=False),
            "python loop": lambda: bargains.python_loop(lists, last),
            **polars_jobs(frame.lazy, last),
        },
        "with reading": {
            "thalweg local": lambda: local.run(reading=True),
            "python loop": lambda: bargains.python_loop(bargains.read_lists(folder), last),
            **polars_jobs(lambda: polars_bargains.read(folder), last),
        },
    }


def polars_jobs(ticks: Callable[[], Any], last: int | None) -> dict[str, Job]:
    def job(form: Callable[[Any, int | None], Any]) -> Job:
        return lambda: form(ticks(), last).collect()

    return {f"polars, {name}": job(form) for name, form in polars_bargains.forms(last).items()}


def check(folder: Path, log: Path, last: int | None) -> None:
    expected = bargains.python_loop(bargains.read_lists(folder), last)
    local = Local(folder, log, last, CHECKED // 5)
    batches = {
        f"polars, {name}": form(polars_bargains.read(folder), last).collect().rows()
        for name, form in polars_bargains.forms(last).items()
    }
    for name, found in (
        ("thalweg local", local.bargains(reading=True)),
        ("thalweg local, in memory", local.bargains(reading=False)),
        *batches.items(),
    ):
        if (problem := bargains.disagreement(found, expected)) is not None:
            sys.exit(f"{name} does not give the answer: {problem}")


def timed(job: Job) -> float:
    gc.collect()
    began = time.perf_counter()
    job()
    return time.perf_counter() - began


def measure(jobs: dict[str, Job], ticks: int, rounds: int) -> Measured:
    for job in jobs.values():
        job()  # warm up, and read what is to be preloaded
    rates: Measured = {name: [] for name in jobs}
    for _, name in interleaved(list(jobs), rounds):
        rates[name].append(ticks / timed(jobs[name]))
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--ticks", type=int, default=2_000_000)
    parser.add_argument("--epoch", type=int, default=200_000, help="tuples per epoch of the local engine")
    parser.add_argument("--only", nargs="+", choices=list(FORMS), default=list(FORMS))
    parser.add_argument("--quick", action="store_true", help="100,000 ticks, 2 rounds, no results written")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.ticks, options.rounds, options.epoch = 100_000, 2, 25_000
    document: dict[str, Any] = {
        "machine": machine("numpy", "pyarrow", "polars"),
        "options": {name: getattr(options, name) for name in ("rounds", "ticks", "epoch")},
        "rates": {},
    }
    sections: list[str] = []
    with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as scratch:
        folder, sample = Path(scratch) / "ticks", Path(scratch) / "sample"
        files = max(1, options.ticks // FILE_ROWS)
        bargains.write_ticks(folder, files, options.ticks // files)
        bargains.write_ticks(sample, 5, CHECKED // 5)
        for form in options.only:
            last = FORMS[form]
            check(sample, Path(scratch) / f"sample {form}", last)
            for group, jobs in contenders(folder, Path(scratch) / f"log {form}", last, options.epoch).items():
                rates = measure(jobs, options.ticks // files * files, options.rounds)
                document["rates"][f"{form}, {group}"] = rates
                batch = best([values for name, values in rates.items() if name.startswith("polars")])
                peers = {"Python": rates["python loop"], "best Polars": batch}
                sections.append(f"## {form}, {group}\n\n{rate_table(rates, peers)}")
                if not options.json:
                    print(f"\n{sections[-1]}", flush=True)
    if options.json:
        print(json.dumps(document))
    if not options.quick and options.only == list(FORMS):
        write_results(Path(__file__).with_name("results"), "Kernels: last results", "\n\n".join(sections), document)


if __name__ == "__main__":
    main()

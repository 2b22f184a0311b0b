"""The jobs of one version, in a process of its own: it reads the name of a job per line and prints its seconds.

It runs with the checkout of its version first on the path, so `benchmarks` and `thalweg` are those of that version. It
may use only what both versions have.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import bargains
from benchmarks.kernels import bench, functions, sliding

Job = Callable[[], float]
SPARK_SIZES = {"200,000 per epoch": (1, 8, 3), "1,000,000 per epoch": (5, 5, 2)}  # files, epochs, of these not counted
FILE_ROWS = 200_000
LEAST_S = 0.4


def local_jobs(scratch: Path) -> dict[str, Job]:
    """All that `make bench-kernels` runs in Thalweg."""
    jobs: dict[str, Job] = {}
    ticks = scratch / "ticks"
    bargains.write_ticks(ticks, 5, FILE_ROWS)
    for form, last in bench.FORMS.items():
        for group, contenders in bench.contenders(ticks, scratch / f"log {form}", last, FILE_ROWS).items():
            jobs[f"bargains, {form}, {group}"] = _cpu_seconds(contenders["thalweg local"])
    items = scratch / "items"
    functions.write_items(items, 200_000)
    for form, (make_app, *_) in functions.FORMS.items():
        jobs[form] = _cpu_seconds(functions.Local(make_app(items).graph(), scratch / f"log {form}", 100_000).run)
    for form, (folds, share) in sliding.FORMS.items():
        readings = scratch / f"readings {share}"
        tuples = 400_000 // share
        sliding.write_readings(readings, tuples)
        for size in sliding.SIZES:
            log = scratch / f"log {form} {size}"
            window = sliding.Sliding(readings, log, size, folds, tuples // 4)
            jobs[f"sliding {size:,}, {form}"] = _cpu_seconds(window.seconds)
    return jobs


def _cpu_seconds(job: Callable[[], object]) -> Job:
    """CPU time, because other work on the machine moves it less; short jobs are repeated."""

    def seconds() -> float:
        gc.collect()
        began, runs = time.process_time(), 0
        while not runs or time.process_time() - began < LEAST_S:
            job()
            runs += 1
        return (time.process_time() - began) / runs

    return seconds


@contextlib.contextmanager
def spark_jobs(scratch: Path) -> Iterator[dict[str, Job]]:
    """Bargains on Spark as `make bench-spark` runs it, in a JVM that stays."""
    contenders: Any = importlib.import_module("benchmarks.spark.contenders")
    session: Any = importlib.import_module("thalweg.engine.spark.session")
    jobs: dict[str, Job] = {}
    for name, (files, epochs, warm) in SPARK_SIZES.items():
        folder = scratch / f"ticks {files}"
        bargains.write_ticks(folder, files * epochs, FILE_ROWS)
        load = contenders.Load(folder, files * epochs * FILE_ROWS, FILE_ROWS, files * FILE_ROWS)
        jobs[f"bargains on Spark, {name}"] = _query(contenders, load, warm, scratch)
    tiny = scratch / "tiny"
    bargains.write_ticks(tiny, 1, 4_000)
    load = contenders.Load(tiny, 4_000, 4_000, 100)
    jobs["bargains on Spark, 100 per epoch"] = _query(contenders, load, 10, scratch)
    with session.spark_session(contenders.MASTER, contenders.SESSION, 1):
        yield jobs


def _query(contenders: Any, load: Any, warm: int, scratch: Path) -> Job:
    runs = iter(range(1_000_000))

    def seconds() -> float:
        epochs = contenders.run_thalweg(load, scratch / f"out {load.folder.name} {next(runs)}")
        return float(sum(contenders.epoch_ms(epochs)[warm:])) / 1_000

    return seconds


def serve(jobs: dict[str, Job]) -> None:
    for job in jobs.values():
        job()  # warm up
    answer = sys.__stdout__
    assert answer is not None
    print(json.dumps(list(jobs)), file=answer, flush=True)
    for line in sys.stdin:
        print(jobs[line.rstrip("\n")](), file=answer, flush=True)


def main() -> None:
    kind, scratch = sys.argv[1], Path(sys.argv[2])
    with contextlib.redirect_stdout(sys.stderr):  # only answers go to standard output
        if kind == "local":
            serve(local_jobs(scratch))
        else:
            with spark_jobs(scratch) as jobs:
                serve(jobs)


if __name__ == "__main__":
    main()

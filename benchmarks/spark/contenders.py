"""Every contender as one function: run over a folder of ticks, leave bargains in a folder, say how long it took."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import bargains
from benchmarks.spark import bare, plain
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

import thalweg as tw
from thalweg.engine.core.run import RunOptions, opened
from thalweg.engine.spark.labels import balanced_labels
from thalweg.engine.spark.run import start_query
from thalweg.engine.spark.session import RUNTIME, spark_session
from thalweg.optimize.passes import make_plan

CHANNELS = 2
MASTER = f"local[{CHANNELS}]"
SESSION = {"spark.sql.streaming.numRecentProgressUpdates": "10000"}
Epochs = Sequence[StreamingQueryProgress]


@dataclass(frozen=True, slots=True)
class Load:
    """Ticks to run over, and how many of them make an epoch. A smaller epoch than a file is for Thalweg only."""

    folder: Path
    ticks: int
    file_rows: int
    epoch_rows: int
    last: int | None = None

    @property
    def epochs(self) -> int:
        return self.ticks // self.epoch_rows


def run_thalweg(load: Load, out: Path, buckets: int | None = None) -> Epochs:
    """As `thalweg run --degree 2` does it, but the query stays at hand for Spark's own account of its epochs."""
    app = bargains.make_app(load.folder, load.last, tw.files(out, format="parquet"))
    plan = make_plan(app.graph(), degree=CHANNELS, fuse="all", buckets=buckets)
    options = RunOptions(max_tuples_per_epoch=load.epoch_rows, conf=SESSION)
    with (
        opened(plan, options, "spark", balanced_labels(plan.channels)) as run,
        spark_session(None, options.conf, plan.channels) as spark,
    ):
        epochs = finished(start_query(spark, plan, options, run), load.epochs + 1)  # the final one has no tuples
        taken = [report.tuples_in for report in run.checkpoint.reports(0)]
    if taken != [load.epoch_rows] * load.epochs + [0]:
        raise AssertionError(f"Thalweg's epochs took {taken} tuples")
    return epochs[:-1]


def run_plain(form: str, load: Load, out: Path, *, tuned: bool = True) -> Epochs:
    """Tuned: with the same settings as Thalweg's, made by the same function. Otherwise with Spark's own, but for the
    number of partitions."""
    files = load.epoch_rows // load.file_rows
    with tempfile.TemporaryDirectory() as checkpoint, spark_session(None, SESSION, CHANNELS) as spark:
        if not tuned:
            spark = _untuned(spark)
        query = plain.start(spark, form, load.folder, files, load.last, out, Path(checkpoint))
        epochs = finished(query, load.epochs)
    taken = [epoch.numInputRows for epoch in epochs]
    if taken != [load.epoch_rows] * load.epochs:
        raise AssertionError(f"the epochs of {form} took {taken} tuples")
    return epochs


def _untuned(spark: SparkSession) -> SparkSession:
    """What is fixed when the JVM starts (sockets, no compression of shuffles) stays."""
    session = spark.newSession()
    for key in RUNTIME:
        session.conf.unset(key)
    for key, value in {**SESSION, "spark.sql.shuffle.partitions": str(CHANNELS)}.items():
        session.conf.set(key, value)
    return session


def run_bare(number: int, out: Path) -> Epochs:
    with tempfile.TemporaryDirectory() as checkpoint, spark_session(None, SESSION, CHANNELS) as spark:
        return finished(bare.start(spark, number, CHANNELS, out, Path(checkpoint)), number)


def finished(query: StreamingQuery, expected: int) -> Epochs:
    """The epochs of a query that ends by itself, one entry each, in order."""
    try:
        query.awaitTermination()
    finally:
        query.stop()
    epochs = [progress for progress in query.recentProgress if "addBatch" in progress.durationMs]
    if [epoch.batchId for epoch in epochs] != list(range(expected)):
        raise AssertionError(f"expected {expected} epochs, found {[epoch.batchId for epoch in epochs]}")
    return epochs


def run_polars(threads: int, load: Load, out: Path) -> float:
    """Seconds for the whole folder, from files to a file."""
    script = Path(__file__).parents[1] / "polars_bargains.py"
    command = [sys.executable, str(script), str(load.folder), str(out)]
    command += [] if load.last is None else ["--window", str(load.last)]
    environment = {**os.environ, "POLARS_MAX_THREADS": str(threads)}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout)


def epoch_ms(epochs: Epochs) -> list[int]:
    """Spark's own account: from the start of a trigger to its last commit."""
    return [epoch.durationMs["triggerExecution"] for epoch in epochs]

"""Run a plan as one Structured Streaming query."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from thalweg.analysis.liveness import live_attributes
from thalweg.codegen.pe import compile_plan
from thalweg.engine.checkpoint import Checkpoint, EpochReport
from thalweg.engine.feed import feeding
from thalweg.engine.inputs import readers
from thalweg.engine.run import Opened, RunOptions, RunResult, Watch, opened, result
from thalweg.engine.sinks import make_sinks, write_epoch
from thalweg.engine.spark.inspect import committed_epochs
from thalweg.engine.spark.labels import balanced_labels
from thalweg.engine.spark.session import spark_session
from thalweg.engine.spark.source import FORMAT, SourceJob, ThalwegSource
from thalweg.engine.spark.stages import connect
from thalweg.engine.spark.wire import FAILURES, PULSE, read_failures
from thalweg.engine.stages import first_failure
from thalweg.errors import EngineError, ThalwegError
from thalweg.ir.endpoints import SPOOLED, Beacon
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import PhysicalPlan
from thalweg.runtime.container import Failure
from thalweg.runtime.frame import Frame, decode
from thalweg.runtime.order import merge

_POLL_S = 0.05


def run_spark(plan: PhysicalPlan, options: RunOptions, watch: Watch) -> RunResult:
    """Start the query, pass its epoch reports on, and wait for its end."""
    with opened(plan, options, "spark", balanced_labels(plan.channels)) as run:
        done = committed_epochs(run.checkpoint, run.manifest)
        first = done + sum(1 for _ in run.checkpoint.reports(done))
        if run.checkpoint.log.has_end:
            options = replace(options, follow=False)  # killed in its final epoch: it ends, whatever this start wants
        with (
            spark_session(options.master, options.conf, plan.channels) as spark,
            feeding(
                plan.graph.sources, run.checkpoint, max_tuples=options.max_tuples_per_epoch, follow=options.follow
            ) as check_feeders,
        ):
            started = time.monotonic()
            query = start_query(spark, plan, options, run)
            reports = _follow(query, run, options, watch, first, check_feeders)
            seconds = time.monotonic() - started
        if not options.follow:  # then a query that ends by itself has run its final epoch, now or before a crash
            run.checkpoint.mark_ended()
        return result(plan, run, reports, seconds)


def start_query(spark: SparkSession, plan: PhysicalPlan, options: RunOptions, run: Opened) -> StreamingQuery:
    programs = compile_plan(plan)
    labels = run.manifest.labels
    live = live_attributes(plan.graph)
    job = SourceJob(
        checkpoint=str(run.checkpoint.folder),
        sources=plan.graph.sources,
        readers=readers(plan.graph, {s.name: live[s.output] for s in plan.graph.sources}),
        program=programs[0][0],
        labels=labels,
        tasks=max(plan.channels, spark.sparkContext.defaultParallelism),
        max_tuples=options.max_tuples_per_epoch,
        follow=options.follow,
        interval_s=options.interval_s,
        loops=tuple(loop.name for loop in plan.graph.loops),
        first_epoch=run.manifest.first_epoch,
    )
    spark.dataSource.register(ThalwegSource)
    frames = spark.readStream.format(FORMAT).option("job", job.to_option()).load()
    write = EpochWriter.make(plan, run.checkpoint.folder, run.manifest.first_epoch)
    seed = run.checkpoint.seed if run.checkpoint.seed.exists else None
    writer = connect(frames, programs, labels, seed).writeStream.foreachBatch(write)
    writer = writer.option("checkpointLocation", str(run.checkpoint.spark)).queryName(plan.graph.name)
    if options.follow or _waits(plan.graph, run.checkpoint):
        return writer.trigger(processingTime="0 seconds").start()
    return writer.trigger(availableNow=True).start()


def _waits(graph: LogicalGraph, checkpoint: Checkpoint) -> bool:
    """Whether a source may have nothing to say and yet not have ended. Available-now would end the query then."""
    endpoints = [source.endpoint for source in graph.sources]
    may = any(isinstance(e, SPOOLED) or (isinstance(e, Beacon) and e.rate_per_s is not None) for e in endpoints)
    return may and not checkpoint.log.has_end


@dataclass
class EpochWriter:
    """What happens with an epoch's frames in the driver: merge, write, report. It remembers nothing between epochs."""

    plan: PhysicalPlan
    folder: Path
    started: float

    @staticmethod
    def make(plan: PhysicalPlan, folder: Path, first_epoch: int) -> Any:
        """Spark's batches count from 0 in every checkpoint; epochs go on where the migrated one stood."""
        writer = EpochWriter(plan, folder, time.time())
        return lambda rows, batch: writer.write(rows, first_epoch + batch)

    def write(self, rows: DataFrame, number: int) -> None:
        checkpoint = Checkpoint(self.folder)
        try:
            self._write(checkpoint, rows, number)
        except ThalwegError as error:
            checkpoint.record_failure(error)
            raise

    def _write(self, checkpoint: Checkpoint, rows: DataFrame, number: int) -> None:
        frames: dict[int, list[Frame]] = {}
        failures: list[Failure] = []
        # One action: the state is read once, and no operator runs twice.
        table = rows.toArrow()
        for stream, content in zip(table["stream"].to_pylist(), table["frame"], strict=True):
            if stream == FAILURES:
                failures += read_failures(content.as_py())
            elif stream != PULSE:
                frames.setdefault(stream, []).append(decode(content.as_buffer()))
        if (failure := first_failure(failures)) is not None:
            raise failure
        epoch = checkpoint.log[number]
        sinks = make_sinks(self.plan.graph, checkpoint.results)
        merged = {s.name: merge(frames.get(self.plan.sink_wire(s).index, [])) for s in self.plan.graph.sinks}
        out = write_epoch(sinks, number, merged, final=epoch.final)
        seconds = time.time() - self._began(checkpoint, number)
        checkpoint.report(EpochReport(number, epoch.final, epoch.tuples, out, seconds, None))

    def _began(self, checkpoint: Checkpoint, number: int) -> float:
        """When the epoch began: when it was logged, unless it is a replay."""
        return max(self.started, checkpoint.log.written_at(number))


def _follow(
    query: StreamingQuery,
    run: Opened,
    options: RunOptions,
    watch: Watch,
    first: int,
    check_feeders: Callable[[], None],
) -> list[EpochReport]:
    """Read the reports from storage while the query works."""
    reports: list[EpochReport] = []
    try:
        active = True
        while active:
            time.sleep(_POLL_S)
            check_feeders()
            active = query.isActive  # looked up before the reports: the last one is there when the query has ended
            for report in run.checkpoint.reports(first + len(reports)):
                reports.append(report)
                run.show(report.epoch, options)
                watch(report)
            if active and reports and reports[-1].final:
                query.processAllAvailable()  # until Spark, too, has committed it; nothing comes behind it
                return reports
        query.awaitTermination()
    except StreamingQueryException as error:
        raise run.checkpoint.failure() or _engine_error(error) from error
    finally:
        query.stop()
    return reports


def _engine_error(error: StreamingQueryException) -> EngineError:
    message = str(error)
    last = next(
        (line for line in reversed(message.splitlines()) if "Error" in line or "Exception" in line), message[:400]
    )
    return EngineError("Spark stopped the query", found=last.strip(), hint="--debug shows all that Spark said")

"""Run a plan as one Structured Streaming query."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from thalweg.analysis.liveness import live_attributes
from thalweg.analysis.order_needs import ordered_sinks
from thalweg.codegen.pe import compile_plan
from thalweg.engine.core.run import Opened, RunOptions, RunResult, Watch, opened, result
from thalweg.engine.core.stage_programs import Passed, first_failure
from thalweg.engine.core.timing import Laps, rounded, timed
from thalweg.engine.inputs.feeders import feeding
from thalweg.engine.inputs.readers import readers
from thalweg.engine.inputs.retention import Retention
from thalweg.engine.sinks.writers import make_sinks, write_epoch
from thalweg.engine.spark.connectors import check_connectors, rows_writer, with_packages
from thalweg.engine.spark.deploy import deployed
from thalweg.engine.spark.labels import balanced_labels
from thalweg.engine.spark.process_deaths import query_error
from thalweg.engine.spark.progress import ProgressReader, joined
from thalweg.engine.spark.read_state import committed_epochs
from thalweg.engine.spark.row_feed import row_feeding
from thalweg.engine.spark.session import spark_session
from thalweg.engine.spark.settings import check_settings
from thalweg.engine.spark.source import FORMAT, SourceJob, ThalwegSource
from thalweg.engine.spark.stage_operators import connect
from thalweg.engine.spark.wire import COUNTS, ERRORS, FAILURES, PULSE, first_error, read_counts, read_failures
from thalweg.engine.spark.worker_notes import Notes
from thalweg.engine.storage.checkpoint import Checkpoint, EpochReport
from thalweg.engine.storage.report import Tally, operator_counts, pe_times
from thalweg.errors import ThalwegError
from thalweg.ir.endpoints import SPOOLED, Beacon
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import PhysicalPlan
from thalweg.ir.row_endpoints import ROWS
from thalweg.runtime.frame import Frame, decode
from thalweg.runtime.order import gather

_POLL_S = 0.05


def run_spark(plan: PhysicalPlan, options: RunOptions, watch: Watch, session: SparkSession | None = None) -> RunResult:
    """Start the query, pass its epoch reports on, and wait for its end."""
    check_settings(options.master, options.conf)
    with opened(plan, options, "spark", balanced_labels(plan.channels)) as run:
        done = committed_epochs(run.checkpoint, run.manifest)
        first = done + sum(1 for _ in run.checkpoint.reports(done))
        if run.checkpoint.log.has_end:
            options = replace(options, follow=False)  # killed in its final epoch: it ends, whatever this start wants
        conf = with_packages(plan.graph, options.conf)
        brief = not waits(plan.graph, run.checkpoint, options)
        with (
            spark_session(options.master, conf, plan.channels, session, brief=brief) as spark,
            all_feeding(spark, plan.graph, run.checkpoint, options) as check_feeders,
        ):
            started = time.monotonic()
            tally = Tally()
            if not options.stop.requested:
                endless = waits(plan.graph, run.checkpoint, options)
                with deployed(spark, plan.graph, run.checkpoint):
                    query = start_query(spark, plan, options, run)
                tally = _follow(query, run, options, watch, first, check_feeders, plan.graph, endless=endless)
            seconds = time.monotonic() - started
        # The final epoch was run now, or before a crash. A query that somebody stopped has not come so far.
        ended = run.checkpoint.log.has_end and first + tally.epochs not in run.checkpoint.log
        if ended:
            run.checkpoint.mark_ended()
        return result(plan, run, tally, seconds, stopped=not ended)


@contextmanager
def all_feeding(
    spark: SparkSession, graph: LogicalGraph, checkpoint: Checkpoint, options: RunOptions
) -> Iterator[Callable[[], None]]:
    """Feed all spools while the block runs: from threads of the driver, and from queries of this session."""
    check_connectors(spark, graph)
    limit, follow = options.max_tuples_per_epoch, options.follow
    with (
        feeding(graph.sources, checkpoint, max_tuples=limit, follow=follow) as check,
        row_feeding(spark, graph.name, graph.sources, checkpoint, max_tuples=limit, follow=follow) as check_rows,
    ):

        def check_all() -> None:
            check()
            check_rows()

        yield check_all


def start_query(spark: SparkSession, plan: PhysicalPlan, options: RunOptions, run: Opened) -> StreamingQuery:
    frames = frames_of(spark, plan, options, run)
    writer = frames.writeStream.foreachBatch(EpochWriter.make(plan, run.checkpoint.folder, run.manifest.first_epoch))
    writer = writer.option("checkpointLocation", str(run.checkpoint.spark)).queryName(plan.graph.name)
    if waits(plan.graph, run.checkpoint, options):
        return writer.trigger(processingTime="0 seconds").start()
    return writer.trigger(availableNow=True).start()


def frames_of(spark: SparkSession, plan: PhysicalPlan, options: RunOptions, run: Opened) -> DataFrame:
    """The frames behind the last stage, epoch by epoch."""
    programs = compile_plan(plan)
    labels, notes = run.manifest.labels, Notes.of(run.checkpoint.folder)
    notes.clear()
    live = live_attributes(plan.graph)
    job = SourceJob(
        checkpoint=str(run.checkpoint.folder),
        sources=plan.graph.sources,
        readers=readers(plan.graph, {s.name: live[s.output] for s in plan.graph.sources}, skip_unwanted=True),
        program=programs[0][0],
        labels=labels,
        tasks=1 if plan.reads_in_one else max(plan.channels, spark.sparkContext.defaultParallelism),
        max_tuples=options.max_tuples_per_epoch,
        follow=options.follow,
        interval_s=options.interval_s,
        loops=tuple(loop.name for loop in plan.graph.loops),
        first_epoch=run.manifest.first_epoch,
    )
    spark.dataSource.register(ThalwegSource)
    frames = spark.readStream.format(FORMAT).option("job", job.to_option()).load()
    seed = run.checkpoint.seed if run.checkpoint.seed.exists else None
    return connect(frames, programs, labels, notes, seed)


def waits(graph: LogicalGraph, checkpoint: Checkpoint, options: RunOptions) -> bool:
    """Whether a source may have nothing to say and yet not have ended. Available-now would end the query then."""
    if options.follow:
        return True
    endpoints = [source.endpoint for source in graph.sources]
    may = any(
        isinstance(e, (*SPOOLED, *ROWS)) or (isinstance(e, Beacon) and e.rate_per_s is not None) for e in endpoints
    )
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
        passed, laps, sinks_laps = Passed(), Laps(), Laps()
        errors: list[bytes] = []
        # One action: the state is read once, and no operator runs twice.
        with laps.part("run"):
            table = rows.toArrow()
        with laps.part("sinks"):
            for stream, content in zip(table["stream"].to_pylist(), table["frame"], strict=True):
                if stream == FAILURES:
                    passed.failures += read_failures(content.as_py())
                elif stream == ERRORS:
                    errors.append(content.as_py())
                elif stream == COUNTS:
                    passed.counts.add(read_counts(content.as_py()))
                elif stream != PULSE:
                    frames.setdefault(stream, []).append(decode(content.as_buffer()))
            if errors:
                raise first_error(errors)
            if (failure := first_failure(passed.failures)) is not None:
                raise failure
            epoch = checkpoint.log[number]
            sinks = make_sinks(self.plan.graph, checkpoint.results, rows_writer(rows.sparkSession))
            merged: dict[str, Frame | None] = {}
            ordered = ordered_sinks(self.plan.graph)
            for sink in self.plan.graph.sinks:
                with sinks_laps.part(sink.name):
                    arrived = frames.get(self.plan.sink_wire(sink).index, [])
                    merged[sink.name] = gather(arrived, ordered=sink.name in ordered)
            out = write_epoch(timed(sinks, sinks_laps), number, merged, final=epoch.final)
        seconds = time.time() - self._began(checkpoint, number)
        cut = checkpoint.cut_of(number)
        if cut is not None:
            laps.seconds["cut"] = cut.seconds
        report = EpochReport(
            number,
            epoch.final,
            epoch.tuples,
            out,
            round(seconds, 6),
            None if cut is None else cut.backlog,
            operators=operator_counts(self.plan.graph, passed.counts, epoch),
            pes=pe_times(passed.counts.spent),
            parts=rounded(laps.seconds),
            sinks=rounded(sinks_laps.seconds),
        )
        checkpoint.report(report)

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
    graph: LogicalGraph,
    *,
    endless: bool,
) -> Tally:
    """Read the reports from storage while the query works. After a stop the source gives no more epochs; a query that
    is not endless ends by itself then."""
    tally = Tally()
    retention = Retention(run.checkpoint, graph.sources, options.keep_epochs)
    settled = False
    try:
        active = True
        while active:
            time.sleep(_POLL_S)
            check_feeders()
            if options.stop.requested and run.manifest.first_epoch not in run.checkpoint.log:
                return tally  # there was no epoch yet, and none is in progress
            if options.stop.requested and not run.checkpoint.is_to_stop:
                run.checkpoint.ask_to_stop()
                if endless:
                    query.processAllAvailable()  # until Spark has committed the epoch in progress
                    settled = True
            active = query.isActive  # looked up before the reports: the last one is there when the query has ended
            for report in _reports(query, run, first + tally.epochs, complete=active):
                tally.add(report)
                run.show(report.epoch, options)
                watch(report)
                retention.committed(report.epoch)
            number = first + tally.epochs
            options.stop.epoch = number if number in run.checkpoint.log else None
            if active and tally.final:
                query.processAllAvailable()  # until Spark, too, has committed it; nothing comes behind it
                return tally
            if settled:
                return tally
        query.awaitTermination()
    except StreamingQueryException as error:
        notes = Notes.of(run.checkpoint.folder)
        raise run.checkpoint.failure() or query_error(error, run.checkpoint.folder, notes, graph) from error
    finally:
        query.stop()
    return tally


def _reports(query: StreamingQuery, run: Opened, number: int, *, complete: bool) -> Iterator[EpochReport]:
    """The reports from this epoch on, each with what Spark says of it; `complete`: wait until Spark has spoken."""
    spoken = ProgressReader(query)
    for report in run.checkpoint.reports(number):
        known, progress = spoken.get(report.epoch - run.manifest.first_epoch)
        if complete and not known:
            return
        if progress is not None:
            report = joined(report, progress)
            run.checkpoint.report(report)
        yield report

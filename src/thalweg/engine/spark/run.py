"""Run a plan as one Structured Streaming query."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from thalweg.analysis.liveness import live_attributes
from thalweg.analysis.source_predicates import wanted
from thalweg.codegen.pe_module import compile_plan
from thalweg.engine.core.epoch_loop import follow
from thalweg.engine.core.run import Opened, RunOptions, RunResult, Watch, already_finished, opened, result
from thalweg.engine.inputs.feeders import feeding
from thalweg.engine.inputs.readers import readers
from thalweg.engine.spark.connectors import check_connectors, with_packages
from thalweg.engine.spark.deploy import deployed
from thalweg.engine.spark.epoch_writer import EpochWriter
from thalweg.engine.spark.labels import balanced_labels
from thalweg.engine.spark.process_deaths import query_error
from thalweg.engine.spark.progress import ProgressReader, joined
from thalweg.engine.spark.read_state import committed_epochs
from thalweg.engine.spark.row_feed import row_feeding
from thalweg.engine.spark.session import spark_session
from thalweg.engine.spark.settings import check_settings
from thalweg.engine.spark.source import FORMAT, SourceJob, ThalwegSource
from thalweg.engine.spark.stage_operators import connect
from thalweg.engine.spark.worker_notes import NoteFolder
from thalweg.engine.storage.checkpoint import Checkpoint, EpochReport
from thalweg.engine.storage.report import Tally
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import Plan

_POLL_S = 0.05


def run_spark(plan: Plan, options: RunOptions, watch: Watch, session: SparkSession | None = None) -> RunResult:
    """Start the query, pass on its epoch reports, and wait for its end."""
    check_settings(options.master, options.conf)
    with opened(plan, options, "spark", balanced_labels(plan.channels)) as run:
        if run.checkpoint.has_ended:
            return already_finished(plan, run)
        done = committed_epochs(run.checkpoint, run.manifest)
        first = done + sum(1 for _ in run.checkpoint.reports(done))
        if run.checkpoint.log.has_end:
            options = replace(options, follow=False)  # killed in its final epoch: it ends, even with `follow`
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
                work = _Query(query, plan.graph, run, options, check_feeders, first, endless)
                tally = follow(plan.graph, run, options, watch, work.reports())
            seconds = time.monotonic() - started
        # The final epoch was run now, or before a crash. A query that was stopped has not reached it.
        ended = run.checkpoint.log.has_end and first + tally.epochs not in run.checkpoint.log
        if ended:
            run.checkpoint.mark_ended()
        for error in NoteFolder.of(run.checkpoint.folder).errors():
            raise error
        return result(plan, run, tally, seconds, stopped=not ended)


@contextmanager
def all_feeding(
    spark: SparkSession, graph: LogicalGraph, checkpoint: Checkpoint, options: RunOptions
) -> Iterator[Callable[[], None]]:
    """Feed all spools while the block runs, from threads of the driver and from queries of this session."""
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


def start_query(spark: SparkSession, plan: Plan, options: RunOptions, run: Opened) -> StreamingQuery:
    frames = frames_of(spark, plan, options, run)
    epochs = EpochWriter(plan, run.checkpoint.folder, run.manifest.first_epoch)
    writer = frames.writeStream.foreachBatch(epochs.write)
    writer = writer.option("checkpointLocation", str(run.checkpoint.spark)).queryName(plan.graph.name)
    if waits(plan.graph, run.checkpoint, options):
        return writer.trigger(processingTime="0 seconds").start()
    return writer.trigger(availableNow=True).start()


def frames_of(spark: SparkSession, plan: Plan, options: RunOptions, run: Opened) -> DataFrame:
    """The frames after the last stage, epoch by epoch."""
    programs = compile_plan(plan)
    labels, notes = run.manifest.labels, NoteFolder.of(run.checkpoint.folder)
    notes.clear()
    live = live_attributes(plan.graph)
    job = SourceJob(
        checkpoint=str(run.checkpoint.folder),
        sources=plan.graph.sources,
        readers=readers(plan.graph, {s.name: live[s.output] for s in plan.graph.sources}, wanted=wanted),
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
    """Whether a source may have no data and yet not have ended. The available-now trigger would end the query then."""
    if options.follow:
        return True
    return any(source.endpoint.waits for source in graph.sources) and not checkpoint.log.has_end


@dataclass(slots=True)
class _Query:
    """A running query, followed through its stored reports. After a stop the source returns no more epochs; then a
    query that is not endless ends by itself."""

    query: StreamingQuery
    graph: LogicalGraph
    run: Opened
    options: RunOptions
    check_feeders: Callable[[], None]
    number: int  # of the next epoch
    endless: bool
    final: bool = False  # whether the last report was that of the final epoch

    def reports(self) -> Generator[EpochReport, None, None]:
        try:
            yield from self._until_it_ends()
        except StreamingQueryException as error:
            notes = NoteFolder.of(self.run.checkpoint.folder)
            failure = self.run.checkpoint.failure()
            raise failure or query_error(error, self.run.checkpoint.folder, notes, self.graph) from error
        finally:
            self.query.stop()

    def _until_it_ends(self) -> Generator[EpochReport, None, None]:
        checkpoint, stop = self.run.checkpoint, self.options.stop
        active, idle = True, False
        while active:
            time.sleep(_POLL_S)
            self.check_feeders()
            if stop.requested and self.run.manifest.first_epoch not in checkpoint.log:
                return  # there has been no epoch yet, and none is in progress
            if stop.requested and not checkpoint.is_to_stop:
                checkpoint.ask_to_stop()
                if self.endless:
                    self.query.processAllAvailable()  # until Spark has committed the epoch in progress
                    idle = True
            active = self.query.isActive  # read before the reports: when the query has ended, the last one exists
            for report in _reports(self.query, self.run, self.number, complete=active):
                yield report
                self.number, self.final = self.number + 1, report.final
            stop.epoch = self.number if self.number in checkpoint.log else None
            if active and self.final:
                self.query.processAllAvailable()  # until Spark has committed it, too; nothing follows it
                return
            if idle:
                return
        self.query.awaitTermination()


def _reports(query: StreamingQuery, run: Opened, number: int, *, complete: bool) -> Iterator[EpochReport]:
    """The reports from this epoch on, each with Spark's progress. `complete`: omit those that still lack it."""
    progress_reader = ProgressReader(query)
    for report in run.checkpoint.reports(number):
        known, progress = progress_reader.get(report.epoch - run.manifest.first_epoch)
        if complete and not known:
            return
        if progress is not None:
            report = joined(report, progress)
            run.checkpoint.report(report)
        yield report

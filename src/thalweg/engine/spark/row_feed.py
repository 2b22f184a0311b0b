"""Feeding queries: the rows of Spark's built-in sources are written to spools, one file per batch.

A feeding query is an ordinary query of the session with its own checkpoint next to the spool. A file has the number of
its batch. If a batch is run again after a crash, its existing file is left unchanged, so the rows that an epoch may
have taken never change, whatever the source returns the second time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from thalweg.engine.inputs.feeders import Stopped, not_written, raise_first, room_in_spool
from thalweg.engine.inputs.split_rows import SPLIT, KnownSplits
from thalweg.engine.inputs.spool import End, Spool
from thalweg.engine.spark.connectors import root_cause
from thalweg.engine.spark.row_frames import rows_of
from thalweg.engine.spark.row_schema import check_columns
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.errors import CheckpointError, InputError, StorageError, ThalwegError
from thalweg.ir.endpoints import FedBySpark
from thalweg.ir.operators import Source

_ROOM_POLL_S, _TRIGGER = 0.02, "200 milliseconds"
_IDLE_INTERVAL = "spark.sql.streaming.noDataProgressEventInterval"
_setting = threading.Lock()


class RowFeeder:
    """Appends the batches of one source to its spool."""

    def __init__(
        self, source: Source, spool: Spool, room: Callable[[int], bool], endpoint: FedBySpark, *, follow: bool
    ) -> None:
        spool.open(again=follow)
        self.source, self.spool, self._room = source, spool, room
        self.files, self.tuples = spool.contents()
        self.endpoint, self.splits = endpoint, KnownSplits(spool)
        self._offsets: Path | None = None  # of the query's batches
        self.failure: ThalwegError | None = None  # an error that could not be recorded in the spool
        self._stopped = threading.Event()
        self._broken: ThalwegError | None = None
        self._batches = 0  # of this query
        self._left = False  # the query was stopped while a batch was running
        self._query: StreamingQuery | None = None
        self._again: Callable[[], StreamingQuery]
        self._thread: threading.Thread | None = None

    def start(self, rows: DataFrame, name: str, checkpoint: Path, *, follow: bool) -> None:
        check_columns(self.source, rows.schema, self.endpoint.split_by)
        needed = (*self.source.outputs[0].names, *self.endpoint.batch_order, *self.endpoint.split_by)
        columns = [f"`{n}`" for n in dict.fromkeys(needed)]
        rows = rows.select(*columns)
        if rows.isStreaming:
            self._offsets = checkpoint / "offsets"
            writer = rows.writeStream.foreachBatch(self._write).queryName(name)
            writer = writer.option("checkpointLocation", str(checkpoint))
            timed = writer.trigger(processingTime=_TRIGGER) if follow else writer.trigger(availableNow=True)
            self._query = self._begin(rows, timed)
            self._again = lambda: self._begin_again(rows, timed)
        self._thread = threading.Thread(target=self._watch, args=(rows, follow), daemon=True)
        self._thread.start()

    def _begin(self, rows: DataFrame, writer: DataStreamWriter) -> StreamingQuery:
        self._batches = 0
        with _idle_reports(rows.sparkSession):
            return writer.start()

    def _begin_again(self, rows: DataFrame, writer: DataStreamWriter) -> StreamingQuery:
        """Wait until the name of the ended query is free: Spark reports the end shortly before it frees the name."""
        assert self._query is not None
        while any(active.id == self._query.id for active in rows.sparkSession.streams.active):
            self._stopped.wait(_ROOM_POLL_S)
        return self._begin(rows, writer)

    def stop(self) -> None:
        """Stop writing. The flag is set first: stopping the query waits for a batch that may be waiting for room."""
        self._stopped.set()
        if self._query is not None:
            self._query.stop()
        if self._thread is not None:
            self._thread.join()

    def _write(self, rows: DataFrame, batch: int) -> None:
        try:
            self._append(rows, batch)
        except ThalwegError as error:
            self._broken = error
            raise
        self._batches += 1
        self._left = self._query is not None and not self._query.isActive

    def _append(self, rows: DataFrame, batch: int) -> None:
        if batch < self.files:
            return
        if batch > self.files:
            raise CheckpointError(
                "the spool does not match the checkpoint of its query",
                operator=self.source.name,
                expected=f"batch {self.files}",
                found=f"batch {batch}",
                hint="part of the checkpoint's `spool` folder was deleted or restored on its own: restore all of it",
            )
        while not self._room(self.tuples):
            self._stopped.wait(_ROOM_POLL_S)
            self._check()
        table = self._table(rows, batch)
        self._check()
        try:
            self.spool.write_table(batch, table)
        except (OSError, pa.ArrowException) as error:
            raise not_written(self.source, error) from None
        self.files, self.tuples = self.files + 1, self.tuples + len(table)

    def _table(self, rows: DataFrame, batch: int) -> pa.Table:
        table, columns = rows.toArrow(), list(self.source.outputs[0].names)
        if self.endpoint.batch_order:
            table = table.sort_by([(name, "ascending") for name in self.endpoint.batch_order])
        if self.endpoint.split_by:
            table = self.splits.numbered(table, self.endpoint.split_by, self._known_splits(batch))
            columns.append(SPLIT)
        return table.select(columns)

    def _known_splits(self, batch: int) -> Iterator[tuple[object, ...]]:
        """The splits at the end of a batch: Spark writes its offset before it runs the batch."""
        if self._offsets is None:
            return
        version, _, *offsets = (self._offsets / str(batch)).read_text().splitlines()
        if version != "v1":
            raise CheckpointError(
                "the offsets of a feeding query have an unknown format",
                operator=self.source.name,
                expected="v1",
                found=version,
                hint="start Spark without spark.sql.streaming.offsetLog.formatVersion",
            )
        for offset in offsets:
            yield from self.endpoint.splits_at(offset)

    def _check(self) -> None:
        """Raise if stopped. An abandoned batch must fail: Spark commits a batch that returns."""
        if self._stopped.is_set():
            raise Stopped

    def _watch(self, rows: DataFrame, follow: bool) -> None:
        """Wait for the end of the query and record it in the spool."""
        problem: ThalwegError | None = None
        try:
            if self._query is None:
                self._write(rows, 0)
            elif self._was_stopped(self._query, follow):
                problem = self.failed("its query was stopped")
        except Stopped:
            return
        except Exception as error:  # of any kind: the run must not wait forever
            problem = self._broken or self.failed(root_cause(error))
        if self._stopped.is_set():
            return
        try:
            self.spool.mark_end(End(problem))
        except (OSError, StorageError) as error:
            self.failure = problem or not_written(self.source, error)

    def _was_stopped(self, query: StreamingQuery, follow: bool) -> bool:
        """Wait for the end of the query and return whether it ended before it had read everything.

        Spark reports the same status for a query that has read everything and for one that was stopped. But a query
        that has read everything looked for more data and reported that there was none. The exception is a source that
        does not support `availableNow`: its query runs one batch and does not look again. Then a second query does.
        """
        query.awaitTermination()
        if follow or self._left:
            return True
        if self._batches == 1 and not self._found_nothing(query) and not self._stopped.is_set():
            self._query = query = self._again()
            if self._stopped.is_set():
                query.stop()  # `stop` did not know of the new query
            query.awaitTermination()
            return self._left or not (self._found_nothing(query) or self._batches == 1)
        return not self._found_nothing(query)

    def _found_nothing(self, query: StreamingQuery) -> bool:
        """Whether the last progress report is that of an idle query: it has the number of the next batch."""
        last = query.lastProgress
        return last is not None and last["batchId"] >= self.files

    def failed(self, found: str) -> InputError:
        """The error of a source that cannot be read."""
        return InputError(
            f"{self.source.endpoint.title} cannot be read",
            operator=self.source.name,
            where=self.source.where,
            found=found,
            hint="start again: the rows read so far are kept, and the query resumes after them",
        )


@contextmanager
def _idle_reports(session: SparkSession) -> Iterator[None]:
    """Make queries that are started in the block report immediately that they found no data.

    The setting is restored afterwards because the session may be the user's.
    """
    with _setting:
        before = session.conf.get(_IDLE_INTERVAL, None)
        session.conf.set(_IDLE_INTERVAL, "0")
        try:
            yield
        finally:
            session.conf.unset(_IDLE_INTERVAL) if before is None else session.conf.set(_IDLE_INTERVAL, before)


@contextmanager
def row_feeding(
    spark: SparkSession, app: str, sources: Sequence[Source], checkpoint: Checkpoint, *, max_tuples: int, follow: bool
) -> Iterator[Callable[[], None]]:
    """Feed the spools of the row sources while the block runs, as `feeding` does for other sources."""
    wanted = [(s, e) for s in sources if isinstance(e := s.endpoint, FedBySpark) and _has_more(s, checkpoint, follow)]
    feeders: list[RowFeeder] = []
    try:
        for source, endpoint in wanted:
            spool = Spool.of(checkpoint.spools, source.name)
            room = room_in_spool(checkpoint.log, source.name, max_tuples)
            feeder = RowFeeder(source, spool, room, endpoint, follow=follow)
            feeders.append(feeder)
            rows = rows_of(spark, source, endpoint, max_tuples)
            try:
                feeder.start(rows, f"{app} feeds {source.name}", spool.folder.with_suffix(".query"), follow=follow)
            except ThalwegError:
                raise
            except Exception as error:  # PySpark does not have a class for every JVM error
                raise feeder.failed(root_cause(error)) from error
        yield lambda: raise_first(feeders)
    finally:
        for feeder in feeders:
            feeder.stop()


def _has_more(source: Source, checkpoint: Checkpoint, follow: bool) -> bool:
    """Whether the source must be read. After the final epoch it is not; before that, a source that an earlier start
    without `follow` has read to its end is complete, and one that failed is read again."""
    end = Spool.of(checkpoint.spools, source.name).end()
    return not checkpoint.log.has_end and (follow or end is None or end.error is not None)

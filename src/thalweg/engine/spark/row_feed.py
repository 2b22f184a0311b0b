"""Feeding queries: what Spark's own sources say goes into spools, a file per batch.

A feeding query is an ordinary query of the session with a checkpoint of its own beside the spool. The number of a file
is the number of the batch. A batch that is run again after a crash finds its file and leaves it, so what an epoch may
have taken never changes, whatever the source says the second time.
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

from thalweg.engine.inputs.feeders import Stopped, _room
from thalweg.engine.inputs.spool import End, Spool
from thalweg.engine.spark.connectors import root_cause
from thalweg.engine.spark.row_frames import rows_of
from thalweg.engine.spark.row_schema import check_columns
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.errors import CheckpointError, EngineError, InputError, StorageError, ThalwegError
from thalweg.ir.endpoints import FedBySpark
from thalweg.ir.operators import Source

_ROOM_POLL_S, _TRIGGER = 0.02, "200 milliseconds"
_IDLE_SAID = "spark.sql.streaming.noDataProgressEventInterval"
_setting = threading.Lock()


class RowFeeder:
    """Appends the batches of one source to its spool."""

    def __init__(
        self, source: Source, spool: Spool, room: Callable[[int], bool], order: tuple[str, ...], *, follow: bool
    ) -> None:
        spool.open(again=follow)
        self.source, self.spool, self._room = source, spool, room
        self.files, self.tuples = spool.contents()
        self.order = order
        self.failure: ThalwegError | None = None  # what could not even be written into the spool
        self._stopped = threading.Event()
        self._broken: ThalwegError | None = None
        self._batches = 0  # of this query
        self._left = False  # it was stopped while a batch was at work
        self._query: StreamingQuery | None = None
        self._again: Callable[[], StreamingQuery]
        self._thread: threading.Thread | None = None

    def start(self, rows: DataFrame, name: str, checkpoint: Path, *, follow: bool) -> None:
        check_columns(self.source, rows.schema)
        columns = [f"`{n}`" for n in dict.fromkeys((*self.source.outputs[0].names, *self.order))]
        rows = rows.select(*columns)
        if rows.isStreaming:
            writer = rows.writeStream.foreachBatch(self._write).queryName(name)
            writer = writer.option("checkpointLocation", str(checkpoint))
            timed = writer.trigger(processingTime=_TRIGGER) if follow else writer.trigger(availableNow=True)
            self._query = self._begin(rows, timed)
            self._again = lambda: self._begin_again(rows, timed)
        self._thread = threading.Thread(target=self._watch, args=(rows, follow), daemon=True)
        self._thread.start()

    def _begin(self, rows: DataFrame, writer: DataStreamWriter) -> StreamingQuery:
        self._batches = 0
        with _idleness_said(rows.sparkSession):
            return writer.start()

    def _begin_again(self, rows: DataFrame, writer: DataStreamWriter) -> StreamingQuery:
        """Spark reports the end of a query a little before it frees the query's name."""
        assert self._query is not None
        while any(active.id == self._query.id for active in rows.sparkSession.streams.active):
            self._stopped.wait(_ROOM_POLL_S)
        return self._begin(rows, writer)

    def stop(self) -> None:
        """Afterwards nothing is written any more. Before Spark is asked: it waits for a batch that waits for room."""
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
                "the spool and the checkpoint of its query do not fit",
                operator=self.source.name,
                expected=f"batch {self.files}",
                found=f"batch {batch}",
                hint="a part of the folder `spool` of the checkpoint was deleted or restored alone: restore all of it",
            )
        while not self._room(self.tuples):
            self._stopped.wait(_ROOM_POLL_S)
            self._check()
        table = self._table(rows)
        self._check()
        try:
            self.spool.write_table(batch, table)
        except (OSError, pa.ArrowException) as error:
            raise self._cannot(error) from None
        self.files, self.tuples = self.files + 1, self.tuples + len(table)

    def _table(self, rows: DataFrame) -> pa.Table:
        table = rows.toArrow()
        if self.order:
            table = table.sort_by([(name, "ascending") for name in self.order])
        return table.select(list(self.source.outputs[0].names))

    def _check(self) -> None:
        """A batch that is left must fail: one that returns is committed."""
        if self._stopped.is_set():
            raise Stopped

    def _watch(self, rows: DataFrame, follow: bool) -> None:
        """Until the query ends, and say so in the spool."""
        problem: ThalwegError | None = None
        try:
            if self._query is None:
                self._write(rows, 0)
            elif self._was_stopped(self._query, follow):
                problem = self._failed("somebody stopped its query")
        except Stopped:
            return
        except Exception as error:  # whatever it is, the run must not wait for ever
            problem = self._broken or self._failed(root_cause(error))
        if self._stopped.is_set():
            return
        try:
            self.spool.mark_end(End(problem))
        except (OSError, StorageError) as error:
            self.failure = problem or self._cannot(error)

    def _was_stopped(self, query: StreamingQuery, follow: bool) -> bool:
        """Wait for its end; whether it has not read all. Spark says the same of a query that has and of one that was
        stopped. But one that has read all looked for more, found nothing, and said so. Only where its source does not
        know `availableNow` it makes one batch and does not look: then we do, by another one."""
        query.awaitTermination()
        if follow or self._left:
            return True
        if self._batches == 1 and not self._found_nothing(query) and not self._stopped.is_set():
            self._query = query = self._again()
            if self._stopped.is_set():
                query.stop()  # whoever stopped us did not know of it
            query.awaitTermination()
            return self._left or not (self._found_nothing(query) or self._batches == 1)
        return not self._found_nothing(query)

    def _found_nothing(self, query: StreamingQuery) -> bool:
        """Said last, in the name of the batch that would come."""
        last = query.lastProgress
        return last is not None and last["batchId"] >= self.files

    def _cannot(self, error: Exception) -> ThalwegError:
        if isinstance(error, StorageError):
            return error
        return EngineError("the spool cannot be written", operator=self.source.name, found=str(error))

    def _failed(self, found: str) -> InputError:
        return InputError(
            f"{self.source.endpoint.title} cannot be read",
            operator=self.source.name,
            where=self.source.where,
            found=found,
            hint="start again: what was read is kept, and the query goes on behind it",
        )


@contextmanager
def _idleness_said(session: SparkSession) -> Iterator[None]:
    """A query that is started in the block says at once that it found nothing. Its session may be the user's."""
    with _setting:
        before = session.conf.get(_IDLE_SAID, None)
        session.conf.set(_IDLE_SAID, "0")
        try:
            yield
        finally:
            session.conf.unset(_IDLE_SAID) if before is None else session.conf.set(_IDLE_SAID, before)


@contextmanager
def row_feeding(
    spark: SparkSession, app: str, sources: Sequence[Source], checkpoint: Checkpoint, *, max_tuples: int, follow: bool
) -> Iterator[Callable[[], None]]:
    """Feed the spools of the row sources while the block runs; as `feeding` does for the others."""
    wanted = [(s, e) for s in sources if isinstance(e := s.endpoint, FedBySpark) and _has_more(s, checkpoint, follow)]
    feeders: list[RowFeeder] = []
    try:
        for source, endpoint in wanted:
            spool = Spool.of(checkpoint.spools, source.name)
            room = _room(checkpoint.log, source.name, max_tuples)
            feeder = RowFeeder(source, spool, room, endpoint.batch_order, follow=follow)
            feeders.append(feeder)
            rows = rows_of(spark, source, endpoint, max_tuples)
            try:
                feeder.start(rows, f"{app} feeds {source.name}", spool.folder.with_suffix(".query"), follow=follow)
            except ThalwegError:
                raise
            except Exception as error:  # not all that the JVM says has a class of its own in PySpark
                raise feeder._failed(root_cause(error)) from error
        yield lambda: _raise_first(feeders)
    finally:
        for feeder in feeders:
            feeder.stop()


def _has_more(source: Source, checkpoint: Checkpoint, follow: bool) -> bool:
    """Behind a final epoch nothing is asked for. Before it, what was there at an earlier start without `follow` may
    have been all of it then; one that failed is asked again."""
    end = Spool.of(checkpoint.spools, source.name).end()
    return not checkpoint.log.has_end and (follow or end is None or end.error is not None)


def _raise_first(feeders: Sequence[RowFeeder]) -> None:
    for feeder in feeders:
        if feeder.failure is not None:
            raise feeder.failure

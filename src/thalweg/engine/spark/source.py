"""Thalweg's split source: cuts epochs, checks files at every replay, and runs the first PE in the reading tasks."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from thalweg.engine.core.stage_programs import Passed, run_fed, run_source_pe
from thalweg.engine.inputs.cutter import EpochCutter
from thalweg.engine.inputs.feedback import stored_feedback
from thalweg.engine.inputs.readers import InputReader
from thalweg.engine.spark.check_reachable import unreachable
from thalweg.engine.spark.wire import SCHEMA, EpochPulse, batch, error_row, parcel_rows, passed_rows
from thalweg.engine.spark.worker_notes import NoteFolder
from thalweg.engine.spark.worker_pes import close_pe, pes_of
from thalweg.engine.storage.checkpoint import Checkpoint, Cut
from thalweg.engine.storage.log import Epoch, Piece
from thalweg.errors import CheckpointError, ThalwegError
from thalweg.ir.operators import Source
from thalweg.runtime.frame import Frame
from thalweg.runtime.pe_program import Program

FORMAT = "thalweg"
_POLL_S = 0.1


@dataclass(frozen=True)
class SourceJob:
    """The parameters of the source, for the driver's source process and for the tasks."""

    checkpoint: str
    sources: tuple[Source, ...]
    readers: dict[str, InputReader]
    program: Program
    labels: tuple[int, ...]
    tasks: int
    max_tuples: int
    follow: bool
    interval_s: float
    loops: tuple[str, ...] = ()
    first_epoch: int = 0
    rows_per_task: int = 25_000  # below that a second task costs more than it gains

    def to_option(self) -> str:
        return base64.b64encode(cloudpickle.dumps(self)).decode()

    @staticmethod
    def from_option(text: str) -> SourceJob:
        job: SourceJob = cloudpickle.loads(base64.b64decode(text))
        return job


class TaskInput(InputPartition):
    """The part of an epoch that one task reads."""

    def __init__(self, index: int, pieces: list[Piece], pulse: EpochPulse) -> None:
        super().__init__(index)
        self.index, self.pieces, self.pulse = index, pieces, pulse


class ThalwegSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: Any) -> SplitReader:  # noqa: N802
        return SplitReader(self.options["job"])


class SplitReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """An offset is the number of an epoch of the input log and its digest; the log holds the rest."""

    def __init__(self, option: str) -> None:
        self.option = option
        self._job: SourceJob | None = None
        self._cutter: EpochCutter | None = None

    def __getstate__(self) -> str:
        return self.option  # tasks do not need the list of files

    def __setstate__(self, option: str) -> None:
        self.__init__(option)  # type: ignore[misc]

    @property
    def job(self) -> SourceJob:
        if self._job is None:
            self._job = SourceJob.from_option(self.option)
        return self._job

    @property
    def checkpoint(self) -> Checkpoint:
        return Checkpoint(Path(self.job.checkpoint))

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {"epoch": self.job.first_epoch - 1, "digest": "", "final": False}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable()  # epochs are cut by the log, not by Spark

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        pass

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The offset of the next epoch, or `start` if there is no new data."""
        try:
            epoch = self._next(start["epoch"] + 1, ended=start["final"])
        except ThalwegError as error:
            self.checkpoint.record_failure(error)
            raise
        if epoch is None:
            return start
        return {"epoch": epoch.number, "digest": epoch.digest(), "final": epoch.final}

    def _next(self, number: int, *, ended: bool) -> Epoch | None:
        checkpoint = self.checkpoint
        if ended or checkpoint.is_to_stop:
            return None
        # An epoch that was logged before a crash, but that Spark does not know, is used as logged.
        logged = checkpoint.log.get(number)
        if logged is not None:
            return logged
        if self._cutter is None:
            job = self.job
            self._cutter = EpochCutter(job.sources, checkpoint.log, job.max_tuples, checkpoint.spools, job.interval_s)
        until = time.monotonic() + self.job.interval_s
        idle = bool(self._fed(number - 1))
        closing = not self.job.follow
        while not checkpoint.is_to_stop:
            began = time.monotonic()
            epoch = self._cutter.next_epoch(closing=closing, idle=idle)
            if epoch is not None:
                checkpoint.note_cut(Cut(number, self._cutter.backlog(), time.monotonic() - began))
                return epoch
            if time.monotonic() >= until and number > self.job.first_epoch:  # Spark makes the first answer an epoch
                break
            self._wait(checkpoint, self._cutter.wait_s)
        return None

    def _wait(self, checkpoint: Checkpoint, seconds: float) -> None:
        """Wait for input, but return early on a stop."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not checkpoint.is_to_stop:
            time.sleep(min(left, _POLL_S))

    def _fed(self, epoch: int) -> dict[str, Frame]:
        return stored_feedback(self.checkpoint.feedback, self.job.loops, epoch)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start["epoch"] == end["epoch"]:
            return []
        try:
            epoch = self._replayed(end)
        except ThalwegError as error:
            self.checkpoint.record_failure(error)
            raise
        tasks = max(1, min(self.job.tasks, epoch.tuples // self.job.rows_per_task))
        pulse = EpochPulse(epoch.number, epoch.final, epoch.base)
        return [TaskInput(index, pieces, pulse) for index, pieces in enumerate(epoch.spread(tasks))]

    def _replayed(self, end: dict[str, Any]) -> Epoch:
        epoch = self.checkpoint.log[end["epoch"]]
        if epoch.digest() != end["digest"]:
            raise CheckpointError(
                f"epoch {epoch.number} of the input log is not the one in Spark's checkpoint",
                expected=end["digest"],
                found=epoch.digest(),
                hint="the checkpoint's `log` folder was changed by hand: restore it",
            )
        return epoch

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, TaskInput)
        job = self.job
        passed = Passed()
        spent = passed.counts.of_pe(job.program.id)
        notes = NoteFolder.of(job.checkpoint)
        pes = pes_of(notes.folder)
        pe = pes.of(job.program, partition.index % len(job.labels))
        try:
            parcels = run_source_pe(pe, job.readers, partition.pieces, passed)
            if partition.index == 0 and job.loops:
                fed = self._fed(partition.pulse.epoch - 1)
                parcels = chain(run_fed(pe, fed, partition.pulse.base, passed), parcels)
            with notes.note(job.program) as note:
                yield from spent.leaving(map(batch, note.running(parcel_rows(parcels, job.labels, spent))))
        except ThalwegError as error:
            found = unreachable(Path(job.checkpoint)) or error
            yield batch(error_row(found, partition.index, job.labels[0]))
        for row in passed_rows(passed, job.labels[0]):
            yield batch(row)
        if partition.pulse.final:
            close_pe(notes, job.program.id)
        if partition.index == 0:
            for label in job.labels:
                yield batch(partition.pulse.row(label))

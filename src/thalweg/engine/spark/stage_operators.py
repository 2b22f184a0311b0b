"""Stages on Spark: a PE with state is a StatefulProcessor keyed by channel, a PE without state is a mapInArrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter_ns
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, StructType

from thalweg.engine.core.stage_programs import Parcel, Passed, run_stateful_pe, run_stateless_pe
from thalweg.engine.spark.wire import PULSE, SCHEMA, EpochPulse, Row, batch, error_row, parcel_rows, passed_rows
from thalweg.engine.spark.worker_notes import NoteFolder, TaskNote
from thalweg.engine.spark.worker_pes import close_pe, pes_of
from thalweg.engine.storage.seed import Seed
from thalweg.errors import ThalwegError
from thalweg.runtime.pe_counts import Spent
from thalweg.runtime.pe_program import Program

# As types: a schema string is sent to the JVM to be parsed, four times for each task and epoch.
_BUCKET = StructType().add("bucket", IntegerType())
_DATA = StructType().add("data", BinaryType())


class _Buckets:
    """A channel's buckets in Spark's state store. A bucket not yet written there has the state from the migration."""

    def __init__(self, state: Any, program: Program, seed: Seed | None) -> None:
        self.state, self.program, self.seed, self.spent = state, program, seed, Spent()
        self.channel = 0  # of the rows being processed

    def get(self, bucket: int) -> bytes | None:
        began = perf_counter_ns()
        value = self.state.getValue((bucket,))
        self.spent.state_wait_ns += perf_counter_ns() - began
        if value is not None:
            return bytes(value[0])
        return None if self.seed is None else self.seed.get(self.channel, bucket, self.program.operators)

    def put(self, bucket: int, data: bytes) -> None:
        began = perf_counter_ns()
        self.state.updateValue((bucket,), (data,))
        self.spent.state_wait_ns += perf_counter_ns() - began


class StatefulPE(StatefulProcessor):
    """The PE with state of a stage; one call per channel and epoch."""

    def __init__(self, program: Program, labels: tuple[int, ...], notes: NoteFolder, seed: Seed | None) -> None:
        self.program, self.labels, self.notes, self.seed = program, labels, notes, seed

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.buckets = _Buckets(handle.getMapState("buckets", _BUCKET, _DATA), self.program, self.seed)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        label = int(key[0])
        channel = self.buckets.channel = self.labels.index(label)
        pes = pes_of(self.notes.folder)
        passed = Passed()
        spent = self.buckets.spent = passed.counts.of_pe(self.program.id)
        control: list[Row] = []
        parcels: list[Parcel] = []
        epoch, end = 0, None
        for frames in spent.arriving(rows):
            for stream, content in zip(frames["stream"], frames["frame"], strict=True):
                if stream < 0:
                    control.append((label, int(stream), bytes(content)))
                    if stream == PULSE:
                        pulse = EpochPulse.read(content)
                        epoch, end = pulse.epoch, pulse.base if pulse.final else None
                else:
                    parcels.append(Parcel(channel, int(stream), bytes(content)))
        try:
            ran = run_stateful_pe(pes.of(self.program, channel), parcels, self.buckets, passed, epoch, end)
            with self.notes.note(self.program) as note:
                sent = list(note.running(parcel_rows(ran, self.labels, spent)))
        except ThalwegError as error:
            sent = [error_row(error, channel, label)]
        if end is not None:
            close_pe(self.notes, self.program.id)  # Spark does not signal the end of a query or of a worker
        out = [*sent, *passed_rows(passed, label), *control]
        yield pd.DataFrame(out, columns=["channel", "stream", "frame"])

    def close(self) -> None:
        pass


def stateless(
    program: Program, labels: tuple[int, ...], notes: NoteFolder
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        passed = Passed()
        spent = passed.counts.of_pe(program.id)
        with notes.note(program) as note:
            try:
                yield from spent.leaving(map(batch, rows_of(spent.arriving(batches), passed, spent, note)))
            except ThalwegError as error:
                yield batch(error_row(error, 0, labels[0]))
        for row in passed_rows(passed, labels[0]):
            yield batch(row)

    def rows_of(batches: Iterable[pa.RecordBatch], passed: Passed, spent: Spent, note: TaskNote) -> Iterator[Row]:
        pes = pes_of(notes.folder)
        for arrived in batches:
            for label, stream, content in zip(*(column.to_pylist() for column in arrived.columns), strict=True):
                if stream < 0:
                    if stream == PULSE and EpochPulse.read(content).final:
                        close_pe(notes, program.id)
                    yield label, stream, content
                    continue
                parcel = Parcel(labels.index(label), stream, content)
                ran = run_stateless_pe(pes.of(program, parcel.channel), [parcel], passed)
                yield from note.running(parcel_rows(ran, labels, spent))

    return run


def connect(
    rows: DataFrame,
    programs: tuple[tuple[Program, ...], ...],
    labels: tuple[int, ...],
    notes: NoteFolder,
    seed: Seed | None = None,
) -> DataFrame:
    """All stages after the first PE of stage 0, which runs in the source."""
    for index, stage in enumerate(programs):
        first, *others = stage
        if index > 0:
            rows = rows.groupBy("channel").transformWithStateInPandas(
                StatefulPE(first, labels, notes, seed), SCHEMA, outputMode="append", timeMode="none"
            )
        for program in others:
            rows = rows.mapInArrow(stateless(program, labels, notes), SCHEMA)
    return rows

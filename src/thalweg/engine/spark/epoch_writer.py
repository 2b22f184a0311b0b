"""An epoch of a Structured Streaming query in the driver: merge, write, report."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame

from thalweg.analysis.order_needs import ordered_sinks
from thalweg.engine.core.epoch_loop import run_epoch
from thalweg.engine.core.report_builder import Measures
from thalweg.engine.core.stage_programs import Passed, first_failure
from thalweg.engine.core.timing import Laps
from thalweg.engine.sinks.writers import make_sinks
from thalweg.engine.spark.connectors import rows_writer
from thalweg.engine.spark.wire import COUNTS, ERRORS, FAILURES, PULSE, first_error, read_counts, read_failures
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.errors import ThalwegError
from thalweg.ir.layout import layout
from thalweg.ir.plan import Plan
from thalweg.runtime.frame import Frame, decode
from thalweg.runtime.merge_frames import gather
from thalweg.runtime.pe_counts import Counts


@dataclass(frozen=True, slots=True)
class EpochWriter:
    """Processes an epoch's frames in the driver. It keeps no state between epochs."""

    plan: Plan
    folder: Path
    first_epoch: int  # Spark numbers batches from 0 in every checkpoint; epochs continue after a migration
    started: float = field(default_factory=time.time)

    def write(self, rows: DataFrame, batch: int) -> None:
        checkpoint = Checkpoint(self.folder)
        try:
            epoch = _SparkEpoch(self.plan, checkpoint, rows, self.first_epoch + batch, self.started)
            sinks = make_sinks(self.plan.graph, checkpoint.results, rows_writer(rows.sparkSession))
            run_epoch(epoch, self.plan.graph, checkpoint, sinks, epoch.epoch, Laps())
        except ThalwegError as error:
            checkpoint.record_failure(error)
            raise


class _SparkEpoch:
    """One epoch: its frames are the rows of a batch; Spark handles its state and its commit."""

    def __init__(self, plan: Plan, checkpoint: Checkpoint, rows: DataFrame, number: int, started: float) -> None:
        self.plan, self.checkpoint, self.rows, self.started = plan, checkpoint, rows, started
        self.epoch = checkpoint.log[number]
        self.passed = Passed()
        self.table: pa.Table | None = None

    def run(self) -> None:
        """One action: the state is read once, and no operator runs twice."""
        self.table = self.rows.toArrow()

    def save(self) -> None:
        """Nothing to do: Spark's workers have written the state."""

    def frames(self, laps: Laps) -> Mapping[str, Frame | None]:
        arrived = self._arrived()
        ordered = ordered_sinks(self.plan.graph)
        merged: dict[str, Frame | None] = {}
        for sink in self.plan.graph.sinks:
            with laps.part(sink.name):
                frames = arrived.get(layout(self.plan).sink_wire(sink).index, [])
                merged[sink.name] = gather(frames, ordered=sink.name in ordered)
        return merged

    def _arrived(self) -> Mapping[int, list[Frame]]:
        """The frames by wire. Raises the first error, or the first failed tuple."""
        assert self.table is not None
        frames: dict[int, list[Frame]] = {}
        errors: list[bytes] = []
        for stream, content in zip(self.table["stream"].to_pylist(), self.table["frame"], strict=True):
            if stream == FAILURES:
                self.passed.failures += read_failures(content.as_py())
            elif stream == ERRORS:
                errors.append(content.as_py())
            elif stream == COUNTS:
                self.passed.counts.add(read_counts(content.as_py()))
            elif stream != PULSE:
                frames.setdefault(stream, []).append(decode(content.as_buffer()))
        if errors:
            raise first_error(errors)
        if (failure := first_failure(self.passed.failures)) is not None:
            raise failure
        return frames

    def commit(self) -> None:
        """Nothing to do: Spark commits when the batch has been written."""

    def measures(self, laps: Laps) -> Measures:
        """Time since the epoch was logged, or since the start if it is a replay. Spark's parts are added later."""
        number = self.epoch.number
        seconds = time.time() - max(self.started, self.checkpoint.log.written_at(number))
        cut = self.checkpoint.cut_of(number)
        parts = dict(laps.seconds) if cut is None else {**laps.seconds, "cut": cut.seconds}
        return Measures(seconds, parts, None if cut is None else cut.backlog)

    @property
    def counts(self) -> Counts:
        return self.passed.counts

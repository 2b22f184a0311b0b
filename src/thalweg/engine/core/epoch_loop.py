"""The epochs of a run in the driver, the same for every engine: run, save, write, commit, report; then show the epoch
and drop input that is no longer needed.

What differs is how an engine runs an epoch and what it commits (`EngineEpoch`), and where its reports come from: the
local engine runs one epoch after the other; Spark schedules them itself and stores the reports.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Protocol

from thalweg.engine.core.report_builder import Earlier, Measures, build_report, with_measures
from thalweg.engine.core.run import Opened, RunOptions, Watch
from thalweg.engine.core.timing import Laps, timed
from thalweg.engine.inputs.retention import Retention
from thalweg.engine.inputs.spool import Spool
from thalweg.engine.sinks.writers import SinkWriter, write_epoch
from thalweg.engine.storage.checkpoint import Checkpoint, EpochReport
from thalweg.engine.storage.log import Epoch
from thalweg.engine.storage.report import Tally
from thalweg.ir.endpoints import Spooled
from thalweg.ir.graph import LogicalGraph
from thalweg.runtime.frame import Frame
from thalweg.runtime.pe_counts import Counts


class EngineEpoch(Protocol):
    """One epoch in an engine. The methods are called in this order."""

    def run(self) -> None:
        """Run the PEs over the epoch's tuples."""

    def save(self) -> None:
        """Store the state after the epoch, before any sink is written."""

    def frames(self, laps: Laps) -> Mapping[str, Frame | None]:
        """The frame for each sink. `laps` receives the time that merging takes, by sink."""

    def commit(self) -> None:
        """Mark the epoch as complete, so that it is not run again."""

    def measures(self, laps: Laps) -> Measures:
        """How long the epoch took; `laps` has the parts measured so far."""

    @property
    def counts(self) -> Counts:
        """What operators and PEs counted."""


def run_epoch(
    engine: EngineEpoch,
    graph: LogicalGraph,
    checkpoint: Checkpoint,
    sinks: Mapping[str, SinkWriter],
    epoch: Epoch,
    laps: Laps,
) -> EpochReport:
    """Run one epoch, from its input to its stored report. State comes first, then sinks, then the commit, because an
    epoch that was not committed is run again. Its report is stored before the commit, so that no crash can lose its
    counts, and again with the time of the commit."""
    sink_laps = Laps()
    with laps.part("run"):
        engine.run()
    with laps.part("commit"):
        engine.save()
    with laps.part("sinks"):
        frames = engine.frames(sink_laps)
        out = write_epoch(timed(sinks, sink_laps), epoch.number, frames, final=epoch.final)
    earlier = Earlier(checkpoint.lost_before(epoch.number), skipped_in_spools(graph, checkpoint.spools, epoch))
    report = build_report(graph, epoch, out, engine.counts, engine.measures(laps), sink_laps.seconds, earlier)
    checkpoint.report(report)
    with laps.part("commit"):
        engine.commit()
    report = with_measures(report, engine.measures(laps))
    checkpoint.report(report)
    return report


def skipped_in_spools(graph: LogicalGraph, spools: Path, epoch: Epoch) -> dict[str, int]:
    """By source: the invalid items that its feeder skipped before the tuples of this epoch."""
    skipping = [s for s in graph.sources if s.on_error == "skip" and isinstance(s.endpoint, Spooled)]
    return {s.name: Spool.of(spools, s.name).skipped(epoch, s.name) for s in skipping}


def follow(
    graph: LogicalGraph,
    run: Opened,
    options: RunOptions,
    watch: Watch,
    reports: Generator[EpochReport, None, None],
) -> Tally:
    """Add up the epochs, show each one when it is complete, and drop input that no later start needs."""
    tally = Tally()
    retention = Retention(run.checkpoint, graph.sources, options.keep_epochs)
    with closing(reports):
        for report in reports:
            tally.add(report)
            options.stop.epoch = None
            run.show(report.epoch, options)
            watch(report)
            retention.committed(report.epoch)
    return tally

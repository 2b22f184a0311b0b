"""Run a plan on the local engine: one epoch after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from thalweg.engine.core.epoch_loop import follow, run_epoch
from thalweg.engine.core.report_builder import Measures
from thalweg.engine.core.run import Opened, RunOptions, RunResult, Watch, already_finished, opened, result
from thalweg.engine.core.timing import Laps
from thalweg.engine.inputs.cutter import EpochCutter
from thalweg.engine.inputs.feedback import stored_feedback
from thalweg.engine.inputs.feeders import feeding
from thalweg.engine.inputs.spark_only import check_without_spark
from thalweg.engine.local.buckets import Buckets
from thalweg.engine.local.parallel import ParallelEngine
from thalweg.engine.local.serial import LocalEngine
from thalweg.engine.storage.checkpoint import EpochReport, LocalState
from thalweg.engine.storage.log import Epoch
from thalweg.errors import ThalwegError
from thalweg.ir.plan import Plan
from thalweg.runtime.frame import Frame
from thalweg.runtime.pe_counts import Counts


def _engine(plan: Plan, state: dict[tuple[int, int], Buckets], options: RunOptions) -> LocalEngine:
    """An engine with a process for each channel, if there are several."""
    if plan.channels == 1 or options.in_process:
        return LocalEngine(plan, state)
    return ParallelEngine(plan, state)


def run_local(plan: Plan, options: RunOptions, watch: Watch) -> RunResult:
    check_without_spark(plan.graph)
    with opened(plan, options, "local", ()) as run:
        return already_finished(plan, run) if run.checkpoint.has_ended else _run(plan, options, watch, run)


def _run(plan: Plan, options: RunOptions, watch: Watch, run: Opened) -> RunResult:
    started = time.monotonic()
    sources, limit = plan.graph.sources, options.max_tuples_per_epoch
    with (
        feeding(sources, run.checkpoint, max_tuples=limit, follow=options.follow) as check_feeders,
    ):
        snapshots = LocalState(run.checkpoint)
        number, state = snapshots.load() or (run.manifest.first_epoch, run.checkpoint.seed.states(plan))
        cutter = EpochCutter(sources, run.checkpoint.log, limit, run.checkpoint.spools, options.interval_s)
        with _closed(_engine(plan, state, options)) as engine:
            epochs = _Epochs(run, options, engine, cutter, snapshots, check_feeders, number)
            tally = follow(plan.graph, run, options, watch, epochs.reports())
            if epochs.ended:
                run.checkpoint.mark_ended()
            return result(plan, run, tally, time.monotonic() - started, stopped=not epochs.ended)


@contextmanager
def _closed(engine: LocalEngine) -> Iterator[LocalEngine]:
    """Closes the engine after the block. An error of the block is the one to report: its end may make `close` fail."""
    try:
        yield engine
    except BaseException as error:
        try:
            engine.close()
        except ThalwegError as later:
            error.add_note(str(later))
        raise
    engine.close()


@dataclass(slots=True)
class _Epochs:
    """The epochs from `number` on, until the final one or a stop."""

    run: Opened
    options: RunOptions
    engine: LocalEngine
    cutter: EpochCutter
    snapshots: LocalState
    check_feeders: Callable[[], None]
    number: int
    ended: bool = False

    def reports(self) -> Generator[EpochReport, None, None]:
        checkpoint, stop, graph = self.run.checkpoint, self.options.stop, self.engine.plan.graph
        loops = [loop.name for loop in graph.loops]
        while not self.ended and not stop.requested:
            laps = Laps()
            fed = stored_feedback(checkpoint.feedback, loops, self.number - 1)
            with laps.part("cut"):
                logged = checkpoint.log.get(self.number)
                epoch = logged or self.cutter.next_epoch(closing=not self.options.follow, idle=bool(fed))
            if epoch is None and self.cutter.ended:  # killed between the final epoch's commit and the mark
                self.ended = True
            elif epoch is None:
                self.check_feeders()
                stop.sleep(self.cutter.wait_s)
            else:
                stop.epoch = self.number
                work = _LocalEpoch(self.engine, self.snapshots, self.cutter, epoch, fed)
                yield run_epoch(work, graph, checkpoint, self.run.sinks, epoch, laps)
                self.number += 1
                self.ended = epoch.final


@dataclass(slots=True)
class _LocalEpoch:
    """One epoch: its state is stored as a snapshot, and its commit is the number of that snapshot."""

    engine: LocalEngine
    snapshots: LocalState
    cutter: EpochCutter
    epoch: Epoch
    fed: Mapping[str, Frame]
    made: Mapping[str, Frame | None] = field(default_factory=dict)

    def run(self) -> None:
        self.made = self.engine.run_epoch(self.epoch, self.fed)

    def save(self) -> None:
        self.snapshots.save(self.epoch.number, self.engine.state)

    def frames(self, laps: Laps) -> Mapping[str, Frame | None]:
        return self.made

    def commit(self) -> None:
        self.snapshots.commit(self.epoch.number)

    def measures(self, laps: Laps) -> Measures:
        seconds = laps.elapsed()
        kept = sum(len(data) for held in self.engine.state.values() for data in held.values())
        return Measures(seconds, laps.parts(seconds), self.cutter.backlog(), kept)

    @property
    def counts(self) -> Counts:
        return self.engine.counts

"""Run a plan on the local engine: its loop over epochs."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing

from thalweg.engine.core.run import RunOptions, RunResult, Watch, opened, result
from thalweg.engine.core.timing import Laps, rounded, timed
from thalweg.engine.inputs.cutter import EpochCutter
from thalweg.engine.inputs.feedback import stored_feedback
from thalweg.engine.inputs.feeders import feeding
from thalweg.engine.inputs.retention import Retention
from thalweg.engine.inputs.spark_only import check_without_spark
from thalweg.engine.local.buckets import Buckets
from thalweg.engine.local.parallel import ParallelEngine
from thalweg.engine.local.serial import LocalEngine
from thalweg.engine.sinks.writers import write_epoch
from thalweg.engine.storage.checkpoint import EpochReport, LocalState
from thalweg.engine.storage.report import Tally, operator_counts, pe_times
from thalweg.ir.plan import Plan


def _engine(plan: Plan, state: dict[tuple[int, int], Buckets], options: RunOptions) -> LocalEngine:
    """A process for each channel, where there are several."""
    if plan.channels == 1 or options.in_process:
        return LocalEngine(plan, state)
    return ParallelEngine(plan, state)


def run_local(plan: Plan, options: RunOptions, watch: Watch) -> RunResult:
    """Epoch after epoch: state first, then sinks, then the commit; whatever was not committed is run again."""
    check_without_spark(plan.graph)
    started = time.monotonic()
    sources, limit = plan.graph.sources, options.max_tuples_per_epoch
    with (
        opened(plan, options, "local", ()) as run,
        feeding(sources, run.checkpoint, max_tuples=limit, follow=options.follow) as check_feeders,
        ExitStack() as stack,
    ):
        snapshots = LocalState(run.checkpoint)
        number, state = snapshots.load() or (run.manifest.first_epoch, run.checkpoint.seed.states(plan))
        engine = stack.enter_context(closing(_engine(plan, state, options)))
        cutter = EpochCutter(sources, run.checkpoint.log, limit, run.checkpoint.spools, options.interval_s)
        tally = Tally()
        retention = Retention(run.checkpoint, sources, options.keep_epochs)
        loops = [loop.name for loop in plan.graph.loops]
        ended = False
        while not ended and not options.stop.requested:
            laps = Laps()
            fed = stored_feedback(run.checkpoint.feedback, loops, number - 1)
            with laps.part("cut"):
                logged = run.checkpoint.log.get(number)
                epoch = logged or cutter.next_epoch(closing=not options.follow, idle=bool(fed))
            if epoch is None and cutter.ended:  # killed between the final epoch's commit and the mark
                ended = True
                break
            if epoch is None:
                check_feeders()
                options.stop.sleep(cutter.wait_s)
                continue
            options.stop.epoch, sinks = number, Laps()
            with laps.part("run"):
                frames = engine.run_epoch(epoch, fed)
            with laps.part("commit"):
                snapshots.save(number, engine.state)
            with laps.part("sinks"):
                out = write_epoch(timed(run.sinks, sinks), number, frames, final=epoch.final)
            with laps.part("commit"):
                snapshots.commit(number)
            seconds = laps.elapsed()
            report = EpochReport(
                number,
                epoch.final,
                epoch.tuples,
                out,
                round(seconds, 6),
                cutter.backlog(),
                operators=operator_counts(plan.graph, engine.counts, epoch),
                pes=pe_times(engine.counts.spent),
                parts=laps.parts(seconds),
                sinks=rounded(sinks.seconds),
                state_bytes=sum(len(data) for held in engine.state.values() for data in held.values()),
            )
            run.checkpoint.report(report)
            tally.add(report)
            options.stop.epoch = None
            run.show(number, options)
            watch(report)
            retention.committed(number)
            number += 1
            ended = epoch.final
        if ended:
            run.checkpoint.mark_ended()
        return result(plan, run, tally, time.monotonic() - started, stopped=not ended)

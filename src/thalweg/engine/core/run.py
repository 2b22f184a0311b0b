"""Running a plan: options, result, and opening of the checkpoint and sinks, which all engines share."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

import pyarrow as pa

from thalweg.engine.core.losses import empty_warnings, loss_warnings
from thalweg.engine.core.stop import Stop
from thalweg.engine.inputs.cutter import untaken_files
from thalweg.engine.inputs.spool import Spool
from thalweg.engine.sinks.console_writer import ConsoleSink
from thalweg.engine.sinks.live_table import Display, live_display
from thalweg.engine.sinks.writers import CollectSink, SinkWriter, make_sinks, tuples_of
from thalweg.engine.storage.checkpoint import Checkpoint, EpochReport
from thalweg.engine.storage.manifest import Manifest, make_manifest
from thalweg.engine.storage.report import Lost, Tally, added_losses
from thalweg.errors import CheckpointError, PlanError, did_you_mean, warn
from thalweg.ir.endpoints import Spooled
from thalweg.ir.error_places import with_places
from thalweg.ir.graph import LogicalGraph, beside
from thalweg.ir.named_rows import NamedRow, row_class
from thalweg.ir.plan import Plan
from thalweg.ir.types import TupleType
from thalweg.ir.values import reviver

DEFAULT_MAX_TUPLES = 1_000_000


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run, apart from the plan."""

    checkpoint: Path | None = None
    follow: bool = False
    max_tuples_per_epoch: int = DEFAULT_MAX_TUPLES
    interval_s: float = 1.0
    overwrite: bool = False
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    console: TextIO | None = None  # where console sinks print; None: standard output
    stop: Stop = field(default_factory=Stop, compare=False)
    display: Display | None = None  # where live tables are shown; None: on the terminal, if there is one
    in_process: bool = False  # the local engine runs all channels in this process, one after the other
    keep_epochs: int | None = None  # for sources that cannot be read again: how many epochs' input to keep; None: all

    def __post_init__(self) -> None:
        if self.max_tuples_per_epoch < 1:
            found = f"{self.max_tuples_per_epoch} tuples per epoch"
            raise PlanError("an epoch must have at least one tuple", found=found)
        if self.keep_epochs is not None and self.keep_epochs < 1:
            raise PlanError("the input of at least one epoch must be kept", found=f"{self.keep_epochs} epochs")


@dataclass(frozen=True)
class RunResult:
    """Counts of a run, and the tuples of its collect sinks."""

    epochs: int
    tuples_in: int
    tuples_out: Mapping[str, int]
    seconds: float
    collected: Mapping[str, pa.Table]
    types: Mapping[str, TupleType] = field(default_factory=dict)  # of the collect sinks
    stopped: bool = False  # on request, between two epochs: there may be more input
    already_finished: bool = False  # the run of the checkpoint had ended before, so nothing was run
    left_out: Mapping[str, int] = field(default_factory=dict)  # by source: invalid rows of its files
    warnings: tuple[str, ...] = ()  # what Thalweg warned about, from the plan to the end of the run
    lost: Mapping[str, Lost] = field(default_factory=dict)  # by operator: tuples lost since the first start

    def tuples(self, sink: str | None = None) -> list[NamedRow]:
        """The tuples of a collect sink, in order; `row.price` is a value by name. The name of the sink is optional if
        there is only one."""
        names = list(self.collected)
        if sink is None and len(names) == 1:
            sink = names[0]
        elif sink is not None and sink not in names and beside(sink) in names:
            sink = beside(sink)
        if sink is None or sink not in self.collected:
            hint = did_you_mean(sink or "", names)
            raise PlanError(
                f"no collect sink {sink}" if sink else "name one collect sink",
                expected=", ".join(names) or "a collect sink",
                hint=hint,
            )
        made = row_class(self.types[sink], NamedRow)
        revivers = [reviver(kind) for _, kind in self.types[sink].attributes]
        return [
            made(revive(v) for revive, v in zip(revivers, row, strict=True)) for row in tuples_of(self.collected[sink])
        ]


def warn_at_end(done: RunResult) -> None:
    """Emit the warnings of a run's end. The engines leave this to their callers, which show progress until then."""
    for text in done.warnings:
        warn(text)


Watch = Callable[[EpochReport], None]


@dataclass(frozen=True)
class Opened:
    """A checkpoint that this run has locked, and the sinks that it has claimed."""

    checkpoint: Checkpoint
    manifest: Manifest
    sinks: Mapping[str, SinkWriter]
    display: Display | None = None

    def show(self, epoch: int, options: RunOptions) -> None:
        """Print the output of the console sinks for a complete epoch."""
        for sink in self.sinks.values():
            if self.display is not None and isinstance(sink, ConsoleSink) and sink.live:
                sink.show_live(epoch, self.display)
            else:
                sink.show(epoch, options.console or sys.stdout)


@contextmanager
def opened(plan: Plan, options: RunOptions, engine: str, labels: tuple[int, ...]) -> Iterator[Opened]:
    """Lock the checkpoint (a temporary one if none was given) and claim the sinks' folders. If its run has ended, no
    sink is touched: the engine returns `already_finished`."""
    if not options.follow:
        _check_ends(plan.graph)
    with with_places(plan.graph), tempfile.TemporaryDirectory(prefix="thalweg-") as temporary:
        checkpoint = Checkpoint(options.checkpoint or Path(temporary) / "checkpoint")
        try:
            manifest = checkpoint.open(make_manifest(plan, engine, labels))
            for text in empty_warnings(plan.graph, checkpoint.lost(), at_start=True) if options.follow else ():
                warn(text)
            sinks = make_sinks(plan.graph, checkpoint.results)
            if checkpoint.has_ended and options.follow:
                raise CheckpointError(
                    f"the run of {checkpoint.folder} has ended: its windows were closed, so it cannot take more input",
                    hint="start over with a new --checkpoint",
                )
            for sink in sinks.values() if not checkpoint.has_ended else ():
                sink.claim(manifest.run, overwrite=options.overwrite)
            live = any(isinstance(sink, ConsoleSink) and sink.live for sink in sinks.values())
            with live_display(live, options.display, options.console or sys.stdout) as display:
                yield Opened(checkpoint, manifest, sinks, display)
        finally:
            checkpoint.close()


def already_finished(plan: Plan, run: Opened) -> RunResult:
    """The result of a start on a checkpoint whose run has ended, so that a scheduler may start a job again."""
    for name, sink in run.sinks.items():
        if isinstance(sink, CollectSink) and not sink.fits:
            raise CheckpointError(
                f"the tuples of {name} now have a different type than those in the checkpoint, whose run has ended",
                hint="start over with a new --checkpoint",
            )
    done = result(plan, run, Tally(), 0.0)
    new = untaken_files(plan.graph.sources, run.checkpoint.log, run.checkpoint.spools)
    return replace(done, already_finished=True, warnings=(*done.warnings, *new))


def _check_ends(graph: LogicalGraph) -> None:
    for source in graph.sources:
        if (bounded := source.endpoint.endless) is not None:
            raise PlanError(
                f"the run would never end: {source.name} is endless",
                operator=source.name,
                where=source.where,
                expected=f"{bounded}, or a run with --follow",
            )


def result(plan: Plan, run: Opened, tally: Tally, seconds: float, *, stopped: bool = False) -> RunResult:
    kept = {name: sink for name, sink in run.sinks.items() if isinstance(sink, CollectSink)}
    lost = run.checkpoint.lost()
    if stopped:
        lost = added_losses(lost, _skipped_since(plan.graph, run.checkpoint.spools))
    return RunResult(
        epochs=tally.epochs,
        tuples_in=0 if tally.all is None else tally.all.tuples_in,
        tuples_out={name: 0 if tally.all is None else tally.all.tuples_out[name] for name in run.sinks},
        seconds=seconds,
        collected={name: sink.read() for name, sink in kept.items()},
        types={name: sink.tuple_type for name, sink in kept.items()},
        stopped=stopped,
        left_out={} if tally.all is None else tally.all.left_out,
        warnings=(*loss_warnings(plan.graph, lost), *(() if stopped else empty_warnings(plan.graph, lost))),
        lost={name: found for name, found in lost.items() if found.any},
    )


def _skipped_since(graph: LogicalGraph, spools: Path) -> dict[str, Lost]:
    """By source: the invalid items after the last tuple. No epoch has counted them: the next one does."""
    spooled = [s.name for s in graph.sources if s.on_error == "skip" and isinstance(s.endpoint, Spooled)]
    counts = {name: Spool.of(spools, name).waiting_skipped() for name in spooled}
    return {name: Lost(of=count, skipped=count) for name, count in counts.items() if count}

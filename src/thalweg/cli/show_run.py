"""Progress and results on the terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from thalweg.cli.live import LiveTable, fits, stopping_line
from thalweg.cli.number_words import counted
from thalweg.cli.print_errors import print_json
from thalweg.engine.core.run import RunResult
from thalweg.engine.sinks.live_table import Tables
from thalweg.engine.sinks.writers import tuples_of
from thalweg.engine.storage.report import EpochReport
from thalweg.errors import UsageError, did_you_mean
from thalweg.ir.plan import Plan

_SHOWN = 5
VIEWS = ("table", "line")


class View(Protocol):
    """Shows the progress of a run."""

    def watch(self, report: EpochReport) -> None: ...

    def stopping(self, epoch: int | None) -> None:
        """The run stops, after this epoch if one is in progress. Called in a separate thread."""

    def close(self) -> None: ...


@contextmanager
def progress(
    out: Console, notes: Console, plan: Plan, *, as_json: bool, view: str | None, tables: Tables | None = None
) -> Iterator[View]:
    """On a terminal, a table or a line that is kept up to date, below the live tables of sinks; otherwise a line or a
    JSON document per epoch."""
    if view is not None and view not in VIEWS:
        raise UsageError("unknown view", expected=" or ".join(VIEWS), found=view, hint=did_you_mean(view, VIEWS))
    made: View
    if as_json:
        made = Events()
    elif out.quiet:
        made = Nothing()
    elif not out.is_terminal:
        made = EpochLines(out, notes)
    elif view == "table" or (view is None and fits(out)):
        made = LiveTable(out, plan, tables or Tables())
    else:
        made = LiveLine(out, tables or Tables())
    try:
        yield made
    finally:
        made.close()


class Events:
    """A JSON document per epoch."""

    def watch(self, report: EpochReport) -> None:
        print_json({"event": "epoch", **report.as_event()})

    def stopping(self, epoch: int | None) -> None:
        print_json({"event": "stopping", "epoch": epoch})

    def close(self) -> None:
        """Nothing to close."""


class Nothing:
    """With --quiet. A live view would take over what console sinks print."""

    def watch(self, report: EpochReport) -> None: ...

    def stopping(self, epoch: int | None) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class EpochLines:
    """A line per epoch."""

    out: Console
    notes: Console

    def watch(self, report: EpochReport) -> None:
        self.out.print(epoch_line(report))

    def stopping(self, epoch: int | None) -> None:
        self.notes.print(stopping_line(epoch))

    def close(self) -> None:
        """Lines stay."""


class LiveLine:
    """Started by the first epoch: before it, Spark may print to the terminal while it starts."""

    def __init__(self, out: Console, tables: Tables) -> None:
        self.out, self.totals, self.spinner, self.tables = out, Totals(), Spinner("dots"), tables
        self.live = Live(self.spinner, console=out, refresh_per_second=8)

    def watch(self, report: EpochReport) -> None:
        self.totals.add(report)
        self.spinner.update(text=Text(self.totals.line(report)))
        self.live.update(Group(*self.tables.shown.values(), self.spinner))
        self.live.start(refresh=True)

    def stopping(self, epoch: int | None) -> None:
        self.out.print(stopping_line(epoch))

    def close(self) -> None:
        self.live.update(Group(*self.tables.shown.values(), self.spinner.text))  # without the animation
        self.live.stop()


def epoch_line(report: EpochReport) -> str:
    if report.final:
        sinks = _sinks(report) if any(report.tuples_out.values()) else ""
        return f"epoch {report.epoch:>5}  end of input{sinks}{_lost(report)}"
    backlog = f"; {report.backlog:,} waiting" if report.backlog else ""
    return (
        f"epoch {report.epoch:>5}  {report.tuples_in:>10,} in  {report.seconds * 1000:>7,.0f} ms "
        f"{_rate(report.tuples_in, report.seconds):>12,.0f} tuples/s{_sinks(report)}{_lost(report)}{backlog}"
    )


def _sinks(report: EpochReport) -> str:
    return "; " + ", ".join(f"{n:,} at {sink}" for sink, n in report.tuples_out.items())


def _lost(report: EpochReport) -> str:
    """Compact; what can be done about it is said at the end."""
    parts = [
        f"{n:,} {what} at {name}"
        for name, lost in report.lost.items()
        for n, what in ((lost.late, "late"), (lost.skipped, "skipped"), (lost.dead_letters, "dead letters"))
        if n
    ]
    return f"; lost: {', '.join(parts)}" if parts else ""


def _rate(tuples: int, seconds: float) -> float:
    return tuples / seconds if seconds else 0.0


@dataclass
class Totals:
    """The totals over the epochs of this run, for the live line."""

    tuples_in: int = 0
    tuples_out: dict[str, int] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def add(self, report: EpochReport) -> None:
        self.tuples_in += report.tuples_in
        for sink, count in report.tuples_out.items():
            self.tuples_out[sink] = self.tuples_out.get(sink, 0) + count

    def line(self, report: EpochReport) -> str:
        """Rates of the last epoch, sums over the run."""
        out = ", ".join(f"{_rate(n, report.seconds):,.0f}/s to {sink}" for sink, n in report.tuples_out.items())
        backlog = f"  {report.backlog:,} waiting" if report.backlog else ""
        state = "end of input" if report.final else f"{_rate(report.tuples_in, report.seconds):,.0f} tuples/s in, {out}"
        sums = f"{self.tuples_in:,} tuples in {time.monotonic() - self.began:,.1f} s"
        return f"epoch {report.epoch}  {report.seconds * 1000:,.0f} ms  {state}{_lost(report)}{backlog}  ({sums})"


def show_result(out: Console, result: RunResult, *, as_json: bool) -> None:
    if as_json:
        document = {"epochs": result.epochs, "tuples_in": result.tuples_in, "tuples_out": dict(result.tuples_out)}
        document |= {"left_out": dict(result.left_out)} if result.left_out else {}
        document |= {"lost": {name: asdict(lost) for name, lost in result.lost.items()}} if result.lost else {}
        ends = {"stopped": result.stopped, "already_finished": result.already_finished}
        print_json({"event": "end", **ends, "seconds": round(result.seconds, 3), **document})
        return
    if result.already_finished:
        out.print("the run of this checkpoint is finished; nothing was run")
    else:
        sinks = ", ".join(f"{n:,} at {sink}" for sink, n in result.tuples_out.items())
        tuples, epochs = counted(result.tuples_in, "tuple"), counted(result.epochs, "epoch")
        out.print(f"\n{tuples} in {epochs} and {result.seconds:.1f} s; out: {sinks}")
    for sink, table in result.collected.items():
        shown = Table(
            title=f"{sink}: the first {min(_SHOWN, table.num_rows)} of {table.num_rows:,}", title_justify="left"
        )
        for name in table.column_names:
            shown.add_column(name)
        for row in tuples_of(table.slice(0, _SHOWN)):
            shown.add_row(*(repr(value) if isinstance(value, float) else str(value) for value in row))
        out.print(shown)

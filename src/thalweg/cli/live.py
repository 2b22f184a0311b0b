"""The live table of `thalweg run`: the input and output of each operator, and a breakdown of the epoch's time."""

from __future__ import annotations

import time

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from thalweg.cli.number_words import counted
from thalweg.engine.sinks.live_table import Tables
from thalweg.engine.storage.report import PARTS, EpochReport, OperatorCounts, Ports, added
from thalweg.ir.layout import layout
from thalweg.ir.operators import Operator, Sink
from thalweg.ir.pe_id import PeId
from thalweg.ir.plan import Plan

_BAR = 32
_COLORS = {
    "cut": "cyan",
    "plan": "magenta",
    "log": "blue",
    "run": "green",
    "sinks": "yellow",
    "commit": "blue",
    "other": "white",
}
_HEADER = 6  # lines around the rows: two of figures, one empty, the head of the table, its rule, and "… more"
_LEAST_ROWS, _LEAST_WIDTH = 3, 70


def fits(out: Console) -> bool:
    """Whether the terminal has room for a useful table."""
    return out.height >= _HEADER + _LEAST_ROWS + 1 and out.width >= _LEAST_WIDTH


def stopping_line(epoch: int | None) -> str:
    return f"stopping{'' if epoch is None else f' after epoch {epoch}'}; interrupt again to stop immediately"


class LiveTable:
    """Started by the first epoch: before it, Spark may print to the terminal while it starts."""

    def __init__(self, out: Console, plan: Plan, tables: Tables) -> None:
        self.out, self.plan, self.tables = out, plan, tables
        self.spinner = Spinner("dots")
        self.live = Live(self.spinner, console=out, refresh_per_second=8, vertical_overflow="crop")
        self.epochs, self.began = 0, time.monotonic()
        self.stops = ""
        self.last: EpochReport | None = None
        self.all: EpochReport | None = None  # the epochs of the run as one

    def watch(self, report: EpochReport) -> None:
        self.epochs += 1
        self.last, self.all = report, report if self.all is None else added(self.all, report)
        self._update()
        self.live.start(refresh=True)

    def stopping(self, epoch: int | None) -> None:
        self.stops = stopping_line(epoch)
        if self.last is None:
            self.out.print(self.stops)
        else:
            self._update()

    def close(self) -> None:
        """Leave a table with the totals of the run on the screen."""
        if self.all is not None:
            line = Text(
                f"{counted(self.epochs, 'epoch')}  {self._figures(self.all)}", no_wrap=True, overflow="ellipsis"
            )
            self.live.update(self._shown(self.all, line))
        self.live.stop()

    def _update(self) -> None:
        assert self.last is not None
        line = Text(f"epoch {self.last.epoch}  {self._figures(self.last)}", no_wrap=True, overflow="ellipsis")
        self.spinner.update(text=line)
        self.live.update(self._shown(self.last, self.spinner))

    def _shown(self, report: EpochReport, head: RenderableType) -> RenderableType:
        stops = [Text(self.stops, style="bold yellow")] if self.stops and head is self.spinner else []
        if self.tables.shown:  # the user requested a sink's live table explicitly: it gets the space
            return Group(*self.tables.shown.values(), *stops, head, time_bar(report))
        room = max(_LEAST_ROWS, self.out.height - _HEADER - 1 - len(stops))
        return Group(*stops, head, time_bar(report), Text(), operator_table(self.plan, report, room))

    def _figures(self, report: EpochReport) -> str:
        assert self.all is not None
        ended = report.final and not report.tuples_in
        parts = ["end of input" if ended else f"{_rate(report.tuples_in, report.seconds)} tuples/s"]
        parts.append(f"{self.all.tuples_in:,} tuples in {time.monotonic() - self.began:,.1f} s")
        parts += [f"{report.backlog:,} waiting"] if report.backlog else []
        parts += [f"state {_size(report.state_bytes)}"] if report.state_bytes else []
        for name in ("skipped", "dead_letters", "late"):
            count = getattr(report, name)
            parts += [f"{count:,} {name.replace('_', ' ')}"] if count else []
        return "  ".join(parts)


def time_bar(report: EpochReport) -> Text:
    """A breakdown of the epoch's time: a bar of its parts, with their milliseconds."""
    text = Text(f"{report.seconds * 1000:,.0f} ms ", no_wrap=True, overflow="ellipsis")
    parts = [(name, report.parts[name]) for name in PARTS if report.parts.get(name, 0.0) > 0]
    total = sum(seconds for _, seconds in parts) or 1.0
    done, drawn = 0.0, 0
    for name, seconds in parts:
        done += seconds
        upto = round(_BAR * done / total)
        text.append("█" * (upto - drawn), style=_COLORS[name])
        drawn = upto
    for name, seconds in parts:
        if seconds * 1000 >= 0.5:
            text.append(f" {name} {seconds * 1000:,.0f}", style=_COLORS[name])
    return text


def operator_table(plan: Plan, report: EpochReport, room: int) -> Table:
    """A row per operator in the plan's order; if there is not enough room, only those with the most tuples."""
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("operator", no_wrap=True, overflow="ellipsis")
    table.add_column("PE", no_wrap=True)
    for name in ("degree", "in/s", "out/s", "out/in", "busy"):
        table.add_column(name, justify="right", no_wrap=True)
    operators = [o for o in _in_order(plan) if o.name in report.operators]
    shown = _chosen(operators, report, room)
    before: PeId | None = None
    for operator in shown:
        pe = layout(plan).place[operator.name]
        table.add_row(*_row(plan, report, operator, pe, first=pe != before))
        before = pe
    hidden = len(operators) - len(shown)
    if hidden:
        table.add_row(Text(f"… {hidden} more with fewer tuples", style="dim"))
    return table


def _in_order(plan: Plan) -> list[Operator]:
    """Sorted by PE; operators that only make marks are not shown."""
    operators = [o for o in plan.graph.operators if not o.makes_marks]
    return sorted(operators, key=lambda o: layout(plan).place[o.name])


def _chosen(operators: list[Operator], report: EpochReport, room: int) -> list[Operator]:
    if len(operators) <= room:
        return operators
    most = sorted(operators, key=lambda o: -_tuples(report.operators[o.name]))[: room - 1]
    names = {o.name for o in most}
    return [o for o in operators if o.name in names]


def _tuples(counts: OperatorCounts) -> int:
    return _sum(counts.tuples_in) + _sum(counts.tuples_out)


def _row(plan: Plan, report: EpochReport, operator: Operator, pe: PeId, *, first: bool) -> list[str]:
    """A PE's busy share is shown in the row of its first operator; for a sink it is the driver's time."""
    counts = report.operators[operator.name]
    taken, given = _sum(counts.tuples_in), _sum(counts.tuples_out)
    if isinstance(operator, Sink):
        busy = _busy(report.sinks.get(operator.name, 0.0), report)
        return [operator.name, "driver" if first else "", "", _rate(taken, report.seconds), "", "", busy]
    return [
        operator.name,
        str(pe) if first else "",
        str(plan.degrees.get(operator.name, "")),
        _rate(taken, report.seconds) if operator.inputs else "",
        _rate(given, report.seconds),
        f"{given / taken:.3g}" if taken else "",
        _busy(report.pes[pe].cpu_s, report) if first and pe in report.pes else "",
    ]


def _busy(seconds: float, report: EpochReport) -> str:
    """A share of the epoch's time, as in `top`: two busy cores are 200 %."""
    return f"{100 * seconds / report.seconds:.0f} %" if report.seconds else ""


def _sum(ports: Ports) -> int:
    return sum(tuples or 0 for tuples in ports)


def _rate(tuples: int, seconds: float) -> str:
    return f"{tuples / seconds if seconds else 0.0:,.0f}"


def _size(size: int | None) -> str:
    value, unit = float(size or 0), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.3g} {unit}"

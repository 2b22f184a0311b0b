"""The live table: what it shows of reports, and how it fits into a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tests.graphs import GRAPHS
from thalweg.cli.live import LiveTable, fits, operator_table, time_bar
from thalweg.cli.show_run import LiveLine, progress
from thalweg.engine.storage.report import EpochReport, OperatorCounts, PETime, added
from thalweg.errors import UsageError
from thalweg.ir.pe_id import PeId
from thalweg.optimize.passes import make_plan

PLAN = make_plan(GRAPHS["bargains"](), degree=2)
REPORT = EpochReport(
    epoch=12,
    final=False,
    tuples_in=1000,
    tuples_out={"out": 100},
    seconds=0.5,
    backlog=7000,
    operators={
        "ticks": OperatorCounts((), (1000,)),
        "trades": OperatorCounts((1000,), (400,), skipped=3),
        "quotes": OperatorCounts((1000,), (600,)),
        "vwap": OperatorCounts((400,), (400,)),
        "bargains.join": OperatorCounts((600, 400), (590,)),
        "bargains.filter": OperatorCounts((590,), (100,)),
        "bargains": OperatorCounts((100,), (100,)),
        "out": OperatorCounts((100,), ()),
    },
    pes={PeId(0, 0): PETime(0.05), PeId(1, 0): PETime(0.6)},
    parts={"run": 0.4, "sinks": 0.05, "cut": 0.03, "other": 0.02},
    sinks={"out": 0.05},
    state_bytes=84_900,
)


def text_of(shown: object, width: int = 100) -> list[str]:
    out = Console(file=io.StringIO(), width=width, record=True)
    out.print(shown)
    return [line.rstrip() for line in out.export_text().splitlines()]


def terminal(height: int = 24, width: int = 100) -> Console:
    return Console(file=io.StringIO(), width=width, height=height, force_terminal=True)


def said(out: Console) -> str:
    return out.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_a_row_per_operator() -> None:
    assert text_of(operator_table(PLAN, REPORT, 20)) == [
        "operator         PE      degree   in/s  out/s  out/in   busy",
        "ticks            0.0          2         2,000           10 %",
        "trades                           2,000    800     0.4",
        "quotes                           2,000  1,200     0.6",
        "vwap             1.0          2    800    800       1  120 %",
        "bargains.join                 2  2,000  1,180    0.59",
        "bargains.filter                  1,180    200   0.169",
        "bargains                           200    200       1",
        "out              driver            200                  10 %",
    ]


def test_where_there_are_too_many_the_busiest_are_shown() -> None:
    lines = text_of(operator_table(PLAN, REPORT, 5))
    assert [line.split()[0] for line in lines] == ["operator", "ticks", "trades", "quotes", "bargains.join", "…"]
    assert lines[-1] == "… 4 more with fewer tuples"


def test_the_bar_is_the_time() -> None:
    (line,) = text_of(time_bar(REPORT))
    assert line == f"500 ms {'█' * 32} cut 30 run 400 sinks 50 other 20"
    assert text_of(time_bar(EpochReport(0, False, 1, {}, 0.1, None))) == ["100 ms"]


def test_the_table_on_a_terminal() -> None:
    out = terminal()
    with progress(out, out, PLAN, as_json=False, view=None) as view:
        assert isinstance(view, LiveTable)
        assert said(out) == "", "Spark's start has the terminal for itself"
        view.watch(REPORT)
        assert "epoch 12  2,000 tuples/s  1,000 tuples in" in said(out)
        assert "7,000 waiting  state 84.9 kB  3 skipped" in said(out)
        view.stopping(13)
        view.watch(REPORT)
        view.live.refresh()
        assert "stopping after epoch 13; interrupt again to stop immediately" in said(out)
    assert "2 epochs  2,000 tuples/s  2,000 tuples in" in said(out)


def test_a_stop_before_the_first_epoch_is_a_line() -> None:
    out = terminal()
    with progress(out, out, PLAN, as_json=False, view="table") as view:
        view.stopping(None)
    assert said(out) == "stopping; interrupt again to stop immediately\n"


@pytest.mark.parametrize(("height", "width", "table"), [(24, 100, True), (9, 100, False), (24, 60, False)])
def test_a_small_terminal_gets_a_line(height: int, width: int, table: bool) -> None:
    out = terminal(height, width)
    assert fits(out) is table
    with progress(out, out, PLAN, as_json=False, view=None) as view:
        assert isinstance(view, LiveTable if table else LiveLine)
    with progress(out, out, PLAN, as_json=False, view="line") as view:
        assert isinstance(view, LiveLine)


def test_no_line_is_longer_or_lower_than_the_terminal() -> None:
    out = terminal(height=10, width=70)
    with progress(out, out, PLAN, as_json=False, view="table") as view:
        assert isinstance(view, LiveTable)
        view.watch(REPORT)
        lines = text_of(view.live.renderable, width=70)
    assert len(lines) < 10
    assert max(map(len, lines)) <= 70


def test_an_unknown_view() -> None:
    with (
        pytest.raises(UsageError, match="unknown view") as error,
        progress(terminal(), terminal(), PLAN, as_json=False, view="tabel"),
    ):
        pass
    assert error.value.hint == "did you mean `table`?"


def test_epochs_add_up() -> None:
    both = added(REPORT, REPORT)
    assert (both.epoch, both.tuples_in, both.seconds, both.backlog) == (12, 2000, 1.0, 7000)
    assert both.operators["bargains.join"] == OperatorCounts((1200, 800), (1180,))
    assert both.operators["trades"].skipped == both.skipped == 6
    assert both.pes[PeId(1, 0)].cpu_s == 1.2
    assert both.parts == {"run": 0.8, "sinks": 0.1, "cut": 0.06, "other": 0.04}

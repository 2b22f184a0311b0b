"""Progress and results on the terminal."""

from __future__ import annotations

import json
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from thalweg.engine.checkpoint import EpochReport
from thalweg.engine.run import RunResult, Watch
from thalweg.engine.sinks import tuples_of

_SHOWN = 5


def watcher(out: Console, *, as_json: bool) -> Watch:
    """Prints a line per epoch."""

    def watch(report: EpochReport) -> None:
        if as_json:
            print(json.dumps({"event": "epoch", **asdict(report)}), flush=True)
            return
        if report.final:
            out.print(f"epoch {report.epoch:>5}  end of input")
            return
        rate = report.tuples_in / report.seconds if report.seconds else 0.0
        sinks = ", ".join(f"{n:,} at {sink}" for sink, n in report.tuples_out.items())
        backlog = f"; {report.backlog:,} waiting" if report.backlog else ""
        out.print(
            f"epoch {report.epoch:>5}  {report.tuples_in:>10,} in  {report.seconds * 1000:>7,.0f} ms "
            f"{rate:>12,.0f} tuples/s; {sinks}{backlog}"
        )

    return watch


def show_result(out: Console, result: RunResult, *, as_json: bool) -> None:
    if as_json:
        document = {"epochs": result.epochs, "tuples_in": result.tuples_in, "tuples_out": dict(result.tuples_out)}
        print(json.dumps({"event": "end", "seconds": round(result.seconds, 3), **document}), flush=True)
        return
    sinks = ", ".join(f"{n:,} at {sink}" for sink, n in result.tuples_out.items())
    out.print(f"\n{result.tuples_in:,} tuples in {result.epochs} epochs and {result.seconds:.1f} s; out: {sinks}")
    for sink, table in result.collected.items():
        shown = Table(
            title=f"{sink}: the first {min(_SHOWN, table.num_rows)} of {table.num_rows:,}", title_justify="left"
        )
        for name in table.column_names:
            shown.add_column(name)
        for row in tuples_of(table.slice(0, _SHOWN)):
            shown.add_row(*(repr(value) if isinstance(value, float) else str(value) for value in row))
        out.print(shown)

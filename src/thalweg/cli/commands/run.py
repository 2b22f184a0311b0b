"""`thalweg run`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from thalweg.api import check_engine, run_plan
from thalweg.cli.metrics import metrics as metrics_of
from thalweg.cli.options import AppName, Debug, Json, Params, Quiet, takes_plan_options
from thalweg.cli.plan_arguments import graph_of, pairs, planned_by
from thalweg.cli.print_errors import print_json
from thalweg.cli.show_balance import balance_json, balance_text
from thalweg.cli.show_plan import summary
from thalweg.cli.show_run import progress, show_result
from thalweg.cli.signals import stopping
from thalweg.cli.terminal import notes, obeys_quiet, out
from thalweg.engine.core.run import DEFAULT_MAX_TUPLES, RunOptions, warn_at_end
from thalweg.engine.core.stop import Stop
from thalweg.engine.sinks.live_table import Tables
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.engine.storage.report import EpochReport
from thalweg.errors import EngineError, UsageError
from thalweg.explain import explain
from thalweg.ir.plan_json import plan_as_json
from thalweg.optimize.request import PlanRequest


@takes_plan_options
@obeys_quiet
def run(
    app: AppName,
    request: PlanRequest,
    engine: Annotated[str, typer.Option(metavar="spark|local", help="where to run")] = "spark",
    param: Params = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="folder for a checkpoint, which makes the run restartable")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="wait for new files; Ctrl-C pauses the run after the current epoch")
    ] = False,
    max_tuples_per_epoch: Annotated[
        int, typer.Option(help="size at which an epoch is cut", min=1)
    ] = DEFAULT_MAX_TUPLES,
    interval: Annotated[
        float, typer.Option(help="seconds between checks for new files, with --follow", min=0.01)
    ] = 1.0,
    keep_epochs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="for Kafka, TCP, iterables …: keep only the stored input of the last N epochs; by default all is kept",
            min=1,
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="delete an earlier run's output in the sinks' folders and tables")
    ] = False,
    master: Annotated[str | None, typer.Option(help="Spark master; by default all cores of this machine")] = None,
    conf: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Spark setting; may be repeated")] = None,
    view: Annotated[
        str | None, typer.Option(metavar="table|line", help="on a terminal: a row per operator, or one line")
    ] = None,
    metrics: Annotated[Path | None, typer.Option(help="append a JSON line per epoch to this file")] = None,
    prometheus: Annotated[
        str | None,
        typer.Option(metavar="[HOST:]PORT", help="serve Prometheus metrics; without a host, on this machine only"),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="show the whole plan, as explain does, and not only a line per stage")
    ] = False,
    quiet: Quiet = False,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Run an application and show its progress. Ctrl-C stops it after the current epoch, a second Ctrl-C immediately.

    Examples:

        thalweg run examples/bargains.py --degree 2

        thalweg run app.py --degree 4 --balance              (keys by their frequency)

        thalweg run app.py --engine local --max-tuples-per-epoch 100000

        thalweg run app.py --param threshold=2.5 --param password=@secret.txt

        thalweg run app.py --checkpoint state/ --follow      (run it again to resume)

        thalweg run app.py --follow --prometheus 9100 --metrics epochs.jsonl

        thalweg run app.py --master spark://10.0.0.5:7077 --checkpoint /shared/state --degree 8
    """
    if quiet and verbose:
        raise UsageError("--quiet and --verbose contradict each other", expected="one of them")
    check_engine(engine)
    settings = pairs(conf, "--conf", "KEY=VALUE")
    planned = planned_by(graph_of(app, param), request, checkpoint)
    made = planned.plan
    console = sys.stderr if json_output else None  # with --json, only documents go to standard output
    stop = Stop()
    tables = Tables() if out.is_terminal and not (json_output or quiet) else None
    options = RunOptions(
        checkpoint,
        follow,
        max_tuples_per_epoch,
        interval,
        overwrite,
        master,
        settings,
        console,
        stop,
        tables,
        keep_epochs=keep_epochs,
    )
    if json_output:
        event = {"event": "plan", "engine": engine, "params": dict(made.graph.params), "plan": plan_as_json(made)}
        print_json(event | balance_json(planned))
    else:
        shown_plan = explain(made, request.rules) if verbose else summary(made)
        out.print(shown_plan + balance_text(planned), markup=False)
        if checkpoint is None or not Checkpoint(checkpoint).has_ended:
            out.print(_starting() if engine == "spark" else "running on the local engine")
    with (
        metrics_of(made.graph.name, metrics, prometheus) as (watches, url),
        progress(out, notes, made, as_json=json_output, view=view, tables=tables) as shown,
        stopping(stop, shown.stopping) as interrupts,
    ):
        if url is not None:
            print_json({"event": "prometheus", "url": url}) if json_output else out.print(f"metrics at {url}")

        def watch(report: EpochReport) -> None:
            for one in (*watches, shown.watch):  # metrics first: a reader of the progress may query them
                one(report)

        try:
            result = run_plan(made, engine, options, watch)
        except KeyboardInterrupt:  # here, because typer would exit silently
            shown.close()
            notes.print(interrupts.ending(resumable=checkpoint is not None))
            raise typer.Exit(interrupts.exit_code) from None
        except EngineError as error:
            if interrupts.signal is None:
                raise
            shown.close()  # the signal went to all processes, and an engine's process that ended is not the cause
            notes.print(interrupts.ending(resumable=checkpoint is not None, because=error.message), markup=False)
            raise typer.Exit(interrupts.exit_code) from None
    warn_at_end(result)
    show_result(out, result, as_json=json_output)
    if result.stopped:
        notes.print(interrupts.ending(resumable=checkpoint is not None))
        raise typer.Exit(interrupts.exit_code)


def _starting() -> str:
    from thalweg.engine.spark.archive import mapping_options

    hint = "" if mapping_options() else "; `thalweg doctor --start` makes it faster"
    return f"starting Spark (a few seconds{hint})"

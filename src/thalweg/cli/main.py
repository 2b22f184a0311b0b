"""The command `thalweg`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from thalweg.api import check_engine, run_plan
from thalweg.cli.doctor import examine
from thalweg.cli.load import load_app
from thalweg.cli.show import show_result, watcher
from thalweg.engine.check import check as check_graph
from thalweg.engine.run import DEFAULT_MAX_TUPLES, RunOptions
from thalweg.errors import ThalwegError
from thalweg.explain import cut_invariance, explain, explain_json
from thalweg.ir.plan import PhysicalPlan
from thalweg.ir.text import parse_plan, plan_as_json
from thalweg.ir.verify import verify
from thalweg.optimize.passes import make_plan

cli = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    help="Compile and run streaming applications written in Python, on Apache Spark.",
    pretty_exceptions_enable=False,
)
out, err = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False, soft_wrap=True)

AppName = Annotated[str, typer.Argument(metavar="APP", help="path.py, path.py:attribute or module:attribute")]
Degree = Annotated[int, typer.Option(help="channels of every operator whose state has a key", min=1)]
FuseMode = Annotated[str, typer.Option(metavar="none|all", help="one PE per operator, or as few PEs as possible")]
PlanFile = Annotated[
    Path | None,
    typer.Option("--plan", help="a plan in its text form, instead of --degree and --fuse", exists=True, dir_okay=False),
]
Json = Annotated[bool, typer.Option("--json", help="machine-readable output: one JSON document per line")]
Debug = Annotated[bool, typer.Option("--debug", help="show tracebacks")]


def _plan(app: str, degree: int, fuse: str, file: Path | None) -> PhysicalPlan:
    graph = load_app(app).graph()
    if file is not None:
        return verify(parse_plan(file.read_text(), graph))
    return make_plan(graph, degree=degree, fuse=fuse)


def _print_json(document: Any) -> None:
    print(json.dumps(document), flush=True)


@cli.command()
def run(
    app: AppName,
    engine: Annotated[str, typer.Option(metavar="spark|local", help="where to run")] = "spark",
    degree: Degree = 1,
    fuse: FuseMode = "all",
    plan: PlanFile = None,
    checkpoint: Annotated[Path | None, typer.Option(help="folder that makes the run restartable")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="wait for new files; Ctrl-C pauses the run")] = False,
    max_tuples_per_epoch: Annotated[int, typer.Option(help="where to cut epochs", min=1)] = DEFAULT_MAX_TUPLES,
    interval: Annotated[float, typer.Option(help="seconds between looks for new files, with --follow")] = 1.0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="delete an earlier run's output in the sinks' folders")
    ] = False,
    master: Annotated[str | None, typer.Option(help="Spark master; by default all cores of this machine")] = None,
    conf: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Spark setting; may be repeated")] = None,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Run an application and show its progress.

    Examples:

        thalweg run examples/bargains.py --degree 2

        thalweg run app.py --engine local --max-tuples-per-epoch 100000

        thalweg run app.py --checkpoint state/ --follow      (start it again to go on)
    """
    check_engine(engine)
    made = _plan(app, degree, fuse, plan)
    if bad := next((pair for pair in conf or [] if "=" not in pair), None):
        raise typer.BadParameter(f"expected KEY=VALUE, found {bad}", param_hint="--conf")
    settings = dict(pair.partition("=")[::2] for pair in conf or [])
    console = sys.stderr if json_output else None  # standard output is then for documents
    options = RunOptions(checkpoint, follow, max_tuples_per_epoch, interval, overwrite, master, settings, console)
    if json_output:
        _print_json({"event": "plan", "engine": engine, "plan": plan_as_json(made)})
    else:
        out.print(explain(made), markup=False)
        out.print("starting Spark (some seconds)" if engine == "spark" else "running on the local engine")
    try:
        result = run_plan(made, engine, options, watcher(out, as_json=json_output))
    except KeyboardInterrupt:  # here, because typer would make a silent exit of it
        err.print("paused; the same command goes on" if checkpoint else "stopped")
        raise typer.Exit(130) from None
    show_result(out, result, as_json=json_output)


@cli.command(name="explain")
def explain_command(
    app: AppName,
    degree: Degree = 1,
    fuse: FuseMode = "all",
    plan: PlanFile = None,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Show the operators, the plan and what the exchanges carry. Runs nothing.

    Examples:

        thalweg explain examples/bargains.py --degree 2

        thalweg explain app.py --fuse none --json
    """
    made = _plan(app, degree, fuse, plan)
    if json_output:
        _print_json(explain_json(made))
    else:
        out.print(explain(made), end="", markup=False)


@cli.command()
def check(
    app: AppName,
    tuples: Annotated[int, typer.Option(help="how much of the real input to take", min=1)] = 20_000,
    plans: Annotated[int, typer.Option(help="how many plans to try", min=6)] = 24,
    seed: Annotated[int, typer.Option(help="for the random plans")] = 0,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Compare many plans with the reference, tuple by tuple and bit by bit, on a sample of the real input.

    Examples:

        thalweg check examples/bargains.py

        thalweg check app.py --tuples 5000 --plans 100 --seed 7
    """
    graph = load_app(app).graph()
    with err.status("computing the reference answer") as status:
        result = check_graph(
            graph,
            tuples=tuples,
            plans=plans,
            seed=seed,
            cut_invariant=cut_invariance(graph)[0],
            progress=lambda done: status.update(f"{done} of {plans} plans agree"),
        )
    if result.failure is not None:
        raise result.failure
    if json_output:
        _print_json(
            {"plans": result.plans, "cuts": result.cuts, "tuples": result.tuples, "difference": result.difference}
        )
    elif result.difference is None:
        rows = ", ".join(f"{n:,} at {sink}" for sink, n in result.sinks.items())
        out.print(f"same answer under {result.plans} plans and {result.cuts} ways to cut epochs")
        out.print(f"  {result.tuples:,} tuples in; tuples out: {rows}; compared bit for bit, order included")
    else:
        err.print(f"[bold red]different answers[/] after {result.plans} plans that agreed")
        err.print(result.difference, markup=False)
    raise typer.Exit(0 if result.difference is None else 1)


@cli.command()
def doctor(
    start: Annotated[bool, typer.Option("--start", help="also start a Spark session and run a tiny query")] = False,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Check this machine: Python, Java, packages.

    Examples:

        thalweg doctor

        thalweg doctor --start
    """
    findings = examine(start=start)
    if json_output:
        _print_json([finding.__dict__ for finding in findings])
    else:
        for finding in findings:
            out.print(f"[{'green]ok ' if finding.ok else 'bold red]bad'}[/] {finding.what}: {finding.found}")
            if finding.hint:
                out.print(f"      {finding.hint}", markup=False)
    raise typer.Exit(0 if all(finding.ok for finding in findings) else 1)


def main() -> None:
    """Errors are one clear paragraph; a traceback only with --debug."""
    try:
        cli()
    except ThalwegError as error:
        if "--debug" in sys.argv:
            raise
        if "--json" in sys.argv:
            _print_json(error.as_json())
        else:
            err.print(f"[bold red]{error.kind}:[/] ", end="")
            err.print(str(error), markup=False)
        sys.exit(1)


if __name__ == "__main__":
    main()

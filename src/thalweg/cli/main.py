"""The command `thalweg`."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.exceptions import TyperException

from thalweg.analysis.safety import check_safety
from thalweg.analysis.show import facts_json, facts_text
from thalweg.analysis.verify import verify
from thalweg.api import check_engine, run_plan
from thalweg.cli.balance import balance_json, balance_text
from thalweg.cli.doctor import examine
from thalweg.cli.load import load_app
from thalweg.cli.metrics import metrics as metrics_of
from thalweg.cli.migrate import migration_json, migration_text
from thalweg.cli.mistakes import print_json, show_error, shown_warnings, usage_error
from thalweg.cli.options import (
    AppName,
    Balanced,
    Buckets,
    Debug,
    Degree,
    DegreeOrOpen,
    FuseMode,
    Json,
    Params,
    PlanFile,
    RuleSet,
)
from thalweg.cli.show import progress, show_result
from thalweg.cli.signals import stopping
from thalweg.cli.state import chosen, state_json, state_text
from thalweg.engine.check import CheckResult
from thalweg.engine.check import check as check_graph
from thalweg.engine.inspect import inspect_checkpoint
from thalweg.engine.live_table import Tables
from thalweg.engine.migrate import Change
from thalweg.engine.migrate import migrate as migrate_checkpoint
from thalweg.engine.planned import Planned, plan_run
from thalweg.engine.report import EpochReport
from thalweg.engine.run import DEFAULT_MAX_TUPLES, RunOptions
from thalweg.engine.stop import Stop
from thalweg.errors import ThalwegError, UsageError
from thalweg.explain import cut_invariance, explain, explain_json, explain_steps, steps_json
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import OPEN
from thalweg.ir.text import parse_plan, plan_as_json
from thalweg.mermaid import mermaid
from thalweg.optimize.passes import Observer, Step, close_degrees

cli = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    help="Compile and run streaming applications written in Python, on Apache Spark.",
    epilog="Exit codes: 0 all is well; 1 an error, or `check` found a difference, or `doctor` something bad; "
    "2 the command line is wrong; 130 stopped by Ctrl-C; 143 stopped by SIGTERM.",
    pretty_exceptions_enable=False,
)
out, err = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False, soft_wrap=True)


def _graph(app: str, params: list[str] | None) -> LogicalGraph:
    return load_app(app, _pairs(params, "--param", "NAME=VALUE")).graph()


def _plan(
    graph: LogicalGraph,
    degree: int,
    fuse: str,
    file: Path | None,
    observe: Observer = lambda step: None,
    buckets: int | None = None,
    balance: bool = False,
    checkpoint: Path | None = None,
    rules: str = "thalweg",
) -> Planned:
    if file is not None:
        said = {"--balance": balance, "--fuse": fuse != "all", "--rules": rules != "thalweg"}
        for option in (name for name, given in said.items() if given):
            raise UsageError(f"--plan says all that {option} would", expected=f"--plan or {option}, not both")
        check_safety(graph)
        return Planned(close_degrees(verify(parse_plan(_plan_text(file), graph)), degree, buckets))
    groups = Path(fuse).read_text() if Path(fuse).is_file() else fuse
    with err.status("counting keys in a sample of the input") if balance else nullcontext():
        return plan_run(
            graph,
            degree=degree,
            fuse=groups,
            buckets=buckets,
            balance=balance,
            checkpoint=checkpoint,
            rules=rules,
            observe=observe,
        )


def _plan_text(file: Path) -> str:
    """The file's plan; of all that `explain` prints, that part."""
    text = file.read_text()
    if not text.startswith("application "):
        return text
    return "plan " + text.partition("\nplan ")[2].partition("\n\n")[0]


def _degree(text: str) -> int:
    """A number of channels, or OPEN."""
    if text != "open" and not (text.isdecimal() and int(text) > 0):
        raise UsageError("--degree counts channels", expected="1 or more, or open", found=text)
    return OPEN if text == "open" else int(text)


def _pairs(options: list[str] | None, name: str, shape: str) -> dict[str, str]:
    for pair in options or []:
        if "=" not in pair:
            raise UsageError(f"{name}: no value", expected=shape)  # not what was found: it may be a secret
    return {key.strip(): value for key, _, value in (pair.partition("=") for pair in options or [])}


@cli.command()
def run(
    app: AppName,
    engine: Annotated[str, typer.Option(metavar="spark|local", help="where to run")] = "spark",
    param: Params = None,
    degree: Degree = 1,
    buckets: Buckets = None,
    balance: Balanced = False,
    fuse: FuseMode = "all",
    plan: PlanFile = None,
    rules: RuleSet = "thalweg",
    checkpoint: Annotated[Path | None, typer.Option(help="folder that makes the run restartable")] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="wait for new files; Ctrl-C pauses the run after the epoch")
    ] = False,
    max_tuples_per_epoch: Annotated[int, typer.Option(help="where to cut epochs", min=1)] = DEFAULT_MAX_TUPLES,
    interval: Annotated[float, typer.Option(help="seconds between looks for new files, with --follow", min=0.01)] = 1.0,
    keep_epochs: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="keep what the last N epochs took of Kafka, TCP, iterables …; by default all", min=1
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
        str | None, typer.Option(metavar="[HOST:]PORT", help="answer Prometheus there; by default only this machine")
    ] = None,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Run an application and show its progress. Ctrl-C stops it after the epoch in progress; a second one, at once.

    Examples:

        thalweg run examples/bargains.py --degree 2

        thalweg run app.py --degree 4 --balance              (keys by how often they occur)

        thalweg run app.py --engine local --max-tuples-per-epoch 100000

        thalweg run app.py --param threshold=2.5 --param password=@secret.txt

        thalweg run app.py --checkpoint state/ --follow      (start it again to go on)

        thalweg run app.py --follow --prometheus 9100 --metrics epochs.jsonl

        thalweg run app.py --master spark://10.0.0.5:7077 --checkpoint /shared/state --degree 8
    """
    check_engine(engine)
    settings = _pairs(conf, "--conf", "KEY=VALUE")
    planned = _plan(
        _graph(app, param), degree, fuse, plan, buckets=buckets, balance=balance, checkpoint=checkpoint, rules=rules
    )
    made = planned.plan
    console = sys.stderr if json_output else None  # standard output is then for documents
    stop = Stop()
    tables = Tables() if out.is_terminal and not json_output else None
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
        out.print(explain(made, rules) + balance_text(planned), markup=False)
        out.print("starting Spark (some seconds)" if engine == "spark" else "running on the local engine")
    how_it_ends = "paused; the same command goes on" if checkpoint else "stopped"
    with (
        metrics_of(made.graph.name, metrics, prometheus) as (watches, url),
        progress(out, err, made, as_json=json_output, view=view, tables=tables) as shown,
        stopping(stop, shown.stopping) as interrupts,
    ):
        if url is not None:
            print_json({"event": "prometheus", "url": url}) if json_output else out.print(f"metrics at {url}")

        def watch(report: EpochReport) -> None:
            for one in (*watches, shown.watch):  # who reads of an epoch may ask for its metrics
                one(report)

        try:
            result = run_plan(made, engine, options, watch)
        except KeyboardInterrupt:  # here, because typer would make a silent exit of it
            shown.close()
            err.print(how_it_ends)
            raise typer.Exit(interrupts.exit_code) from None
    show_result(out, result, as_json=json_output)
    if result.stopped:
        err.print(how_it_ends)
        raise typer.Exit(interrupts.exit_code)


@cli.command(name="explain")
def explain_command(
    app: AppName,
    param: Params = None,
    degree: DegreeOrOpen = "1",
    buckets: Buckets = None,
    balance: Balanced = False,
    fuse: FuseMode = "all",
    plan: PlanFile = None,
    rules: RuleSet = "thalweg",
    verbose: Annotated[bool, typer.Option("--verbose", help="also the plan after each pass")] = False,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="a Mermaid flowchart by stage and PE")] = False,
    facts: Annotated[bool, typer.Option("--facts", help="also what is known of each operator, and why")] = False,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Show the operators, the plan and what the exchanges carry. Runs nothing; --balance runs a sample of the
    input, on the local engine, and shows what the heaviest channel gets.

    Examples:

        thalweg explain examples/bargains.py --degree 2

        thalweg explain app.py --fuse none --json

        thalweg explain app.py --degree 4 --verbose

        thalweg explain app.py --degree 4 --balance

        thalweg explain app.py --mermaid > plan.mmd

        thalweg explain app.py --facts

        thalweg explain app.py --rules paper --degree open
    """
    if as_mermaid and (json_output or verbose or facts):
        raise UsageError("--mermaid is a form of its own", expected="--mermaid without --json, --verbose and --facts")
    steps: list[Step] = []
    planned = _plan(_graph(app, param), _degree(degree), fuse, plan, steps.append, buckets, balance, rules=rules)
    made = planned.plan
    if as_mermaid:
        out.print(mermaid(made), end="", markup=False)
    elif json_output:
        more: dict[str, Any] = {"passes": steps_json(steps)} if verbose else {}
        more |= {"facts": facts_json(made.graph)} if facts else {}
        print_json({**explain_json(made, rules), **balance_json(planned), **more})
    else:
        out.print(explain(made, rules) + balance_text(planned), end="", markup=False)
        if facts:
            out.print(f"\n{facts_text(made.graph)}", end="", markup=False)
        if verbose:
            shown = explain_steps(steps) if steps else f"no pass ran: the plan is that of {plan}\n"
            out.print(f"\n{shown}", end="", markup=False)


@cli.command()
def check(
    app: AppName,
    param: Params = None,
    tuples: Annotated[int, typer.Option(help="how much of the real input to take", min=1)] = 20_000,
    plans: Annotated[int, typer.Option(help="how many plans to try", min=6)] = 24,
    seed: Annotated[int, typer.Option(help="for the random plans")] = 0,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Compare many plans with the reference, tuple by tuple and bit by bit, on a sample of the real input.

    A difference is shown with the first operator whose output differs, and the first tuple in which it does.

    Examples:

        thalweg check examples/bargains.py

        thalweg check app.py --tuples 5000 --plans 100 --seed 7
    """
    graph = _graph(app, param)
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
        print_json(
            {"plans": result.plans, "cuts": result.cuts, "tuples": result.tuples, "difference": result.difference}
            | {"divergence": result.divergence.as_json() if result.divergence else None}
            | {"lie": result.lie.as_json() if result.lie else None}
        )
    else:
        _show_check(result)
    raise typer.Exit(0 if result.difference is None else 1)


def _show_check(result: CheckResult) -> None:
    if result.difference is None:
        rows = ", ".join(f"{n:,} at {sink}" for sink, n in result.sinks.items())
        out.print(f"same answer under {result.plans} plans and {result.cuts} ways to cut epochs")
        out.print(f"  {result.tuples:,} tuples in; tuples out: {rows}; compared bit for bit, order included")
        return
    if result.lie is not None:
        err.print(str(result.lie), style="bold red", markup=False)
        return
    err.print(f"[bold red]different answers[/] after {result.plans} plans that agreed")
    err.print(result.difference, markup=False)
    watched = "it agrees when every stream is watched: look at what is dropped between operators, or at the cuts"
    err.print(str(result.divergence or watched), markup=False)


@cli.command()
def state(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="the folder that --checkpoint named")],
    operator: Annotated[str | None, typer.Option(help="only this operator's state")] = None,
    key: Annotated[
        list[str] | None, typer.Option(help="only this key; repeated for the attributes of a longer one")
    ] = None,
    limit: Annotated[int, typer.Option(help="how many keys to show of each operator", min=0)] = 5,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Look into a checkpoint: how far the run came, and what its operators remember. Changes nothing.

    Examples:

        thalweg state state/

        thalweg state state/ --operator vwap --key IBM --json
    """
    found = inspect_checkpoint(checkpoint)
    wanted = tuple(key or ())
    operators = chosen(found, operator, wanted)
    if json_output:
        print_json(state_json(found, operators, wanted, limit))
        return
    for line in state_text(found, operators, wanted, limit):
        out.print(line, markup=False)


@cli.command()
def migrate(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="the folder that --checkpoint named")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="a new or empty folder: the checkpoint to go on with")],
    degree: Annotated[
        int | None, typer.Option(help="channels of every operator whose state has a key; by default as they are", min=1)
    ] = None,
    buckets: Annotated[
        int | None, typer.Option(help="buckets of the state; by default what a run of that degree has", min=1)
    ] = None,
    balance: Annotated[
        bool, typer.Option("--balance", help="spread the stored keys evenly over the channels, whatever their hashes")
    ] = False,
    engine: Annotated[str | None, typer.Option(metavar="spark|local", help="by default the same")] = None,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Move the state of a paused or stopped run into a new checkpoint of another degree, fusion or engine.

    Nothing is lost or run twice, and the output stays the same, bit for bit. The old checkpoint is kept, but it cannot
    be started any more. The next start says how to fuse.

    Examples:

        thalweg migrate state/ state-4/ --degree 4

        thalweg migrate state/ wide/ --degree 2 --buckets 64

        thalweg migrate state/ even/ --degree 4 --balance

        thalweg migrate state/ on-spark/ --engine spark --json
    """
    if engine is not None:
        check_engine(engine)
    with err.status("looking at the checkpoint") as status:
        done = migrate_checkpoint(checkpoint, new, Change(degree, buckets, engine, balance), status.update)
    if json_output:
        print_json(migration_json(done))
        return
    for line in migration_text(done, new):
        out.print(line, markup=False)


@cli.command()
def doctor(
    start: Annotated[bool, typer.Option("--start", help="also start a Spark session and run a tiny query")] = False,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Check this machine: Python, Java, packages, toolkits.

    Examples:

        thalweg doctor

        thalweg doctor --start
    """
    findings = examine(start=start)
    if json_output:
        print_json([finding.__dict__ for finding in findings])
    else:
        for finding in findings:
            out.print(f"[{'green]ok ' if finding.ok else 'bold red]bad'}[/] {finding.what}: {finding.found}")
            if finding.hint:
                out.print(f"      {finding.hint}", markup=False)
    raise typer.Exit(0 if all(finding.ok for finding in findings) else 1)


def main() -> None:
    """Errors are one clear paragraph; a traceback only with --debug."""
    with shown_warnings(err):
        try:
            sys.exit(cli(prog_name="thalweg", standalone_mode=False))
        except TyperException as error:
            if not error.format_message():  # no command at all: its help was shown
                sys.exit(error.exit_code)
            show_error(err, usage_error(error))
        except ThalwegError as error:
            if "--debug" in sys.argv:
                raise
            show_error(err, error)


if __name__ == "__main__":
    main()

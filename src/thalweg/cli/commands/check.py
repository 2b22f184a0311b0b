"""`thalweg check`."""

from __future__ import annotations

from typing import Annotated

import typer

from thalweg.cli.options import AppName, Debug, Json, Params, Quiet, takes_plan_options
from thalweg.cli.plan_arguments import graph_of, planned_by
from thalweg.cli.print_errors import print_json
from thalweg.cli.terminal import err, obeys_quiet, out, status
from thalweg.explain import cut_invariance
from thalweg.optimize.request import PlanRequest
from thalweg.verify.check import CheckResult
from thalweg.verify.check import check as check_graph


@takes_plan_options
@obeys_quiet
def check(
    app: AppName,
    request: PlanRequest,
    param: Params = None,
    tuples: Annotated[int, typer.Option(help="number of tuples in the sample of the input", min=1)] = 20_000,
    plans: Annotated[int, typer.Option(help="number of plans to try", min=6)] = 24,
    seed: Annotated[int, typer.Option(help="seed of the random plans")] = 0,
    quiet: Quiet = False,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Compare many plans with the reference, tuple by tuple and bit by bit, on a sample of the real input.

    The plan that the options request is checked first. If an answer differs, the first operator whose output differs
    is shown, with the first tuple that differs.

    Examples:

        thalweg check examples/bargains.py

        thalweg check app.py --tuples 5000 --plans 100 --seed 7

        thalweg check app.py --plan plan.txt                 (this plan first, then others)
    """
    graph = graph_of(app, param)
    first = planned_by(graph, request).plan if request != PlanRequest() else None
    with status("computing the reference answer") as show:
        result = check_graph(
            graph,
            tuples=tuples,
            plans=plans,
            seed=seed,
            cut_invariant=cut_invariance(graph)[0],
            progress=lambda done: show(f"{done} of {plans} plans agree"),
            first=first,
        )
    if result.failure is not None:
        raise result.failure
    if json_output:
        print_json(
            {"plans": result.plans, "cuts": result.cuts, "tuples": result.tuples, "difference": result.difference}
            | {"divergence": result.divergence.as_json() if result.divergence else None}
            | {"wrong_declaration": result.wrong_declaration.as_json() if result.wrong_declaration else None}
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
    if result.wrong_declaration is not None:
        err.print(str(result.wrong_declaration), style="bold red", markup=False)
        return
    err.print(f"[bold red]different answers[/] after {result.plans} plans that agreed")
    err.print(result.difference, markup=False)
    hidden = "the answers agree when every stream is recorded: check the attributes that are dropped, and the cuts"
    err.print(str(result.divergence or hidden), markup=False)

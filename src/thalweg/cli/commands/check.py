"""`thalweg check`."""

from __future__ import annotations

from typing import Annotated

import typer

from thalweg.cli.options import (
    AppName,
    Balanced,
    Buckets,
    Debug,
    Degree,
    FrameRows,
    FuseMode,
    Json,
    Params,
    PlanFile,
    RuleSet,
)
from thalweg.cli.planning import graph_of, planned_by
from thalweg.cli.print_errors import print_json
from thalweg.cli.terminal import err, out
from thalweg.explain import cut_invariance
from thalweg.ir.plan import DEFAULT_FRAME_ROWS
from thalweg.optimize.request import PlanRequest
from thalweg.verify.check import CheckResult
from thalweg.verify.check import check as check_graph


def check(
    app: AppName,
    param: Params = None,
    tuples: Annotated[int, typer.Option(help="how much of the real input to take", min=1)] = 20_000,
    plans: Annotated[int, typer.Option(help="how many plans to try", min=6)] = 24,
    seed: Annotated[int, typer.Option(help="for the random plans")] = 0,
    degree: Degree = 1,
    buckets: Buckets = None,
    balance: Balanced = False,
    fuse: FuseMode = "all",
    plan: PlanFile = None,
    rules: RuleSet = "thalweg",
    frame_rows: FrameRows = DEFAULT_FRAME_ROWS,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Compare many plans with the reference, tuple by tuple and bit by bit, on a sample of the real input.

    The plan that the options ask for is tried first. A difference is shown with the first operator whose output
    differs, and the first tuple in which it does.

    Examples:

        thalweg check examples/bargains.py

        thalweg check app.py --tuples 5000 --plans 100 --seed 7

        thalweg check app.py --plan plan.txt                 (this plan first, then others)
    """
    request = PlanRequest(
        degree=degree,
        fuse=fuse,
        buckets=buckets,
        balance=balance,
        rules=rules,
        frame_rows=frame_rows,
        plan=plan,
    )
    graph = graph_of(app, param)
    first = planned_by(graph, request).plan if request != PlanRequest() else None
    with err.status("computing the reference answer") as status:
        result = check_graph(
            graph,
            tuples=tuples,
            plans=plans,
            seed=seed,
            cut_invariant=cut_invariance(graph)[0],
            progress=lambda done: status.update(f"{done} of {plans} plans agree"),
            first=first,
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

"""`thalweg explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg.analysis.show_facts import facts_json, facts_text
from thalweg.cli.options import (
    AppName,
    Balanced,
    Buckets,
    Debug,
    DegreeOrOpen,
    FrameRows,
    FuseMode,
    Json,
    Params,
    PlanFile,
    RuleSet,
)
from thalweg.cli.planning import degree_of, graph_of, planned_by
from thalweg.cli.print_errors import print_json
from thalweg.cli.show_balance import balance_json, balance_text
from thalweg.cli.terminal import out
from thalweg.errors import UsageError
from thalweg.explain import explain as explained
from thalweg.explain import explain_diff, explain_json, explain_steps, steps_json
from thalweg.ir.diff import diff
from thalweg.ir.plan import DEFAULT_FRAME_ROWS
from thalweg.mermaid import mermaid
from thalweg.optimize.passes import Step, given_plan
from thalweg.optimize.request import PlanRequest


def explain(
    app: AppName,
    param: Params = None,
    degree: DegreeOrOpen = "1",
    buckets: Buckets = None,
    balance: Balanced = False,
    fuse: FuseMode = "all",
    plan: PlanFile = None,
    rules: RuleSet = "thalweg",
    frame_rows: FrameRows = DEFAULT_FRAME_ROWS,
    verbose: Annotated[bool, typer.Option("--verbose", help="also what each pass changed, and its time")] = False,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="a Mermaid flowchart by stage and PE")] = False,
    facts: Annotated[bool, typer.Option("--facts", help="also what is known of each operator, and why")] = False,
    against: Annotated[
        Path | None,
        typer.Option(
            "--diff", metavar="PLAN", help="only what changes from the plan in this file to this one", exists=True
        ),
    ] = None,
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

        thalweg explain app.py --degree 4 --diff plan.txt    (a file with what explain printed)
    """
    if as_mermaid and (json_output or verbose or facts):
        raise UsageError("--mermaid is a form of its own", expected="--mermaid without --json, --verbose and --facts")
    if against is not None and (as_mermaid or verbose or facts):
        raise UsageError("--diff is a form of its own", expected="--diff without --mermaid, --verbose and --facts")
    steps: list[Step] = []
    request = PlanRequest(
        degree=degree_of(degree),
        fuse=fuse,
        buckets=buckets,
        balance=balance,
        rules=rules,
        frame_rows=frame_rows,
        plan=plan,
    )
    planned = planned_by(graph_of(app, param), request, observe=steps.append)
    made = planned.plan
    if against is not None:
        differences = diff(given_plan(made.graph, PlanRequest(plan=against).plan_text or ""), made)
        if json_output:
            print_json({"diff": [one.as_json() for one in differences]})
        else:
            out.print(explain_diff(differences, against), end="", markup=False)
    elif as_mermaid:
        out.print(mermaid(made), end="", markup=False)
    elif json_output:
        more: dict[str, Any] = {"passes": steps_json(steps)} if verbose else {}
        more |= {"facts": facts_json(made.graph)} if facts else {}
        print_json({**explain_json(made, rules), **balance_json(planned), **more})
    else:
        out.print(explained(made, rules) + balance_text(planned), end="", markup=False)
        if facts:
            out.print(f"\n{facts_text(made.graph)}", end="", markup=False)
        if verbose:
            shown = explain_steps(steps) if steps else f"no pass ran: the plan is that of {plan}\n"
            out.print(f"\n{shown}", end="", markup=False)

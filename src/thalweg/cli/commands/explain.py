"""`thalweg explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg.analysis.show_facts import facts_json, facts_text
from thalweg.cli.options import AppName, Debug, Json, Params, takes_plan_options
from thalweg.cli.plan_arguments import graph_of, planned_by
from thalweg.cli.print_errors import print_json
from thalweg.cli.show_balance import balance_json, balance_text
from thalweg.cli.terminal import out
from thalweg.errors import UsageError
from thalweg.explain import explain as explained
from thalweg.explain import explain_diff, explain_json, explain_steps, steps_json
from thalweg.ir.diff import diff
from thalweg.mermaid import mermaid
from thalweg.optimize.passes import Step, given_plan
from thalweg.optimize.request import PlanRequest


@takes_plan_options
def explain(
    app: AppName,
    request: PlanRequest,
    param: Params = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="also show what each pass changed, and how long it took")
    ] = False,
    as_mermaid: Annotated[
        bool, typer.Option("--mermaid", help="show a Mermaid flowchart by stage and PE instead")
    ] = False,
    facts: Annotated[
        bool, typer.Option("--facts", help="also show the facts about each operator, with reasons")
    ] = False,
    against: Annotated[
        Path | None,
        typer.Option(
            "--diff",
            metavar="PLAN",
            help="show only the changes from the plan in this file to this one",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Show the operators, the plan and the content of its exchanges. Runs nothing; only --balance runs a sample of the
    input, on the local engine, and shows the share of the heaviest channel.

    Examples:

        thalweg explain examples/bargains.py --degree 2

        thalweg explain app.py --fuse none --json

        thalweg explain app.py --degree 4 --verbose

        thalweg explain app.py --degree 4 --balance

        thalweg explain app.py --mermaid > plan.mmd

        thalweg explain app.py --facts

        thalweg explain app.py --rules paper --degree open

        thalweg explain app.py --degree 4 --diff plan.txt    (a file with the output of explain)
    """
    if as_mermaid and (json_output or verbose or facts):
        raise UsageError(
            "--mermaid is an output format of its own", expected="--mermaid without --json, --verbose and --facts"
        )
    if against is not None and (as_mermaid or verbose or facts):
        raise UsageError(
            "--diff is an output format of its own", expected="--diff without --mermaid, --verbose and --facts"
        )
    steps: list[Step] = []
    planned = planned_by(graph_of(app, param), request, observe=steps.append)
    made = planned.plan
    if against is not None:
        differences = diff(given_plan(made.graph, PlanRequest(plan=against).plan_text() or ""), made)
        if json_output:
            print_json({"diff": [one.as_json() for one in differences]})
        else:
            out.print(explain_diff(differences, against), end="", markup=False)
    elif as_mermaid:
        out.print(mermaid(made), end="", markup=False)
    elif json_output:
        more: dict[str, Any] = {"passes": steps_json(steps)} if verbose else {}
        more |= {"facts": facts_json(made.graph)} if facts else {}
        print_json({**explain_json(made, request.rules), **balance_json(planned), **more})
    else:
        out.print(explained(made, request.rules) + balance_text(planned), end="", markup=False)
        if facts:
            out.print(f"\n{facts_text(made.graph)}", end="", markup=False)
        if verbose:
            shown = explain_steps(steps) if steps else f"no pass ran: the plan was read from {request.plan}\n"
            out.print(f"\n{shown}", end="", markup=False)

"""`thalweg explain`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thalweg.analysis.show_facts import facts_json, facts_text
from thalweg.cli.options import (
    AppName,
    Balanced,
    Buckets,
    Debug,
    DegreeOrOpen,
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
from thalweg.explain import explain_json, explain_steps, steps_json
from thalweg.mermaid import mermaid
from thalweg.optimize.passes import Step


def explain(
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
    planned = planned_by(
        graph_of(app, param), degree_of(degree), fuse, plan, steps.append, buckets, balance, rules=rules
    )
    made = planned.plan
    if as_mermaid:
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

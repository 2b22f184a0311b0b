"""Build the graph and the plan from the arguments of a command."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from thalweg.cli.find_app import load_app
from thalweg.cli.terminal import status
from thalweg.errors import Interrupted, UsageError
from thalweg.ir.graph import LogicalGraph
from thalweg.optimize.passes import Observer, ignore
from thalweg.optimize.request import PlanRequest
from thalweg.planning.run_plan import RunPlan, plan_run


def graph_of(app: str, params: list[str] | None) -> LogicalGraph:
    return load_app(app, pairs(params, "--param", "NAME=VALUE")).graph()


def planned_by(
    graph: LogicalGraph, request: PlanRequest, checkpoint: Path | None = None, observe: Observer = ignore
) -> RunPlan:
    """The plan of a request; a status line is shown while a sample of the input is counted."""
    with status("counting keys in a sample of the input") if request.balance else nullcontext():
        try:
            return plan_run(graph, request, checkpoint, observe)
        except KeyboardInterrupt as error:
            raise Interrupted(f"Ctrl-C while {graph.name} was planned") from error


def pairs(options: list[str] | None, name: str, shape: str) -> dict[str, str]:
    for pair in options or []:
        if "=" not in pair:
            raise UsageError(f"{name}: no value", expected=shape)  # not what was found: it may be a secret
    return {key.strip(): value for key, _, value in (pair.partition("=") for pair in options or [])}

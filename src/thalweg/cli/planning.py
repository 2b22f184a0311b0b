"""From what the command line says to a graph and its plan."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Literal

from thalweg.cli.find_app import load_app
from thalweg.cli.terminal import err
from thalweg.errors import UsageError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan_options import OPEN
from thalweg.optimize.passes import Observer, ignore
from thalweg.optimize.request import PlanRequest
from thalweg.planning.run_plan import Planned, plan_run


def graph_of(app: str, params: list[str] | None) -> LogicalGraph:
    return load_app(app, pairs(params, "--param", "NAME=VALUE")).graph()


def planned_by(
    graph: LogicalGraph, request: PlanRequest, checkpoint: Path | None = None, observe: Observer = ignore
) -> Planned:
    """The plan of a request; a sample of the input is counted with a note that it takes a while."""
    with err.status("counting keys in a sample of the input") if request.balance else nullcontext():
        return plan_run(graph, request, checkpoint, observe)


def degree_of(text: str) -> int | Literal["open"]:
    """A number of channels, or "open"."""
    if text != OPEN and not (text.isdecimal() and int(text) > 0):
        raise UsageError("--degree counts channels", expected="1 or more, or open", found=text)
    return OPEN if text == OPEN else int(text)


def pairs(options: list[str] | None, name: str, shape: str) -> dict[str, str]:
    for pair in options or []:
        if "=" not in pair:
            raise UsageError(f"{name}: no value", expected=shape)  # not what was found: it may be a secret
    return {key.strip(): value for key, _, value in (pair.partition("=") for pair in options or [])}

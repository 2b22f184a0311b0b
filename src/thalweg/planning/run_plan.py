"""The plan of a run. Keys are routed as in its checkpoint or, at a first start, as a sample of the input suggests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.analysis.suggest_declarations import one_channel_warnings
from thalweg.errors import PlanError, warn
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import Plan
from thalweg.ir.plan_options import OPEN
from thalweg.ir.profile import Loads, Profile
from thalweg.optimize.balance import BALANCED_BUCKETS_PER_CHANNEL
from thalweg.optimize.passes import Observer, ignore, plan_for
from thalweg.optimize.request import Held, PlanRequest

if TYPE_CHECKING:
    from thalweg.engine.storage.manifest import Manifest


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A plan and, if a sample was taken for it, the measured loads."""

    plan: Plan
    loads: Loads | None = None


def plan_run(
    graph: LogicalGraph, request: PlanRequest, checkpoint: Path | None = None, observe: Observer = ignore
) -> RunPlan:
    """The plan of a run, with a warning for each operator in one channel whose code was not understood."""
    planned = _planned(graph, request, checkpoint, observe)
    if request.plan is None and (degree := _asked(request, planned.plan)) > 1:
        for text in one_channel_warnings(planned.plan.graph, request.rules, degree):
            warn(text)
    return planned


def _asked(request: PlanRequest, plan: Plan) -> int:
    """The number of channels that an operator should have; an operator that is asked for by name gets it, or fails."""
    degree = request.channels()
    return degree if isinstance(degree, int) else 1 if plan.is_open else plan.channels


def _planned(graph: LogicalGraph, request: PlanRequest, checkpoint: Path | None, observe: Observer) -> RunPlan:
    """State is where its keys were routed when it was written, so the routes of a checkpoint never change."""
    fixed = _manifest(checkpoint)
    if fixed is not None and fixed.states:
        if request.balance and not fixed.assignments:
            warn(
                "--balance has no effect: keys stay on the channels that they got at the first start with this "
                "checkpoint; thalweg migrate CHECKPOINT NEW --balance moves them"
            )
        held = Held(frozenset(fixed.states), fixed.routes, fixed.tables())
        kept = fixed.buckets if fixed.assignments and request.plan is None else None
        request = replace(request, balance=False, buckets=request.buckets or kept)
        return RunPlan(plan_for(graph, request, held, observe=observe))
    if not request.balance or not _can_balance(graph, request):
        return RunPlan(plan_for(graph, replace(request, balance=False), Held(), observe=observe))
    degree = request.channels()
    assert isinstance(degree, int)
    buckets = request.buckets or BALANCED_BUCKETS_PER_CHANNEL * degree
    from thalweg.planning.measure_keys import measure_keys  # here: it runs the local engine

    loads = measure_keys(graph, buckets)
    if not any(map(any, loads.at.values())):
        warn("--balance has no effect: there is no input yet in which keys could be counted")
    request = replace(request, buckets=buckets)
    return RunPlan(plan_for(graph, request, Held(), Profile(loads), observe), loads)


def closed(plan: Plan) -> Plan:
    """Return the plan if it can be run: no degree may be open."""
    if plan.is_open:
        raise PlanError("the plan has open degrees", expected="a degree for each region", hint="--degree N")
    return plan


def _can_balance(graph: LogicalGraph, request: PlanRequest) -> bool:
    degree = request.channels()
    if degree == 1:
        warn("--balance has no effect: with --degree 1 all keys are on one channel")
        return False
    if not isinstance(degree, int):
        found = f"--degree {degree}" if degree == OPEN else "a degree for each operator"
        raise PlanError("--balance requires the number of channels", expected="--degree N", found=found)
    if not any(operator.key for operator in graph.stateful):
        warn("--balance has no effect: no operator keeps state by key")
        return False
    return True


def _manifest(checkpoint: Path | None) -> Manifest | None:
    file = None if checkpoint is None else checkpoint / "manifest.json"
    if file is None or not file.is_file():
        return None
    from thalweg.engine.storage.manifest import Manifest  # here: a plan without a checkpoint needs no engine

    return Manifest.from_json(file.read_bytes())

"""From graph to plan. The order of the passes is data; the driver verifies and times each, and reports its changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Unpack

from thalweg.analysis.safety import check_safety
from thalweg.analysis.unused_state import settled
from thalweg.errors import InternalError, PlanError, ThalwegError, UsageError
from thalweg.ir.diff import Difference, diff
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Source
from thalweg.ir.plan import Decision, Plan
from thalweg.ir.plan_json import parse_json_plan
from thalweg.ir.plan_options import PlanOptions
from thalweg.ir.profile import Profile
from thalweg.ir.text import parse_plan
from thalweg.optimize.balance import Balance
from thalweg.optimize.choose_degrees import ChooseDegrees
from thalweg.optimize.context import Context
from thalweg.optimize.fuse import Fuse
from thalweg.optimize.hint_legality import verify_hints
from thalweg.optimize.legality import verify
from thalweg.optimize.parallelize import Parallelize
from thalweg.optimize.request import Held, PlanRequest


class Pass(Protocol):
    """Plan to plan; the same object when nothing changed."""

    @property
    def name(self) -> str: ...

    def run(self, plan: Plan, context: Context) -> Plan: ...


PASSES: tuple[Pass, ...] = (
    Parallelize(),  # routes decide where exchanges are, and no PE spans an exchange
    ChooseDegrees(),
    Balance(),  # tables also decide where exchanges are: equal keys meet only if their tables are equal
    Fuse(),  # last: it must know all exchanges
)

# In a plan that the user gives, only open degrees are decided.
PASSES_OF_AN_OPEN_PLAN: tuple[Pass, ...] = (ChooseDegrees(),)


@dataclass(frozen=True, slots=True)
class Step:
    """The effect of one pass, and how long it took. The first step has no `before`."""

    name: str
    before: Plan | None
    after: Plan
    seconds: float = 0.0

    @property
    def changed(self) -> bool:
        return self.after is not self.before

    @property
    def differences(self) -> tuple[Difference, ...]:
        return () if self.before is None or not self.changed else diff(self.before, self.after)


Observer = Callable[[Step], None]


def ignore(step: Step) -> None:
    """An observer that does nothing."""


def make_plan(
    graph: LogicalGraph,
    *,
    held: Held | None = None,
    profile: Profile | None = None,
    observe: Observer = ignore,
    **options: Unpack[PlanOptions],
) -> Plan:
    """A verified plan of a graph, with the options of `PlanRequest`."""
    return plan_for(graph, PlanRequest.of(**options), held or Held(), profile, observe)


def plan_for(
    graph: LogicalGraph,
    request: PlanRequest,
    held: Held,
    profile: Profile | None = None,
    observe: Observer = ignore,
) -> Plan:
    """The plan of a request: the one that it gives as text, or the result of the passes."""
    graph = settled(graph, held.states)
    check_safety(graph)
    context = Context(graph.analyses, request, held, profile)
    text = request.plan_text()
    if text is None:
        plan = run_passes(one_by_one(graph, request.frame_rows), PASSES, context, observe)
    else:
        plan = given_plan(graph, text)
        _refuse_what_is_decided(plan, request)
        if plan.is_open:
            plan = run_passes(plan, PASSES_OF_AN_OPEN_PLAN, context, observe)
    return verify_hints(plan)


def given_plan(graph: LogicalGraph, text: str) -> Plan:
    """The verified plan of a text or a JSON document; degrees that are open in it stay open."""
    plan = parse_json_plan(text, graph) if text.startswith("{") else parse_plan(text, graph)
    return verify_hints(verify(plan))


def _refuse_what_is_decided(plan: Plan, request: PlanRequest) -> None:
    """Reject options that a given plan would silently ignore."""
    if plan.is_open:
        return
    if request.channels() != 1:
        raise UsageError("the plan leaves no degree open", expected="a plan with degree=open, or no degree")
    if request.buckets not in (None, plan.buckets):
        raise UsageError(
            "the plan already decides buckets", expected=f"buckets={plan.buckets}", found=str(request.buckets)
        )


def one_by_one(graph: LogicalGraph, frame_rows: int) -> Plan:
    """The plan with which the passes begin: a PE for each operator, one channel."""
    decisions: dict[str, Decision] = {}
    for operator in graph.operators:
        routed = operator.key is not None or isinstance(operator, Source)
        decisions[operator.name] = Decision(degree=1, key=operator.key or ()) if routed else Decision()
    return Plan(graph, decisions, 1, frame_rows)


def run_passes(plan: Plan, passes: tuple[Pass, ...], context: Context, observe: Observer = ignore) -> Plan:
    """Apply the passes to a plan, in order."""
    observe(Step("begin", None, verify(plan)))
    for one in passes:
        begun = time.perf_counter()
        after = _run(one, plan, context)
        observe(Step(one.name, plan, after, time.perf_counter() - begun))
        plan = after
    return plan


def _run(one: Pass, plan: Plan, context: Context) -> Plan:
    try:
        after = one.run(plan, context)
    except ThalwegError as error:  # the request cannot be met
        error.add_note(f"raised by the pass {one.name}")
        raise
    except Exception as error:
        raise InternalError(
            f"the pass {one.name} failed: {error!r}", hint="a bug in Thalweg; --debug shows where"
        ) from error
    if after is plan:
        return plan
    try:
        return verify(after)
    except PlanError as error:
        raise InternalError(
            f"the pass {one.name} produced an {error.message}",
            operator=error.operator,
            where=error.where,
            expected=error.expected,
            found=error.found,
            hint="a bug in Thalweg; --verbose shows the plan before",
        ) from error

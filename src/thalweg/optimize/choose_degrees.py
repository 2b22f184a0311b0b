"""Choose the degrees that are open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from thalweg.analysis.form_regions import form_regions
from thalweg.analysis.suggest_declarations import suggestions
from thalweg.errors import PlanError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Source
from thalweg.ir.plan import Decision, Plan
from thalweg.ir.plan_options import OPEN
from thalweg.optimize.context import Context
from thalweg.optimize.fuse import fuse_again
from thalweg.optimize.groups import check_names

BUCKETS_PER_CHANNEL = 1  # right for thousands of keys; with many more, `buckets` lets an epoch write less


@dataclass(frozen=True, slots=True)
class ChooseDegrees:
    """Open degrees get the requested one, or that of a hint for their region; "open" leaves them open.

    before: vwap by symbol over any number of channels; total in one channel
    after (degree=2): vwap by symbol over 2 channels; total in one channel
    after (degree=1): one channel for all, so tuples are routed only to state
    must not fire: on a degree that is not open, because that operator must run in one channel.
    """

    name: ClassVar[str] = "choose_degrees"

    def run(self, plan: Plan, context: Context) -> Plan:
        degree, own = context.request.channels(), asked_degrees(plan.graph, context.request.rules)
        if isinstance(degree, Mapping):
            check_names(degree, plan.graph, "degree")
            chosen = plan.decide(_given(plan, degree, own))
            _check_given(chosen, degree, context.request.rules)
        else:
            chosen = plan.decide(_wanted(plan, None if degree == OPEN else degree, own))
        if chosen.channels == 1 and not chosen.is_open:
            chosen = plan.decide(_all_in_one(plan))
        buckets = enough_buckets(context.request.buckets, BUCKETS_PER_CHANNEL, chosen.channels)
        return fuse_again(chosen.decide({}, buckets=buckets))  # where a degree is 1, exchanges may be unnecessary


def enough_buckets(asked: int | None, per_channel: int, channels: int) -> int:
    """The requested number of buckets, or so many per channel."""
    buckets = asked or per_channel * channels
    if buckets < channels:
        raise PlanError(
            "fewer buckets than channels",
            expected=f"{channels} or more",
            found=f"{buckets} buckets",
            hint="a bucket of keys belongs to one channel; without --buckets there are enough buckets",
        )
    return buckets


def asked_degrees(graph: LogicalGraph, rules: str = "thalweg") -> dict[str, int]:
    """The degrees that hints request for regions, by operator of the region."""
    regions = form_regions(graph, rules).regions
    return {name: region.degree for region in regions if region.degree is not None for name in region.operators}


def open_states(graph: LogicalGraph, rules: str = "thalweg") -> set[str]:
    """The operators with state that may have any degree: those of regions for which no hint requests one."""
    regions = form_regions(graph, rules).regions
    return {o.name for o in graph.stateful if any(o.name in region and region.degree is None for region in regions)}


def _wanted(plan: Plan, degree: int | None, own: Mapping[str, int]) -> dict[str, Decision]:
    """The same degree for all regions, except those for which a hint requests a different one."""
    return {n: replace(d, degree=own.get(n, degree)) for n, d in plan.decisions.items() if d.is_open}


def _given(plan: Plan, given: Mapping[str, int], own: Mapping[str, int]) -> dict[str, Decision]:
    """Degrees by name. Sources that are not named are read in all channels, regardless of how many there are."""
    sources = {o.name for o in plan.graph.operators if isinstance(o, Source)}
    most = max(given.values(), default=1)
    return {
        name: _unrouted(decision)
        if name in sources and name not in given
        else replace(decision, degree=given.get(name) or own.get(name) or most)
        for name, decision in plan.decisions.items()
        if decision.is_open
    }


def _check_given(plan: Plan, given: Mapping[str, int], rules: str) -> None:
    """A degree that is requested by name is not ignored: the operator has it, or the request is refused."""
    regions = form_regions(plan.graph, rules)
    for name, degree in given.items():
        decision, operator = plan.decisions[name], plan.graph.by_name[name]
        if decision.degree == degree or (degree == 1 and plan.channels == 1):
            continue
        if decision.key is None:
            reason, hint = "it takes tuples where they are", "name the operator that its tuples are routed to"
        else:
            verdict = regions.verdicts[name]
            reason = f"it has degree {decision.degree}" if verdict.parallel else f"it {verdict.reason}"
            declarations = "; ".join(map(str, suggestions(plan.graph, operator, rules)))
            hint = declarations or "thalweg explain --facts shows why"
        raise PlanError(
            f"{name} cannot have degree {degree}", operator=name, where=operator.where, found=reason, hint=hint
        )


def _all_in_one(plan: Plan) -> dict[str, Decision]:
    """Tuples are routed only to state, by its complete key. Sources may be read in several tasks, unless an operator
    after them must run in one."""
    stateful = {o.name: o.key for o in plan.graph.stateful}
    alone = any(degree == 1 and name not in stateful for name, degree in plan.degrees.items())
    made = {name: _unrouted(decision) for name, decision in plan.decisions.items()}
    made |= {name: replace(plan.decisions[name], degree=1, key=key) for name, key in stateful.items()}
    if alone:
        made |= {source.name: replace(plan.decisions[source.name], degree=1, key=()) for source in plan.graph.sources}
    return made


def _unrouted(decision: Decision) -> Decision:
    return replace(decision, degree=None, key=None, table=None)

"""Fuse operators into PEs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from thalweg.analysis.partitioning import partitioning
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.layout import line_up
from thalweg.ir.operators import Operator
from thalweg.ir.plan import Decision, Plan
from thalweg.optimize.context import Context
from thalweg.optimize.fusion_hints import with_hints
from thalweg.optimize.groups import check_names, read_groups


@dataclass(frozen=True, slots=True)
class Fuse:
    """Operators of a requested group share a PE wherever no exchange is required between them.

    before: ticks, trades, quotes, vwap (by symbol, degree 2), join (on symbol, degree 2)
    after (all requested in one group): ticks, trades, quotes are group 0; vwap, join are group 1
    after (each requested alone): no groups
    must not fire: across an exchange. An operator whose route differs from the partitioning of its input starts a new
    stage, regardless of its group.
    """

    name: ClassVar[str] = "fuse"

    def run(self, plan: Plan, context: Context) -> Plan:
        return plan.decide(fused(plan, with_hints(wanted_groups(context.request.groups(), plan.graph), plan.graph)))


def wanted_groups(groups: str | Mapping[str, str], graph: LogicalGraph) -> Mapping[str, str]:
    """The requested group of each operator."""
    if isinstance(groups, Mapping):
        check_names(groups, graph, "fuse")
        return {name: f"group {groups[name]}" if name in groups else name for name in graph.by_name}
    match groups:
        case "all":
            return dict.fromkeys(graph.by_name, "all")
        case "none":
            return {name: name for name in graph.by_name}
    return read_groups(groups, graph)


def fused(plan: Plan, groups: Mapping[str, Hashable]) -> dict[str, Decision]:
    """Decisions in which every PE of several operators is a group, numbered in the order of PEs."""
    parts = partitioning(plan)

    def kept(operator: Operator, port: int) -> bool:
        return parts[operator.inputs[port]] == plan.route_into(operator, port)

    made = dict.fromkeys(plan.graph.by_name, None) | {
        name: number
        for number, names in enumerate(line_up(plan, groups, kept).values())
        if len(names) > 1
        for name in names
    }
    return {name: replace(plan.decisions[name], group=group) for name, group in made.items()}


def fuse_again(plan: Plan) -> Plan:
    """Fuse a plan again after its routes changed: the operators of a group stay in one PE unless there is now an
    exchange between them."""
    groups = {name: name if (group := d.group) is None else group for name, d in plan.decisions.items()}
    return plan.decide(fused(plan, groups))

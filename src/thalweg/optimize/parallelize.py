"""Decide which operators run in several channels, and by which attributes tuples are routed to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from thalweg.analysis.form_regions import form_regions
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Feedback, Operator, Sink, Source
from thalweg.ir.plan import Decision, Plan
from thalweg.ir.regions import PARALLEL_SOURCE, Regions
from thalweg.optimize.context import Context


@dataclass(frozen=True, slots=True)
class Parallelize:
    """Turn regions into routes: their operators get an open degree; operators that must be sequential get degree 1.

    before: ticks, vwap (by symbol), total (one state), all of degree 1
    after: ticks read in any number of channels, vwap by symbol over any number, total in one channel
    after, for two operators with the keys (symbol, day) and (symbol): both by symbol
    must not fire: on an operator that may keep unknown state, or keeps one state for all tuples.
    """

    name: ClassVar[str] = "parallelize"

    def run(self, plan: Plan, context: Context) -> Plan:
        graph = plan.graph
        regions = form_regions(graph, context.request.rules)
        keys = {name: key for region in regions.regions for name, key in region.keys.items()}
        routes = context.held.routes
        if routes is None and context.request.balance:
            routes = {}  # tables are for complete keys, so tuples are not routed by a part of one
        if routes is not None:
            keys |= {o.name: routes.get(o.name, o.key or ()) for o in graph.stateful}
        decisions: dict[str, Decision] = {}
        for operator in graph.operators:
            routed, degree = _routed(graph, operator, regions)
            key = (keys.get(operator.name) or operator.key or ()) if routed else None
            decisions[operator.name] = replace(plan.decisions[operator.name], degree=degree, key=key)
        return plan.decide(decisions)


def _routed(graph: LogicalGraph, operator: Operator, regions: Regions) -> tuple[bool, int | None]:
    """Whether tuples are routed to it, and over how many channels; None: the degree is open."""
    region = regions.of(operator.name)
    if isinstance(operator, Sink | Feedback):
        return False, None
    if isinstance(operator, Source):
        return True, 1 if region is None else None
    if region is None:
        alone = operator.key is not None or not _is_after_one_channel(graph, operator, regions)
        return alone, 1 if alone else None
    first = region.first.kind != PARALLEL_SOURCE and operator.name in region.keys
    return operator.key is not None or first, None


def _is_after_one_channel(graph: LogicalGraph, operator: Operator, regions: Regions) -> bool:
    """Whether all of its input comes from operators that run in one channel."""
    before = [graph.by_name[stream.operator] for stream in operator.inputs]
    return all(regions.of(o.name) is None and not isinstance(o, Source | Feedback) for o in before)

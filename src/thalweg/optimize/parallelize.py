"""Decide which operators run in several channels, and by which attributes tuples find theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from thalweg.analysis.regions import form_regions
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Feedback, Operator, Sink, Source
from thalweg.ir.plan import OPEN, PhysicalPlan
from thalweg.ir.regions import PARALLEL_SOURCE, Regions
from thalweg.optimize.fuse import groups_of, line_up


@dataclass(frozen=True, slots=True)
class Parallelize:
    """Regions become routes: their operators get an open degree, what must not be in a region gets degree 1.

    before: ticks, vwap (by symbol), total (one state), all of degree 1
    after: ticks read in any number of channels, vwap by symbol over any number, total in one channel
    after, for two operators with the keys (symbol, day) and (symbol): both by symbol
    must not fire: on an operator that may keep state of which nothing is known, or one state for all tuples.
    """

    name: ClassVar[str] = "parallelize"
    rules: str = "thalweg"
    routes: Mapping[str, tuple[str, ...]] | None = None  # of states that exist already; those not named: whole keys

    def run(self, plan: PhysicalPlan) -> PhysicalPlan:
        regions = form_regions(plan.graph, self.rules)
        degrees = {o.name: _degree(plan.graph, o, regions) for o in plan.graph.operators}
        keys = {name: key for region in regions.regions for name, key in region.keys.items()}
        if self.routes is not None:
            keys |= {o.name: self.routes.get(o.name, o.key or ()) for o in plan.graph.stateful}
        keys = {name: key for name, key in keys.items() if key and key != plan.graph.by_name[name].key}
        routed = {name: degree for name, degree in degrees.items() if degree is not None}
        return line_up(replace(plan, degrees=routed, keys=keys), groups_of(plan))


def _degree(graph: LogicalGraph, operator: Operator, regions: Regions) -> int | None:
    """None: it takes tuples where they are."""
    region = regions.of(operator.name)
    if isinstance(operator, Sink | Feedback):
        return None
    if isinstance(operator, Source):
        return 1 if region is None else OPEN
    if region is None:
        return None if operator.key is None and _is_behind_one_channel(graph, operator, regions) else 1
    first = region.first.kind != PARALLEL_SOURCE and operator.name in region.keys
    return OPEN if operator.key is not None or first else None


def _is_behind_one_channel(graph: LogicalGraph, operator: Operator, regions: Regions) -> bool:
    """Whether all that it takes comes from operators that run in one channel."""
    before = [graph.by_name[stream.operator] for stream in operator.inputs]
    return all(regions.of(o.name) is None and not isinstance(o, Source | Feedback) for o in before)

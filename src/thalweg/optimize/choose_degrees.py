"""Choose the degree of every stateful operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from thalweg.errors import PlanError
from thalweg.ir.plan import PhysicalPlan
from thalweg.optimize.fuse import groups_of, line_up

BUCKETS_PER_CHANNEL = 1  # right for thousands of keys; with many more, `buckets` lets an epoch write less


@dataclass(frozen=True, slots=True)
class ChooseDegrees:
    """Keyed operators get the wanted degree, those with one state for all tuples get 1.

    before: aggregate by symbol, degree 1; aggregate without key, degree 1
    after (degree=2): degree 2, its input by symbol over 2 channels; degree 1
    must not fire: on an operator without a key, because all its tuples share one state.
    """

    name: ClassVar[str] = "choose_degrees"
    degree: int | Mapping[str, int] = 1
    buckets: int | None = None

    def run(self, plan: PhysicalPlan) -> PhysicalPlan:
        degrees = self._degrees(plan)
        buckets = self.buckets or BUCKETS_PER_CHANNEL * max(degrees.values(), default=1)
        if (degrees, buckets) == (plan.degrees, plan.buckets):
            return plan
        return line_up(plan.graph, groups_of(plan), degrees, buckets, plan.frame_rows)

    def _degrees(self, plan: PhysicalPlan) -> Mapping[str, int]:
        if not isinstance(self.degree, int):
            return self.degree
        if self.degree < 1:
            raise PlanError("a degree counts channels", expected="1 or more", found=str(self.degree))
        return {o.name: self.degree if o.key else 1 for o in plan.graph.stateful}

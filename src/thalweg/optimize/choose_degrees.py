"""Choose the degrees that are open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from thalweg.analysis.regions import form_regions
from thalweg.errors import PlanError
from thalweg.ir.operators import Source
from thalweg.ir.plan import OPEN, PhysicalPlan
from thalweg.optimize.fuse import groups_of, line_up

BUCKETS_PER_CHANNEL = 1  # right for thousands of keys; with many more, `buckets` lets an epoch write less


@dataclass(frozen=True, slots=True)
class ChooseDegrees:
    """Open degrees get the wanted one, or what the user asked for this region; OPEN leaves them open.

    before: vwap by symbol over any number of channels; total in one channel
    after (degree=2): vwap by symbol over 2 channels; total in one channel
    after (degree=1): one channel for all, so nothing is routed but to state
    must not fire: on a degree that is not open, because that operator must run in one channel.
    """

    name: ClassVar[str] = "choose_degrees"
    degree: int | Mapping[str, int] = 1
    buckets: int | None = None
    rules: str = "thalweg"

    def run(self, plan: PhysicalPlan) -> PhysicalPlan:
        degrees = self._degrees(plan)
        keys = dict(plan.keys)
        if max(degrees.values(), default=1) == 1 and OPEN not in degrees.values():
            degrees, keys = self._all_in_one(plan), {}
        channels = max([1, *degrees.values()])
        buckets = self.buckets or BUCKETS_PER_CHANNEL * channels
        if buckets < channels:
            raise PlanError(
                "fewer buckets than channels",
                expected=f"{channels} or more",
                found=f"{buckets} buckets",
                hint="a channel holds whole buckets of keys: without --buckets there are enough",
            )
        if (degrees, keys, buckets) == (plan.degrees, plan.keys, plan.buckets):
            return plan
        return line_up(replace(plan, degrees=degrees, keys=keys, buckets=buckets), groups_of(plan))

    def _degrees(self, plan: PhysicalPlan) -> dict[str, int]:
        if not isinstance(self.degree, int):
            return self._given(plan, self.degree)
        if self.degree < 1 and self.degree != OPEN:
            raise PlanError("a degree counts channels", expected="1 or more", found=str(self.degree))
        wanted = {
            name: region.degree
            for region in form_regions(plan.graph, self.rules).regions
            for name in region.operators
            if region.degree is not None
        }
        return {n: wanted.get(n, self.degree) if d == OPEN else d for n, d in plan.degrees.items()}

    def _all_in_one(self, plan: PhysicalPlan) -> dict[str, int]:
        """Nothing is routed but to state. Sources may be read in several tasks, unless something behind them must not
        run in more than one."""
        stateful = {o.name for o in plan.graph.stateful}
        alone = any(degree == 1 and name not in stateful for name, degree in plan.degrees.items())
        sources = [source.name for source in plan.graph.sources] if alone else []
        return {name: 1 for name in plan.graph.by_name if name in stateful or name in sources}

    def _given(self, plan: PhysicalPlan, given: Mapping[str, int]) -> dict[str, int]:
        """Degrees by name. Sources that are not named are read in all channels, whatever their number."""
        sources = {o.name for o in plan.graph.operators if isinstance(o, Source)}
        most = max(given.values(), default=1)
        return {
            name: given.get(name, most) if degree == OPEN else degree
            for name, degree in plan.degrees.items()
            if degree != OPEN or name in given or name not in sources
        }

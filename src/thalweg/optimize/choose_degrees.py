"""Choose the degree of every stateful operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thalweg.errors import PlanError
from thalweg.ir.graph import LogicalGraph


@dataclass(frozen=True, slots=True)
class ChooseDegrees:
    """Keyed operators get the wanted degree, those with one state for all tuples get 1.

    before: aggregate by symbol, degree open; aggregate without key, degree open
    after (degree=2): degree 2; degree 1
    must not fire: on an operator without a key, because all its tuples share one state.
    """

    degree: int = 1

    def run(self, graph: LogicalGraph) -> Mapping[str, int]:
        if self.degree < 1:
            raise PlanError("a degree counts channels", expected="1 or more", found=str(self.degree))
        return {o.name: self.degree if o.key else 1 for o in graph.stateful}

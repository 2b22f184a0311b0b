"""Order on every edge of a plan: what is needed, what is kept, and what is paid for it."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.analysis.merges import strategy_of
from thalweg.analysis.order_needs import NOTHING, needed
from thalweg.analysis.partitioning import partitioning
from thalweg.ir.operators import Operator, Sink, StreamRef
from thalweg.ir.plan import STAY, TO_FIRST, PhysicalPlan, Route
from thalweg.ir.regions import NONE, NUMBERS_AND_PULSES


@dataclass(frozen=True, slots=True)
class Edge:
    """A stream on its way to one input port."""

    stream: StreamRef
    operator: str
    port: int
    needed: str
    kept: str
    merge: str  # the strategy by which channels are merged; NONE: they are not

    @property
    def paid(self) -> str:
        return "nothing" if self.merge == NONE else f"a merge by {self.merge}"

    def __str__(self) -> str:
        return f"{self.stream} -> {self.operator}: needed {self.needed}; kept {self.kept}; paid {self.paid}"


def edges(plan: PhysicalPlan) -> list[Edge]:
    """All edges of a plan."""
    parts = partitioning(plan)
    found = []
    for operator in plan.graph.operators:
        for port, stream in enumerate(operator.inputs):
            kept, merge = _kept_and_merged(plan, operator, port, parts[stream])
            found.append(Edge(stream, operator.name, port, _needed(plan, operator, port), kept, merge))
    return found


def _needed(plan: PhysicalPlan, operator: Operator, port: int) -> str:
    """The order that an input port needs: its own, or what passes through it to state in the same PE."""
    own, graph = needed(plan.graph, operator, port), plan.graph
    if own != NOTHING or isinstance(operator, Sink):
        return own
    for other in graph.stateful:
        if other.name in graph.reaches[operator.name] and plan.place[other.name] == plan.place[operator.name]:
            reached = (p for p, s in enumerate(other.inputs) if s.operator in graph.reaches[operator.name])
            return f"{needed(graph, other, next(reached))}, for {other.name}"
    return own


def _kept_and_merged(plan: PhysicalPlan, operator: Operator, port: int, part: Route) -> tuple[str, str]:
    if (operator.name, port) not in plan.wire_of:
        return "all, by a call inside the PE", NONE
    if (plan.channels == 1 and not plan.is_open) or part == TO_FIRST:
        return "all, in one channel", NONE
    if not isinstance(operator, Sink) and plan.wire_of[operator.name, port].route == STAY:
        return "each channel's own", NONE
    return "each channel's own", merge_strategy(plan, operator, port)


def merge_strategy(plan: PhysicalPlan, operator: Operator, port: int) -> str:
    """How the tuples of several channels are merged in front of an input port."""
    if _needed(plan, operator, port) == NOTHING:
        return NONE
    return strategy_of(plan, plan.wire_of[operator.name, port]) if isinstance(operator, Sink) else NUMBERS_AND_PULSES

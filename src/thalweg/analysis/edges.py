"""Order on every edge of a plan: the order that is needed, the order that is kept, and the price paid for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thalweg.analysis.merges import strategy_of
from thalweg.analysis.order_needs import NOTHING, needed
from thalweg.analysis.partitioning import partitioning
from thalweg.ir.layout import layout
from thalweg.ir.operators import Operator, Sink, StreamRef
from thalweg.ir.plan import STAY, TO_FIRST, Plan, Route
from thalweg.ir.regions import NONE, NUMBERS_AND_PULSES


@dataclass(frozen=True, slots=True)
class Edge:
    """A stream and one input port that consumes it."""

    stream: StreamRef
    operator: str
    port: int
    needed: str
    kept: str
    merge: str  # the strategy by which channels are merged; NONE: no merge

    @property
    def paid(self) -> str:
        return "nothing" if self.merge == NONE else f"a merge by {self.merge}"

    def __str__(self) -> str:
        return f"{self.stream} -> {self.operator}: needed {self.needed}; kept {self.kept}; paid {self.paid}"


def edges(plan: Plan) -> list[Edge]:
    """All edges of a plan."""
    return plan.once(_edges)


def _edges(plan: Plan) -> list[Edge]:
    parts = partitioning(plan)
    found = []
    for operator in plan.graph.operators:
        for port, stream in enumerate(operator.inputs):
            kept, merge = _kept_and_merged(plan, operator, port, parts[stream])
            found.append(Edge(stream, operator.name, port, _needed(plan, operator, port), kept, merge))
    return found


def _needed(plan: Plan, operator: Operator, port: int) -> str:
    """The order that an input port needs: for its own operator, or for downstream state in the same PE."""
    own, graph = needed(plan.graph, operator, port), plan.graph
    if own != NOTHING or isinstance(operator, Sink):
        return own
    reach = graph.reach[operator.name]
    passed = reach & plan.once(_stateful_mates).get(layout(plan).place[operator.name], 0)
    if not passed:
        return own
    other = graph.operators[(passed & -passed).bit_length() - 1]  # the first by declaration
    reached = (p for p, s in enumerate(other.inputs) if reach >> graph.declared[s.operator] & 1)
    return f"{needed(graph, other, next(reached))}, for {other.name}"


def _stateful_mates(plan: Plan) -> Mapping[tuple[int, int], int]:
    """The operators with state in each PE, as bits like those of `LogicalGraph.reach`."""
    made: dict[tuple[int, int], int] = {}
    for operator in plan.graph.stateful:
        place = layout(plan).place[operator.name]
        made[place] = made.get(place, 0) | 1 << plan.graph.declared[operator.name]
    return made


def _kept_and_merged(plan: Plan, operator: Operator, port: int, part: Route) -> tuple[str, str]:
    if (operator.name, port) not in layout(plan).wire_of:
        return "all, by a call inside the PE", NONE
    if (plan.channels == 1 and not plan.is_open) or part == TO_FIRST:
        return "all, in one channel", NONE
    if not isinstance(operator, Sink) and layout(plan).wire_of[operator.name, port].route == STAY:
        return "within each channel", NONE
    return "within each channel", merge_strategy(plan, operator, port)


def merge_strategy(plan: Plan, operator: Operator, port: int) -> str:
    """How the tuples of several channels are merged before an input port."""
    if _needed(plan, operator, port) == NOTHING:
        return NONE
    return (
        strategy_of(plan, layout(plan).wire_of[operator.name, port])
        if isinstance(operator, Sink)
        else NUMBERS_AND_PULSES
    )

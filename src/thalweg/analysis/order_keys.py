"""Order keys: which sub-position columns a stream must carry in addition to its position.

A tuple's order key is (position, sub-positions…). A sub-position is written where one tuple becomes several that
can meet again: at a flat_map and similar operators (emission counter), at operators that emit for several keys together
(rank, key) and at a fan-out whose branches reconverge (branch index). Branches that never meet also need an index if
sub-positions follow in one of them and tuples could fail in two: the first failure is determined by order key.
Everywhere else nothing could observe the sub-position, so the column is not created.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Operator, Sink, StreamRef


@dataclass(frozen=True, slots=True)
class OrderLayout:
    """`width`: the number of sub-position columns of a stream; `branch`: the index written at an input port, if any."""

    width: Mapping[StreamRef, int]
    branch: Mapping[tuple[str, int], int]

    def port_width(self, operator: Operator, port: int) -> int:
        return self.width[operator.inputs[port]] + ((operator.name, port) in self.branch)


def order_layout(graph: LogicalGraph) -> OrderLayout:
    return graph.analyses.once(_order_layout)


def _order_layout(graph: LogicalGraph) -> OrderLayout:
    branch: dict[tuple[str, int], int] = {}
    counting = graph.bits(o.name for o in graph.operators if o.sub_positions)
    widened = counting  # where sub-positions are written: by these, and at input ports with a branch index
    for stream in reversed(graph.streams):  # from the end: what is written after a fan-out decides about it
        consumers = graph.consumers[stream]
        if _reconverge(graph, consumers) or _failures_interleave(graph, consumers, widened):
            branch.update({(operator.name, port): index for index, (operator, port) in enumerate(consumers)})
            widened |= graph.bits(operator.name for operator, _ in consumers)
    width: dict[StreamRef, int] = {}
    layout = OrderLayout(width, branch)
    for operator in graph.operators:
        placing = (layout.port_width(operator, port) for port in operator.placing_ports)
        own = max(placing, default=0) + operator.sub_positions
        width.update({StreamRef(operator.name, port): own for port in range(len(operator.outputs))})
    return layout


def _reconverge(graph: LogicalGraph, consumers: tuple[tuple[Operator, int], ...]) -> bool:
    seen = 0
    for operator, _ in consumers:
        if seen & graph.reach[operator.name]:
            return True
        seen |= graph.reach[operator.name]
    return False


def _failures_interleave(graph: LogicalGraph, consumers: tuple[tuple[Operator, int], ...], widened: int) -> bool:
    """Whether the failures of one tuple's copies could be compared wrongly: order keys of different widths."""
    can_fail = [operator for operator, _ in consumers if not isinstance(operator, Sink)]
    return len(can_fail) > 1 and any(graph.reach[operator.name] & widened for operator in can_fail)

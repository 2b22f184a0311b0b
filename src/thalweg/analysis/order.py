"""Order keys: which sub-position columns a stream must carry beside its position.

A tuple's order key is (position, sub-positions…). A sub-position is written where one tuple becomes several that
can meet again: at a flat_map (emission counter) and at a fan-out whose branches reconverge (branch index).
Everywhere else nothing downstream could observe it, so the column is never made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import FlatMap, Join, Operator, StreamRef


@dataclass(frozen=True, slots=True)
class OrderLayout:
    """`width`: the number of sub-position columns of a stream; `branch`: the index written at an input port, if any."""

    width: Mapping[StreamRef, int]
    branch: Mapping[tuple[str, int], int]

    def port_width(self, operator: Operator, port: int) -> int:
        return self.width[operator.inputs[port]] + ((operator.name, port) in self.branch)


def order_layout(graph: LogicalGraph) -> OrderLayout:
    branch: dict[tuple[str, int], int] = {}
    for stream in graph.streams:
        consumers = graph.consumers[stream]
        if _reconverge(graph, consumers):
            branch |= {(operator.name, port): index for index, (operator, port) in enumerate(consumers)}
    width: dict[StreamRef, int] = {}
    layout = OrderLayout(width, branch)
    for operator in graph.operators:
        widths = [layout.port_width(operator, port) for port in range(len(operator.inputs))]
        own = widths[0] if isinstance(operator, Join) else max(widths, default=0)
        if isinstance(operator, FlatMap):
            own += 1
        width |= {StreamRef(operator.name, port): own for port in range(len(operator.outputs))}
    return layout


def _reconverge(graph: LogicalGraph, consumers: tuple[tuple[Operator, int], ...]) -> bool:
    return any(graph.reaches[a.name] & graph.reaches[b.name] for (a, _), (b, _) in combinations(consumers, 2))

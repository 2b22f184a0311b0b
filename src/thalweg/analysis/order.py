"""Order keys: which sub-position columns a stream must carry beside its position.

A tuple's order key is (position, sub-positions…). A sub-position is written where one tuple becomes several that
can meet again: at a flat_map and its like (emission counter), at what emits for several keys at once (rank, key) and
at a fan-out whose branches reconverge (branch index). Branches that never meet need an index, too, if sub-positions
follow in one of them and tuples could fail in two: the first of all failures is found by order key. Everywhere else
nothing could observe it, so the column is never made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

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
    branch: dict[tuple[str, int], int] = {}
    for stream in reversed(graph.streams):  # from the end: what is written behind a fan-out decides about it
        consumers = graph.consumers[stream]
        if _reconverge(graph, consumers) or _failures_interleave(graph, consumers, branch):
            branch |= {(operator.name, port): index for index, (operator, port) in enumerate(consumers)}
    width: dict[StreamRef, int] = {}
    layout = OrderLayout(width, branch)
    for operator in graph.operators:
        placing = (layout.port_width(operator, port) for port in operator.placing_ports)
        own = max(placing, default=0) + operator.sub_positions
        width |= {StreamRef(operator.name, port): own for port in range(len(operator.outputs))}
    return layout


def _reconverge(graph: LogicalGraph, consumers: tuple[tuple[Operator, int], ...]) -> bool:
    return any(graph.reaches[a.name] & graph.reaches[b.name] for (a, _), (b, _) in combinations(consumers, 2))


def _failures_interleave(
    graph: LogicalGraph, consumers: tuple[tuple[Operator, int], ...], branch: Mapping[tuple[str, int], int]
) -> bool:
    """Whether the failures of one tuple's copies could be compared wrongly: order keys of different widths."""
    can_fail = [operator for operator, _ in consumers if not isinstance(operator, Sink)]
    if len(can_fail) < 2:
        return False
    behind = frozenset[str]().union(*(graph.reaches[operator.name] for operator in can_fail))
    numbering = any(graph.by_name[name].sub_positions for name in behind)
    return numbering or any(name in behind for name, _ in branch)

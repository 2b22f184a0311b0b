"""Live attributes: those of each stream that are read downstream. The others are neither read from files nor sent."""

from __future__ import annotations

from collections.abc import Mapping, Set

from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Operator, StreamRef


def live_attributes(graph: LogicalGraph, *, by_rows: bool = False) -> Mapping[StreamRef, tuple[str, ...]]:
    """Live attributes per stream, in the order of its tuple type.

    `by_rows`: every function is called as written, as in the reference; a map then also reads what dead fields need.
    """
    return graph.analyses.once(_live, by_rows)


def _live(graph: LogicalGraph, by_rows: bool) -> Mapping[StreamRef, tuple[str, ...]]:
    live: dict[StreamRef, set[str]] = {stream: set() for stream in graph.streams}
    for operator in reversed(graph.operators):
        for port, stream in enumerate(operator.inputs):
            live[stream] |= _needed(graph, operator, port, live, by_rows) | _routing(graph, operator, port)
    return {s: tuple(n for n in graph.type_of(s).names if n in live[s]) for s in graph.streams}


def _routing(graph: LogicalGraph, operator: Operator, port: int) -> set[str]:
    """The attributes by which tuples are routed because of a hint."""
    hint = graph.hints.get(operator.name)
    return set(hint.key or ()) if hint is not None and operator.key is None and port != operator.mark_port else set()


def _needed(
    graph: LogicalGraph, operator: Operator, port: int, live: Mapping[StreamRef, set[str]], by_rows: bool
) -> Set[str]:
    names = set(graph.type_of(operator.inputs[port]).names)
    if operator.dead_port is not None:
        return names  # a dead letter shows the complete tuple
    out = {name for p in range(len(operator.outputs)) for name in live[StreamRef(operator.name, p)]}
    return operator.needed(port, names, out, by_rows=by_rows)

"""Where order is required: at every sink, unless it cannot be observed; per key at all state."""

from __future__ import annotations

from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Operator, Sink, StreamRef

ALL, NOTHING = "all", "none"


def unordered_streams(graph: LogicalGraph) -> frozenset[StreamRef]:
    """The streams whose order does not matter: those with `.unordered()`, and those derived only from such streams."""
    found: set[StreamRef] = set()
    for operator in graph.operators:
        inputs = [s for port, s in enumerate(operator.inputs) if port != operator.mark_port]
        hint = graph.hints.get(operator.name)
        said = hint.unordered if hint is not None else ()
        ports = range(len(operator.outputs)) if inputs and all(s in found for s in inputs) else said
        found |= {StreamRef(operator.name, port) for port in ports}
    return frozenset(found)


def ordered_sinks(graph: LogicalGraph) -> frozenset[str]:
    """The sinks that require order: those of unordered streams only if a replay must repeat it."""
    return graph.analyses.once(_ordered_sinks)


def _ordered_sinks(graph: LogicalGraph) -> frozenset[str]:
    free = unordered_streams(graph)
    return frozenset(s.name for s in graph.sinks if s.endpoint.placed or s.inputs[0] not in free)


def needed(graph: LogicalGraph, operator: Operator, port: int) -> str:
    """The order that an input port needs."""
    if isinstance(operator, Sink):
        return ALL if operator.name in ordered_sinks(graph) else NOTHING
    if operator.key is None:
        return NOTHING
    if port == operator.mark_port or not operator.key:
        return ALL
    return f"per {', '.join(operator.port_key(port) or ())}"

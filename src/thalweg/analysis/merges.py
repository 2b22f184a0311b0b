"""With which strategy the tuples of a wire that leads to sinks are merged."""

from __future__ import annotations

from collections.abc import Mapping

from thalweg.analysis.facts import facts_of
from thalweg.analysis.order_needs import ordered_sinks
from thalweg.ir.facts import Facts
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Source, StreamRef, Union
from thalweg.ir.plan import PhysicalPlan, Wire
from thalweg.ir.regions import NONE, NUMBERS, NUMBERS_AND_PULSES, ROUND_ROBIN


def strategy_of(plan: PhysicalPlan, wire: Wire) -> str:
    """The cheapest one that is proven to do: numbers and pulses always does.

    A region's own strategy (`analysis/joints.py`) speaks of the numbers that enter the region. Here numbers are
    positions in the epoch, of all sources, and turns are those of the blocks that were read.
    """
    graph = plan.graph
    owed = ordered_sinks(graph)
    sinks = [sink for sink in graph.sinks if plan.sink_wire(sink) == wire]
    if all(not sink.endpoint.shows_order or sink.name not in owed for sink in sinks):
        return NONE
    if graph.loops or _exactly_once(graph, facts_of(graph), wire.stream) != {s.name for s in graph.sources}:
        return NUMBERS_AND_PULSES
    return ROUND_ROBIN if len(plan.stages) == 1 and not plan.reads_in_one else NUMBERS


def _exactly_once(graph: LogicalGraph, facts: Mapping[str, Facts], stream: StreamRef) -> set[str] | None:
    """The sources each of whose tuples is, or makes, exactly one tuple of the stream, which has no others; None: there
    may be others. What the user declared does not count: a merger that waits for what never comes would not end."""
    operator = graph.by_name[stream.operator]
    if isinstance(operator, Source):
        return {operator.name} if stream.port == 0 and operator.on_error == "fail" else None
    if operator.acts_at_end or operator.ranks_keys or operator.mark_port is not None:
        return None
    found: set[str] = set()
    for one in operator.inputs:
        before = _exactly_once(graph, facts, one)
        if before is None or before & found:
            return None
        found |= before
    if len(operator.inputs) != 1 and not isinstance(operator, Union):
        return None
    known = facts[operator.name]
    return found if known.declared is None and known.selectivity[stream.port].exactly_one else None

"""The strategy that merges the tuples of a wire that leads to sinks."""

from __future__ import annotations

from collections.abc import Mapping

from thalweg.analysis.derive_facts import facts_of
from thalweg.analysis.order_needs import ordered_sinks
from thalweg.ir.facts import Facts
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.layout import Wire, layout
from thalweg.ir.operators import Operator, Sink, Source, StreamRef, Union
from thalweg.ir.plan import Plan
from thalweg.ir.regions import NONE, NUMBERS, NUMBERS_AND_PULSES, ROUND_ROBIN


def strategy_of(plan: Plan, wire: Wire) -> str:
    """The cheapest strategy that is proven to be correct; numbers and pulses always is.

    The strategy of a region (`analysis/joints.py`) refers to the numbers that enter the region. Here numbers are
    positions in the epoch, over all sources, and turns are those of the blocks that were read.
    """
    graph = plan.graph
    ordered = ordered_sinks(graph)
    sinks = plan.once(_sinks_of_wires).get(wire.index, [])
    if all(not sink.endpoint.shows_order or sink.name not in ordered for sink in sinks):
        return NONE
    if graph.loops or graph.analyses.once(_exactly_once)[wire.stream] != frozenset(s.name for s in graph.sources):
        return NUMBERS_AND_PULSES
    return ROUND_ROBIN if len(layout(plan).stages) == 1 and not plan.reads_in_one else NUMBERS


def _sinks_of_wires(plan: Plan) -> dict[int, list[Sink]]:
    made: dict[int, list[Sink]] = {}
    for sink in plan.graph.sinks:
        made.setdefault(layout(plan).sink_wire(sink).index, []).append(sink)
    return made


def _exactly_once(graph: LogicalGraph) -> Mapping[StreamRef, frozenset[str] | None]:
    """By stream: the sources of which each tuple becomes exactly one tuple of the stream, if it has no other tuples;
    None: it may have others. Declarations do not count: a merger that waits for a number that never arrives would not
    end."""
    found: dict[StreamRef, frozenset[str] | None] = {}
    for operator in graph.operators:
        for port in range(len(operator.outputs)):
            found[StreamRef(operator.name, port)] = _sources(operator, port, facts_of(graph)[operator.name], found)
    return found


def _sources(
    operator: Operator, port: int, facts: Facts, found: Mapping[StreamRef, frozenset[str] | None]
) -> frozenset[str] | None:
    if isinstance(operator, Source):
        return frozenset((operator.name,)) if port == 0 and operator.on_error == "fail" else None
    if operator.acts_at_end or operator.ranks_keys or operator.mark_port is not None:
        return None
    if not operator.inputs or (len(operator.inputs) != 1 and not isinstance(operator, Union)):
        return None
    if facts.declared is not None or not facts.selectivity[port].exactly_one:
        return None
    before = [found[stream] for stream in operator.inputs]
    sources = frozenset[str]().union(*(one or () for one in before))
    whole = all(one is not None for one in before)
    return sources if whole and len(sources) == sum(len(one or ()) for one in before) else None

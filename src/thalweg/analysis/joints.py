"""The joints of a parallel region, and the strategy that keeps order at them."""

from __future__ import annotations

from collections.abc import Set

from thalweg.analysis.derive_facts import facts_of
from thalweg.analysis.order_needs import ordered_sinks
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Operator, Sink, StreamRef
from thalweg.ir.regions import (
    MERGE,
    NONE,
    NUMBERS,
    NUMBERS_AND_PULSES,
    PARALLEL_SINK,
    ROUND_ROBIN,
    SHUFFLE,
    SPLIT,
    Joint,
)


def joints(
    graph: LogicalGraph, names: tuple[str, ...], kind: str, key: tuple[str, ...] | None, place: Set[str], *, fresh: bool
) -> tuple[Joint, Joint]:
    """The first and the last joint of a region of these operators. `place`: all operators that are in a region.
    `fresh`: a split renumbers the tuples; otherwise numbers are positions, and some may be missing before the region
    begins."""
    own = set(names)
    leaving = [
        (stream, consumer)
        for name in names
        for stream in _outputs(graph, name)
        for consumer, _ in graph.consumers[stream]
        if consumer.name not in own
    ]
    last = _last(graph, leaving, place)
    strategy, because = _strategy(graph, names, leaving, last, key)
    if strategy in (ROUND_ROBIN, NUMBERS) and (kind == SHUFFLE or (kind == SPLIT and not fresh)):
        strategy, because = NUMBERS_AND_PULSES, "numbers may be missing before the region begins"
    return Joint(kind, strategy, because), Joint(last, strategy, because)


def _last(graph: LogicalGraph, leaving: list[tuple[StreamRef, Operator]], place: Set[str]) -> str:
    if any(consumer.name in place and consumer.key is not None for _, consumer in leaving):
        return SHUFFLE
    ordered = ordered_sinks(graph)
    if leaving and all(isinstance(consumer, Sink) and consumer.name not in ordered for _, consumer in leaving):
        return PARALLEL_SINK
    return SHUFFLE if leaving and all(consumer.name in place for _, consumer in leaving) else MERGE


def _strategy(
    graph: LogicalGraph,
    names: tuple[str, ...],
    leaving: list[tuple[StreamRef, Operator]],
    last: str,
    key: tuple[str, ...] | None,
) -> tuple[str, str]:
    """The paper's table, by state and selectivity; Thalweg's sub-positions also allow selectivities above one."""
    if last == PARALLEL_SINK:
        return NONE, "nothing downstream depends on the order"
    if last == SHUFFLE:
        return NUMBERS_AND_PULSES, "after a shuffle a channel sees only some of the numbers"
    if _has_side_doors(graph, names):
        return NUMBERS_AND_PULSES, "tuples enter the region at several points"
    least, most = _selectivity(graph, names, {stream for stream, _ in leaving})
    if most is None or most > 1:
        return NUMBERS_AND_PULSES, "one tuple may become several, distinguished by sub-positions"
    if least < 1:
        return NUMBERS_AND_PULSES, "tuples may be dropped"
    stateful = any(graph.by_name[name].key is not None for name in names)
    if stateful or key is not None:
        return NUMBERS, "every number arrives, but the key determines the channel"
    return ROUND_ROBIN, "no state, and one tuple out for each tuple in"


def _has_side_doors(graph: LogicalGraph, names: tuple[str, ...]) -> bool:
    """Whether an operator after the first one takes tuples from outside the region."""
    own = set(names)
    return any(
        stream.operator not in own
        for name in names[1:]
        for port, stream in enumerate(graph.by_name[name].inputs)
        if port != graph.by_name[name].mark_port
    )


def _selectivity(graph: LogicalGraph, names: tuple[str, ...], leaving: set[StreamRef]) -> tuple[int, int | None]:
    """How many tuples leave the region for one that enters it, at least and at most, over all paths."""
    least, most = 1, 1
    facts, ways_out = facts_of(graph), graph.bits(stream.operator for stream in leaving)
    for name in names:
        operator = graph.by_name[name]
        if not operator.inputs:
            continue
        ports = [s.port for s in _outputs(graph, name) if s in leaving or _leads_on(graph, s, ways_out)]
        for port in ports:
            one = facts[name].selectivity[port]
            least = min(least, one.least) if one.known else 0
            if not one.known or one.most is None or one.most > 1 or operator.ranks_keys or operator.acts_at_end:
                return least, None
        parts = sum(len(graph.consumers[StreamRef(name, port)]) for port in ports)
        if parts > 1 and len(ports) == 1:
            return least, None  # copies of one tuple, which may reconverge
    return least, most


def _leads_on(graph: LogicalGraph, stream: StreamRef, ways_out: int) -> bool:
    """Whether tuples of the stream can reach one of the operators by which they leave the region."""
    return any(graph.reach[consumer.name] & ways_out for consumer, _ in graph.consumers[stream])


def _outputs(graph: LogicalGraph, name: str) -> list[StreamRef]:
    return [StreamRef(name, port) for port in range(len(graph.by_name[name].outputs))]

"""Live attributes: what of each stream something downstream reads. The rest is never read from a file nor sent."""

from __future__ import annotations

from collections.abc import Mapping

from thalweg.ir.expr import Expr, Record, can_fall_back, can_raise, reads
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import (
    Aggregate,
    EventTime,
    Filter,
    FlatMap,
    Function,
    Join,
    Map,
    MapBatches,
    Operator,
    Pace,
    Process,
    Punctor,
    RandomSplit,
    Sink,
    Split,
    StreamRef,
    Union,
)


def live_attributes(graph: LogicalGraph, *, by_rows: bool = False) -> Mapping[StreamRef, tuple[str, ...]]:
    """Live attributes per stream, in the order of its tuple type.

    `by_rows`: for who calls every function as a whole, like the reference; then a map reads for its dead fields, too.
    """
    return graph.analyses.once(_live, by_rows)


def _live(graph: LogicalGraph, by_rows: bool) -> Mapping[StreamRef, tuple[str, ...]]:
    live: dict[StreamRef, set[str]] = {stream: set() for stream in graph.streams}
    for operator in reversed(graph.operators):
        for port, stream in enumerate(operator.inputs):
            live[stream] |= _needed(graph, operator, port, live, by_rows) | _routing(graph, operator, port)
    return {s: tuple(n for n in graph.type_of(s).names if n in live[s]) for s in graph.streams}


def _routing(graph: LogicalGraph, operator: Operator, port: int) -> set[str]:
    """What tuples are routed by because the user said so."""
    hint = graph.hints.get(operator.name)
    return set(hint.key or ()) if hint is not None and operator.key is None and port != operator.mark_port else set()


def live_fields(record: Record, live: set[str] | frozenset[str]) -> tuple[tuple[str, Expr], ...]:
    """The fields that must be computed: the live ones, and those whose evaluation could raise."""
    return tuple((name, expr) for name, expr in record.fields if name in live or can_raise(expr))


def _needed(
    graph: LogicalGraph, operator: Operator, port: int, live: Mapping[StreamRef, set[str]], by_rows: bool
) -> set[str]:
    names = set(graph.type_of(operator.inputs[port]).names)
    if operator.dead_port is not None:
        return names  # a dead letter shows the whole tuple
    out = {name for p in range(len(operator.outputs)) for name in live[StreamRef(operator.name, p)]}
    match operator:
        case Sink() | FlatMap() | Process() | MapBatches():
            return names
        case Map(function=function):
            if not isinstance(function.expr, Record):
                return names
            fields = live_fields(function.expr, out)
            if by_rows or any(can_fall_back(field) for _, field in fields):
                return set(reads(function.expr))
            return {name for _, field in fields for name in reads(field)}
        case Filter(function=function) | Split(function=function) | Punctor(function=function):
            return _reads(function, names) | (out & names)
        case Union() | RandomSplit() | Pace():
            return out
        case EventTime(attribute=attribute):
            return (out & names) | {attribute}
        case Aggregate(folds=folds):
            arguments = (_reads(fold.argument, names) for fold in folds if fold.argument)
            return set(operator.key or ()).union(*arguments)
        case Join(on=on):
            return (out & names) | set(on)
    raise AssertionError(operator)


def _reads(function: Function, names: set[str]) -> set[str]:
    return names if function.expr is None else set(reads(function.expr))

"""Finish a graph: the checks and rewrites that need the complete graph."""

from __future__ import annotations

import math
from dataclasses import replace

from thalweg.errors import GraphError, Where
from thalweg.ir import operators as ops
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import BAD_RECORD, DEAD_LETTER, Operator, StreamRef
from thalweg.lang.check_endpoints import check_targets
from thalweg.lang.combine_origins import combine_origins
from thalweg.lang.immediate_loops import fold_loops
from thalweg.lang.plan_hints import check_hints


def finished(
    declared: LogicalGraph, immediate: frozenset[str], where: Where, *, open_ends: bool = False
) -> LogicalGraph:
    """The graph in the form that the compiler takes; an incomplete program is an error.

    `open_ends`: it is a part of a graph, so a stream may have no consumer.
    """
    graph = replace(declared, operators=_with_steps(_without_idle_marks(declared.operators)))
    if not graph.sources:
        raise GraphError(f"application {graph.name} has no source", where=where, hint="app.source(tw.files(…), Type)")
    for stream, consumers in graph.consumers.items():
        if not consumers and not open_ends and not _may_end(graph, stream):
            raise _without_consumer(graph.by_name[stream.operator], stream)
    fed = {sink.endpoint.feeds for sink in graph.sinks}
    for loop in graph.loops:
        if loop.name not in fed:
            raise GraphError(
                f"nothing is fed back into {loop.name}",
                operator=loop.name,
                where=loop.where,
                expected="a stream with .feed(loop)",
            )
    check_targets(graph)
    whole = replace(graph, operators=combine_origins(fold_loops(graph.operators, immediate)))
    check_hints(graph.hints, whole)
    return replace(whole, hints={name: hint for name, hint in graph.hints.items() if name in whole.by_name})


def _without_consumer(operator: Operator, stream: StreamRef) -> GraphError:
    letters = stream.port > 0 and operator.outputs[stream.port] in (DEAD_LETTER, BAD_RECORD)
    return GraphError(
        f"the dead letters of {operator.name} have no consumer" if letters else f"the stream {stream} has no consumer",
        operator=operator.name,
        where=operator.where,
        expected="an operator or a sink after every output port",
        hint='.dead_letters.sink(tw.collect()); on_error="skip" drops these tuples'
        if letters
        else ".sink(tw.collect())",
    )


def _may_end(graph: LogicalGraph, stream: StreamRef) -> bool:
    """Marks and late tuples do not need a consumer."""
    operator = graph.by_name[stream.operator]
    if stream.port == operator.mark_output:
        return True
    return isinstance(operator, ops.Process) and operator.timed and 0 < stream.port < operator.results


def _without_idle_marks(operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
    """Without the merged marks of several streams that no operator uses."""
    used = {stream.operator for operator in operators for stream in operator.inputs}
    kept = tuple(o for o in operators if not o.makes_marks or o.name in used)
    return kept if len(kept) == len(operators) else _without_idle_marks(kept)


def _with_steps(operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
    """Event time in the largest steps that the windows downstream allow."""
    step = math.gcd(*(length for operator in operators for length in operator.time_lengths)) or 1
    return tuple(replace(o, step=step) if isinstance(o, ops.EventTime) and not o.step else o for o in operators)

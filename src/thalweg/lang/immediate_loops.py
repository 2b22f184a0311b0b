"""Immediate loops, folded into one operator each when the graph is finished."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from graphlib import TopologicalSorter
from heapq import heappop, heappush

from thalweg.endpoints.feed import Feed
from thalweg.errors import GraphError
from thalweg.ir import operators as ops
from thalweg.ir.logic import Logic
from thalweg.ir.operators import Operator, Process, StreamRef
from thalweg.ir.types import TupleType
from thalweg.lang.aggregates import aggregate_logic
from thalweg.library.immediate_loop import INSIDE, Loop, LoopConfig
from thalweg.library.window_join import JoinConfig, Side, WindowJoin


def fold_loops(operators: tuple[Operator, ...], immediate: frozenset[str]) -> tuple[Operator, ...]:
    """The operators with every immediate loop as one operator that runs it tuple by tuple."""
    for name in sorted(immediate):
        operators = _folded(operators, name)
    return operators


def _folded(operators: tuple[Operator, ...], name: str) -> tuple[Operator, ...]:
    by_name = {o.name: o for o in operators}
    before = {o.name: [s.operator for s in o.inputs] for o in operators}
    after: dict[str, list[str]] = {o.name: [] for o in operators}
    for operator, feeders in before.items():
        for feeder in feeders:
            after[feeder].append(operator)
    feed = next(o for o in operators if isinstance(o, ops.Sink) and o.endpoint == Feed(name))
    between = (_reachable(name, after) & _reachable(feed.name, before)) - {name, feed.name}
    types = {StreamRef(o.name, p): t for o in operators for p, t in enumerate(o.outputs)}
    inside = tuple(_by_rows(o, types) for o in operators if o.name in between)
    _check(inside, by_name[name])
    member = {*between, name, feed.name}
    entries = tuple((o.name, port) for o in inside for port, s in enumerate(o.inputs) if s.operator not in member)
    if not entries:
        raise GraphError(f"nothing enters the loop of {name}", operator=name, where=by_name[name].where)
    left = [s for o in operators if o.name not in member for s in o.inputs if s.operator in member]
    exits = {stream: port for port, stream in enumerate(dict.fromkeys(left))}
    logic = Loop()
    logic.config = LoopConfig(inside, entries, StreamRef(name), types[StreamRef(name)], feed.inputs[0], exits)
    made = {o.name: o for o in inside}
    loop = Process(
        name=name,
        inputs=tuple(made[n].inputs[port] for n, port in entries),
        outputs=tuple(types[stream] for stream in exits),
        where=by_name[name].where,
        word="loop",
        logic=logic,
        by=((),) * len(entries),
        results=len(exits),
    )
    outside = [_behind(o, exits, name) for o in operators if o.name not in member]
    return _in_order([*outside, loop], {o.name: i for i, o in enumerate(operators)})


def _behind(operator: Operator, exits: dict[StreamRef, int], loop: str) -> Operator:
    inputs = tuple(StreamRef(loop, exits[s]) if s in exits else s for s in operator.inputs)
    return operator if inputs == operator.inputs else replace(operator, inputs=inputs)


def _in_order(operators: list[Operator], declared: dict[str, int]) -> tuple[Operator, ...]:
    """Each operator after those that feed it, otherwise in the order of declaration."""
    by_name = {o.name: o for o in operators}
    sorter = TopologicalSorter({o.name: [s.operator for s in o.inputs] for o in operators})
    sorter.prepare()
    ready: list[tuple[int, str]] = []
    ordered: list[Operator] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heappush(ready, (declared[name], name))
        _, first = heappop(ready)
        sorter.done(first)
        ordered.append(by_name[first])
    return tuple(ordered)


def _reachable(start: str, edges: Mapping[str, Iterable[str]]) -> set[str]:
    """The nodes that can be reached from `start` along the edges, including itself."""
    found = {start}
    waiting = [start]
    while waiting:
        new = set(edges[waiting.pop()]) - found
        found |= new
        waiting += new
    return found


def _by_rows(operator: Operator, types: dict[StreamRef, TupleType]) -> Operator:
    """Aggregates and joins that have kernels, as Python code with the same results."""
    match operator:
        case ops.Aggregate(window=window, folds=folds, fields=fields):
            logic = aggregate_logic(window, folds, fields)
            return _process(operator, logic, (window.by,))
        case ops.Join(on=on):
            left, right = (types[s] for s in operator.inputs)
            added = tuple(n for n in right.names if n not in on)
            join = WindowJoin()
            join.config = JoinConfig((Side(left.names, 0), Side(added, 1)), None, None)
            return _process(operator, join, (on, on))
    return operator


def _process(operator: Operator, logic: Logic, by: tuple[tuple[str, ...], ...]) -> Process:
    return Process(
        name=operator.name,
        inputs=operator.inputs,
        outputs=operator.outputs,
        where=operator.where,
        on_error=operator.on_error,
        word=operator.kind,
        logic=logic,
        by=by,
    )


def _check(inside: tuple[Operator, ...], loop: Operator) -> None:
    for operator in inside:
        if not isinstance(operator, INSIDE) or operator.on_error != "fail" or operator.mark_port is not None:
            raise GraphError(
                f"{operator.name} cannot be in the immediate loop of {loop.name}",
                operator=operator.name,
                where=operator.where,
                expected='map, filter, flat_map, split, union, aggregate, join, custom; on_error="fail", no marks',
                found=operator.kind,
                hint="app.feedback(Type) without immediate=True supports all operators",
            )

"""The user functions of an operator, and what following each of them found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from thalweg.analysis.program.follow import TRUTH, TUPLE, TUPLES, VALUE, follow_code, follow_function, follow_logic
from thalweg.analysis.program.notes import Found, Notes
from thalweg.analysis.program.values import INT, UNKNOWN, Given, New, Row, Value
from thalweg.errors import Where
from thalweg.ir.declarations import declared_of_function
from thalweg.ir.expr import Record
from thalweg.ir.facts import NOT_STATELESS, STATELESS
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import (
    Aggregate,
    Filter,
    FlatMap,
    Fold,
    Function,
    Map,
    MapBatches,
    Operator,
    Process,
    Punctor,
    Source,
    StreamRef,
)
from thalweg.ir.types import TupleType
from thalweg.library.apply import ApplyConfig
from thalweg.library.immediate_loop import Loop
from thalweg.library.select import Code
from thalweg.library.window_aggregate import WindowAggregate
from thalweg.library.window_join import Band, JoinConfig, WindowJoin

INSIDE = "thalweg.library"
_USES: dict[type[Operator], str] = {Map: TUPLE, FlatMap: TUPLES, Filter: TRUTH, Punctor: TRUTH}


@dataclass(frozen=True, slots=True)
class Followed:
    """A function of the user's, or a whole operator class, and what was found. `main`: the operator is this code."""

    found: Found
    where: Where
    main: bool = False

    @property
    def notes(self) -> Notes:
        return self.found.notes


def tuple_types(graph: LogicalGraph, operator: Operator) -> tuple[TupleType, ...]:
    """The types of the input ports that take tuples."""
    return tuple(graph.type_of(s) for port, s in enumerate(operator.inputs) if port != operator.mark_port)


def followed(operator: Operator, inputs: tuple[TupleType, ...]) -> list[Followed]:
    """All code of the user's in an operator. What was read exactly needs no following."""
    return list(_followed(operator, inputs))


def _followed(operator: Operator, inputs: tuple[TupleType, ...]) -> Iterator[Followed]:
    match operator:
        case Process(logic=Code() as code):
            found = follow_code(
                code.config, code.state, inputs[0], operator.outputs[: operator.results], operator.where
            )
            yield _of(found, operator.where, code.config, main=True)
        case Process(logic=logic) if type(logic).__module__.startswith(INSIDE):
            yield from _in_library(operator, inputs)
        case Process(logic=logic):
            found = follow_logic(logic, inputs, operator.outputs[: operator.results], operator.where)
            yield Followed(found, operator.where, main=True)
        case Source(endpoint=endpoint) if (function := endpoint.numbered) is not None:
            found = follow_function(function, [INT], operator.where, use=TUPLE, output=operator.outputs[0])
            yield _of(found, operator.where, function, main=True)
        case Aggregate(folds=folds):
            yield from _in_folds(folds, inputs[0], operator.where)
        case MapBatches(function=function):
            found = follow_function(function.callable, [UNKNOWN], operator.where)
            yield _of(found, operator.where, function.callable, main=True)
        case _:
            own = getattr(operator, "function", None)
            if isinstance(own, Function) and own.expr is None and not _is_ours(own.callable):
                use = _USES.get(type(operator), VALUE)
                found = follow_function(own.callable, inputs[:1], operator.where, use=use, output=operator.outputs[0])
                yield _of(found, operator.where, own.callable, main=True)


def _is_ours(function: object) -> bool:
    """Functions of Thalweg's own, like the decoder of a topic's records, keep nothing."""
    return type(function).__module__.startswith("thalweg.")


def _in_library(operator: Process, inputs: tuple[TupleType, ...]) -> Iterator[Followed]:
    """The functions that Thalweg's own operators call."""
    logic, where = operator.logic, operator.where
    config = getattr(logic, "config", None)
    if isinstance(logic, WindowJoin) and isinstance(config, JoinConfig):
        yield from _predicate(config.where, inputs, where)
    elif isinstance(config, ApplyConfig):
        if not type(config.function).__module__.startswith(INSIDE):
            rows: Value = frozenset((Row(inputs[0], -1),))
            found = follow_function(
                config.function, [_LIST], where, use=TUPLES, output=operator.outputs[0], holding={_LIST: rows}
            )
            yield _of(found, where, config.function)
    elif isinstance(logic, WindowAggregate):
        yield from _in_folds(logic.config.folds, inputs[0], where)
    elif isinstance(logic, Loop):
        loop = logic.config
        known = {StreamRef(o.name, port): kind for o in loop.operators for port, kind in enumerate(o.outputs)}
        known[loop.back] = known[loop.fed]
        entries = dict(zip(loop.entries, inputs, strict=True))
        for inner in loop.operators:
            kinds = [entries.get((inner.name, port)) or known[s] for port, s in enumerate(inner.inputs)]
            yield from (replace(one, main=False) for one in _followed(inner, tuple(kinds)))


def _predicate(predicate: Any, inputs: tuple[TupleType, ...], where: Where) -> Iterator[Followed]:
    if predicate is None or isinstance(predicate, Band):
        return
    parts = [predicate.first, predicate.second] if hasattr(predicate, "first") else [predicate]
    for part in parts:
        if not isinstance(part, Band):
            yield _of(follow_function(part, inputs, where, use=TRUTH), where, part)


def _in_folds(folds: tuple[Fold, ...], kind: TupleType, where: Where) -> Iterator[Followed]:
    for fold in folds:
        for function in (fold.argument, fold.picked):
            if function is not None and function.expr is None:
                yield _of(follow_function(function.callable, [kind], where), where, function.callable)
        if fold.function is not None:
            expr = fold.argument.expr if fold.argument is not None else None
            exact = expr is not None and not isinstance(expr, Record)
            values: Value = frozenset((Given(expr.type, "", -1),)) if exact else UNKNOWN  # type: ignore[union-attr]
            yield _of(follow_function(fold.function, [_LIST], where, holding={_LIST: values}), where, fold.function)


# A list that a function gets for itself alone.
_ITEM = New((0, 0, "given"), list)
_LIST: Value = frozenset((_ITEM,))


def _of(found: Found, where: Where, function: Callable[..., Any], *, main: bool = False) -> Followed:
    """What is declared of a single function counts for it wherever it is called."""
    declared = declared_of_function(function)
    if declared is not None and not main:
        if declared.effects is not None:
            found.notes.effects = {e: None for e in found.notes.effects if e.kind in declared.effects}
        elif declared.state == STATELESS:
            found.notes.effects = {e: None for e in found.notes.effects if e.kind not in NOT_STATELESS}
    return Followed(found, where, main)

"""Operator models: what is known of each kind of operator, without the user's functions in it."""

from __future__ import annotations

from thalweg.analysis.library_models import library_model
from thalweg.analysis.operator_model import (
    AT_MOST_ONE,
    MANY,
    ONE,
    Bounds,
    Model,
    copied_fields,
    fold_reads,
    key_folds,
    same,
)
from thalweg.ir.expr import Record, can_raise, reads
from thalweg.ir.operators import (
    Aggregate,
    EventTime,
    Feedback,
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
    Source,
    Split,
    Union,
)
from thalweg.ir.types import TupleType


def model_of(operator: Operator, inputs: tuple[TupleType, ...]) -> Model | None:
    """The model of an operator; None: all is in the user's code."""
    everything = tuple(frozenset[str]() for _ in inputs)
    match operator:
        case Source() | Feedback():
            return Model("it has no input", (MANY,), ((),), (), can_fail=False)
        case Sink():
            return Model("a sink takes all tuples in their order", (), (), (None,) * len(inputs), can_fail=False)
        case Union() | Pace():
            copies = tuple(same(operator.outputs[0], kind) for kind in inputs)
            return Model(f"{operator.kind} passes every tuple on", (ONE,), (copies,), everything, can_fail=False)
        case RandomSplit(outputs=outputs):
            bounds = ONE if len(outputs) == 1 else AT_MOST_ONE
            copies = (same(inputs[0], inputs[0]),)
            why = "each tuple goes to one port"
            return Model(why, (bounds,) * len(outputs), (copies,) * len(outputs), everything, can_fail=False)
        case EventTime(attribute=attribute):
            copies = (same(inputs[0], inputs[0]),)
            why = "event_time passes every tuple on"
            return Model(why, (ONE,), (copies,), (frozenset((attribute,)),), can_fail=False)
        case Filter(function=function):
            return _passing("a filter passes a tuple on or drops it", (AT_MOST_ONE,), function, inputs)
        case Punctor(function=function):
            return _passing("punctor passes every tuple on", (ONE,), function, inputs)
        case Split(function=function, outputs=outputs, dead_port=dead):
            ports = len(outputs) - (dead is not None)
            bounds = ONE if ports == 1 else AT_MOST_ONE
            return _passing("each tuple goes to one port", (bounds,) * ports, function, inputs)
        case Map(function=function):
            return _map(function, operator.outputs[0], inputs[0])
        case MapBatches():
            return Model("map_batches gives a row for each row", (ONE,), (({},),), (None,))
        case Aggregate():
            return _aggregate(operator, inputs[0])
        case Join(on=on):
            left = same(operator.outputs[0], inputs[0])
            keys = frozenset(on)
            why = "a tuple finds its key's last one, or none"
            return Model(why, (AT_MOST_ONE,), ((left, {k: k for k in on}),), (keys, keys), can_fail=False)
        case Process():
            return library_model(operator, inputs)
        case FlatMap():
            return None
    raise AssertionError(operator)


def _passing(why: str, counts: tuple[Bounds, ...], function: Function, inputs: tuple[TupleType, ...]) -> Model:
    copies = (same(inputs[0], inputs[0]),)
    expr = function.expr
    read = None if expr is None else reads(expr)
    return Model(why, counts, (copies,) * len(counts), (read,), can_fail=expr is None or can_raise(expr))


def _map(function: Function, output: TupleType, kind: TupleType) -> Model:
    why = "a map gives a tuple for each tuple"
    if not isinstance(function.expr, Record):
        return Model(why, (ONE,), (({},),), (None,))
    copies = copied_fields(dict(function.expr.fields), output, kind)
    return Model(why, (ONE,), ((copies,),), (reads(function.expr),), can_fail=can_raise(function.expr))


def _aggregate(operator: Aggregate, kind: TupleType) -> Model:
    bounds, why = operator.window.results
    copies = key_folds(operator.folds, operator.fields, operator.window.by)
    return Model(why, (bounds,), ((copies,),), (fold_reads(operator.folds, operator.window.by),))

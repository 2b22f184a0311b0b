"""Models of the operators that are written in Python (`thalweg.library`)."""

from __future__ import annotations

from thalweg.analysis.operator_model import (
    AT_MOST_ONE,
    MANY,
    Bounds,
    Copies,
    Model,
    fold_reads,
    key_folds,
    same,
)
from thalweg.ir.operators import Process
from thalweg.ir.types import TupleType
from thalweg.library.immediate_loop import Loop
from thalweg.library.multi_port import Barrier, EveryPunctuation, LeastTime, MergeOrdered, Pair
from thalweg.library.select import Dedup
from thalweg.library.sorting import SortedBuffer
from thalweg.library.window_aggregate import ApplyConfig, WindowAggregate
from thalweg.library.window_join import Lookup, LookupConfig, WindowJoin


def library_model(operator: Process, inputs: tuple[TupleType, ...]) -> Model | None:
    """The model of an operator of the library; None: it is the user's own."""
    logic = operator.logic
    every = (None,) * len(inputs)
    keys = [dict(zip(operator.by[0], key, strict=True)) for key in operator.by] if operator.by else [{}] * len(inputs)
    match logic:
        case WindowAggregate():
            return _window(operator, logic, inputs[0])
        case Dedup():
            read = frozenset((*(operator.key or ()), *((logic.config.time,) if logic.config.time else ())))
            return Model("the first tuple of each key goes on", (AT_MOST_ONE,), ((same(*inputs * 2),),), (read,))
        case Lookup():
            copies = {n: n for n in logic.config.names}
            return Model(
                "a tuple for each row of its key", (_rows(logic.config),), ((copies,),), (frozenset(logic.config.on),)
            )
        case WindowJoin():
            return _join(operator, logic, inputs, keys)
        case SortedBuffer():
            return Model("the least tuple of those it holds goes on", (AT_MOST_ONE,), (({},),), every)
        case Barrier():
            return Model("one tuple for one of each port", (AT_MOST_ONE,), (tuple(keys),), every)
        case Pair():
            return Model("one tuple of each port", ((0, len(inputs)),), (tuple(keys),), every)
        case MergeOrdered():
            return Model("what is proven least goes on", (MANY,), (({},) * len(inputs),), every)
        case LeastTime() | EveryPunctuation():
            return Model("marks of several streams", (AT_MOST_ONE,), (({},) * len(inputs),), every)
        case Loop():
            ports = operator.results
            return Model(
                "a loop runs until nothing is fed back", (MANY,) * ports, (({},) * len(inputs),) * ports, every
            )
    return None


def _rows(config: LookupConfig) -> Bounds:
    most = max((len(rows) for rows in config.table.values()), default=0)
    return (0, most) if config.missing is None else (1, max(1, most))


def _window(operator: Process, logic: WindowAggregate, kind: TupleType) -> Model:
    applied = isinstance(logic.config, ApplyConfig)
    window = logic.config.window
    bounds, why = window.results
    made: Bounds = bounds if not applied or bounds == (0, 0) else MANY
    copies: Copies = {} if applied else key_folds(logic.config.folds, logic.config.fields, window.by)
    read = None if applied else fold_reads(logic.config.folds, window.reads)
    late = operator.results - 1  # a port for late tuples, where the window is in event time
    counts = (made, *((AT_MOST_ONE,) * late))
    return Model(why, counts, ((copies,), *(((same(kind, kind),),) * late)), (read,))


def _join(operator: Process, logic: WindowJoin, inputs: tuple[TupleType, ...], keys: list[dict[str, str]]) -> Model:
    """Pairs have what either tuple has, and its key under the name of the first side."""
    output = operator.outputs[0]
    left = {n: n for n in logic.config.sides[0].names}
    right = {n: n for n in logic.config.sides[1].names if output.get(n) == inputs[1].get(n)} | keys[1]
    back = {theirs: mine for mine, theirs in keys[1].items() if theirs in logic.config.sides[1].names}
    pairs: tuple[Copies, Copies] = (left | back, right)
    late = [
        (same(k, k), {}) if port == 0 else ({}, same(k, k)) for port, k in enumerate(inputs[: operator.results - 1])
    ]
    counts = (MANY, *((AT_MOST_ONE,) * len(late)))
    return Model("a tuple meets those that its window holds", counts, (pairs, *late), (None, None))

"""The reference's operators whose output depends only on the tuple itself and its order key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from thalweg.ir.operators import (
    MARK,
    ORIGIN_MARK,
    EventTime,
    Filter,
    FlatMap,
    Map,
    Operator,
    Pace,
    Punctor,
    RandomSplit,
    Split,
)
from thalweg.ir.times import to_time
from thalweg.ir.types import TupleType
from thalweg.ir.user_tuples import row_maker, unpack
from thalweg.ir.values import carried
from thalweg.verify.reference_keys import chance

OrderKey = tuple[int, ...]
Emitted = list[tuple[int, Any, OrderKey]]  # output port, tuple, order key
_BEGINNING = -(2**62)  # earlier times count as this one, so that 64 bits hold a time minus a lateness


def make_row(operator: Operator, values: tuple[Any, ...], port: int = 0) -> Any:
    output = operator.outputs[port]
    return row_maker(output, output.names)(*values)


def as_type(tuple_type: TupleType, row: Any, names: Iterable[str]) -> Any:
    """The tuple with those of these attributes that were read; attributes that no operator reads are missing."""
    present = [name for name in names if hasattr(row, name)]
    return row_maker(tuple_type, present)(*(getattr(row, name) for name in present))


def own_row(tuple_type: TupleType, row: Any) -> Any:
    """The tuple as an operator's code sees it: with the operator's own copies of users' classes."""
    present = [name for name in tuple_type.names if hasattr(row, name)]
    return row_maker(tuple_type, present)(*(carried(getattr(row, name)) for name in present))


def make_mark(time: int) -> Any:
    return row_maker(MARK, MARK.names)(time)


def _map(operator: Map, row: Any, key: OrderKey) -> Emitted:
    return [(0, make_row(operator, unpack(operator.function.callable(row), operator.outputs[0])), key)]


def _filter(operator: Filter, row: Any, key: OrderKey) -> Emitted:
    return [(0, row, key)] if operator.function.callable(row) else []


def _flat_map(operator: FlatMap, row: Any, key: OrderKey) -> Emitted:
    results = [unpack(item, operator.outputs[0]) for item in operator.function.callable(row)]
    return [(0, make_row(operator, values), (*key, i)) for i, values in enumerate(results)]


def _split(operator: Split, row: Any, key: OrderKey) -> Emitted:
    count = len(operator.outputs) - (operator.dead_port is not None)
    chosen = operator.function.callable(row)
    if type(chosen) is not int or not 0 <= chosen < count:
        raise ValueError(f"expected a port in 0..{count - 1}, found {chosen!r}")
    return [(chosen, row, key)]


def _random_split(operator: RandomSplit, row: Any, key: OrderKey) -> Emitted:
    drawn = chance(operator.seed, key)
    return [(sum(bound <= drawn for bound in operator.bounds[:-1]), row, key)]


def _pace(operator: Pace, row: Any, key: OrderKey) -> Emitted:
    return [(0, row, key)]


def _event_time(operator: EventTime, row: Any, key: OrderKey) -> Emitted:
    time = to_time(getattr(row, operator.attribute))
    passed = max(time, _BEGINNING) - operator.lateness
    reached = passed - passed % operator.step
    mark = row_maker(ORIGIN_MARK, ORIGIN_MARK.names)(reached, key[1]) if operator.by_origin else make_mark(reached)
    return [(1, mark, (*key, 0)), (0, row, (*key, 1))]


def _punctor(operator: Punctor, row: Any, key: OrderKey) -> Emitted:
    before = operator.before
    mark = [(1, make_mark(0), (*key, 0 if before else 2))] if operator.function.callable(row) else []
    return [*mark, (0, row, (*key, 1))] if before else [(0, row, (*key, 1)), *mark]


PER_TUPLE: Mapping[type[Operator], Callable[[Any, Any, OrderKey], Emitted]] = {
    Map: _map,
    Filter: _filter,
    FlatMap: _flat_map,
    Split: _split,
    RandomSplit: _random_split,
    Pace: _pace,
    EventTime: _event_time,
    Punctor: _punctor,
}

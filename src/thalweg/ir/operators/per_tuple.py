"""Stateless operators that process each tuple separately."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import ClassVar

from thalweg.ir.expr import Record, can_fall_back, can_raise, live_fields, reads
from thalweg.ir.operator_model import AT_MOST_ONE, ONE, Bounds, Model, copied_fields, same
from thalweg.ir.operators.base import Calling, Stateless
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import TRUTH, TUPLE, TUPLES, VALUE, UserCode, UserFunction


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(Calling):
    """Emits one tuple for each tuple."""

    counts_emissions: ClassVar[bool] = False
    mark_output = None
    use: ClassVar[str] = TUPLE

    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        why, expr = "a map emits one tuple for each tuple", self.function.expr
        if not isinstance(expr, Record):
            return Model(why, (ONE,), (({},),), (None,))
        copies = copied_fields(dict(expr.fields), self.outputs[0], inputs[0])
        return Model(why, (ONE,), ((copies,),), (reads(expr),), can_fail=can_raise(expr))

    def needed(self, port: int, names: Set[str], live: Set[str], *, by_rows: bool) -> Set[str]:
        expr = self.function.expr
        if not isinstance(expr, Record):
            return names
        fields = live_fields(expr, live)
        if by_rows or any(can_fall_back(field) for _, field in fields):
            return reads(expr)
        return {name for _, field in fields for name in reads(field)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatMap(Calling):
    """Emits any number of tuples for each tuple."""

    counts_emissions: ClassVar[bool] = True
    mark_output = None
    use: ClassVar[str] = TUPLES

    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        return None

    def needed(self, port: int, names: Set[str], live: Set[str], *, by_rows: bool) -> Set[str]:
        return names


@dataclass(frozen=True, slots=True, kw_only=True)
class MapBatches(Calling):
    """Calls a user function for each batch, which returns one row for each row."""

    counts_emissions: ClassVar[bool] = False
    mark_output = None
    use: ClassVar[str] = VALUE

    library: str  # arrow or polars

    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        return Model("map_batches emits one row for each row", (ONE,), (({},),), (None,))

    def needed(self, port: int, names: Set[str], live: Set[str], *, by_rows: bool) -> Set[str]:
        return names

    def code(self, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        contract = "each output row depends only on its input row"
        function = self.function.callable
        return (
            UserFunction(
                function=function, where=self.where, arguments=(None,), use=self.use, main=True, contract=contract
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging(Calling):
    """Forwards tuples unchanged, after calling a function for each."""

    is_family: ClassVar[bool] = True

    def passing(self, why: str, counts: tuple[Bounds, ...], inputs: tuple[TupleType, ...]) -> Model:
        copies = (same(inputs[0], inputs[0]),)
        expr = self.function.expr
        read = None if expr is None else reads(expr)
        return Model(why, counts, (copies,) * len(counts), (read,), can_fail=expr is None or can_raise(expr))

    def needed(self, port: int, names: Set[str], live: Set[str], *, by_rows: bool) -> Set[str]:
        return self.function.reads(names) | (live & names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(Judging):
    """Forwards the tuples for which the function returns a true value."""

    counts_emissions: ClassVar[bool] = False
    mark_output = None
    use: ClassVar[str] = TRUTH

    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        return self.passing("a filter passes a tuple on or drops it", (AT_MOST_ONE,), inputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split(Judging):
    """Sends each tuple to the output port that the function returns."""

    counts_emissions: ClassVar[bool] = False
    mark_output = None
    use: ClassVar[str] = VALUE

    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        ports = len(self.outputs) - (self.dead_port is not None)
        return self.passing("each tuple goes to one port", _one_of(ports), inputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing(Stateless):
    """Forwards tuples unchanged, without reading them."""

    is_family: ClassVar[bool] = True
    counts_emissions: ClassVar[bool] = False
    mark_output = None
    users_code = None

    def needed(self, port: int, names: Set[str], live: Set[str], *, by_rows: bool) -> Set[str]:
        return live

    def code(self, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return ()

    def passing_all(self, inputs: tuple[TupleType, ...]) -> Model:
        copies = tuple(same(self.outputs[0], kind) for kind in inputs)
        everything = (frozenset[str](),) * len(inputs)
        return Model(f"{self.kind} passes every tuple on", (ONE,), (copies,), everything, can_fail=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(Passing):
    """Merges the tuples of all ports, in order."""

    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        return self.passing_all(inputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace(Passing):
    """Delays tuples without changing them: a pause per epoch, or a limit of tuples per second."""

    delay_s: float = 0.0
    rate_per_s: float | None = None

    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        return self.passing_all(inputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomSplit(Passing):
    """Sends each tuple to a random output port, chosen by a hash of the seed and of the tuple's position."""

    bounds: tuple[float, ...]  # the upper end of each port's share of 0..1
    seed: int

    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        counts = _one_of(len(self.outputs))
        copies = (same(inputs[0], inputs[0]),)
        why = "each tuple goes to one port"
        return Model(why, counts, (copies,) * len(counts), (frozenset(),), can_fail=False)


def _one_of(ports: int) -> tuple[Bounds, ...]:
    """The counts of the output ports if each tuple goes to one of them."""
    return (ONE if ports == 1 else AT_MOST_ONE,) * ports

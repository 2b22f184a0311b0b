"""Aggregates. They can be combined by + - * / and with numbers: `agg.sum("a") / agg.count()`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thalweg.errors import GraphError, Where, described
from thalweg.ir.expr import Attr, Const, Expr
from thalweg.ir.expr import apply as apply_operation
from thalweg.ir.operators import Fold, Function, fold_name
from thalweg.ir.types import (
    BOOL,
    FLOAT,
    INT,
    INT64_MAX,
    INT64_MIN,
    PYTHON_TYPES,
    AttributeType,
    TupleType,
    list_of,
)
from thalweg.lang.annotations import attribute_type
from thalweg.lang.functions import attribute_function, read_function
from thalweg.lang.type_classes import COMPARED, SUMMED, missing_hint, words

Argument = str | Callable[[Any], Any]

_TAKEN = {"sum": SUMMED, "min": COMPARED, "max": COMPARED, "argmin": COMPARED, "argmax": COMPARED}
_TAKEN |= dict.fromkeys(("std", "wma", "quantile"), (INT, FLOAT))


class Aggregate:
    """An aggregate, or an arithmetic combination of aggregates."""

    def __add__(self, other: Aggregate | float) -> Aggregate:
        return Combined("+", self, _lift(other))

    def __radd__(self, other: float) -> Aggregate:
        return Combined("+", _lift(other), self)

    def __sub__(self, other: Aggregate | float) -> Aggregate:
        return Combined("-", self, _lift(other))

    def __rsub__(self, other: float) -> Aggregate:
        return Combined("-", _lift(other), self)

    def __mul__(self, other: Aggregate | float) -> Aggregate:
        return Combined("*", self, _lift(other))

    def __rmul__(self, other: float) -> Aggregate:
        return Combined("*", _lift(other), self)

    def __truediv__(self, other: Aggregate | float) -> Aggregate:
        return Combined("/", self, _lift(other))

    def __rtruediv__(self, other: float) -> Aggregate:
        return Combined("/", _lift(other), self)


@dataclass(frozen=True, slots=True)
class Of(Aggregate):
    """One fold of one argument; the rest is for the folds that need more."""

    kind: str
    argument: Argument | None
    picked: Argument | None = None
    parameter: float | None = None
    function: Callable[[list[Any]], Any] | None = None
    type: Any = None


@dataclass(frozen=True, slots=True)
class Number(Aggregate):
    value: int | float


@dataclass(frozen=True, slots=True)
class Combined(Aggregate):
    op: str
    left: Aggregate
    right: Aggregate


def _lift(value: Aggregate | float) -> Aggregate:
    return value if isinstance(value, Aggregate) else Number(value)


def count() -> Aggregate:
    """The number of tuples."""
    return Of("count", None)


def sum(argument: Argument) -> Aggregate:
    """The sum, folded from the oldest tuple to the newest."""
    return Of("sum", argument)


def min(argument: Argument) -> Aggregate:
    """The least value, as Python's `min` finds it."""
    return Of("min", argument)


def max(argument: Argument) -> Aggregate:
    """The greatest value, as Python's `max` finds it."""
    return Of("max", argument)


def mean(argument: Argument) -> Aggregate:
    """The sum divided by the count."""
    return Of("sum", argument) / Of("count", None)


def first(argument: Argument) -> Aggregate:
    """The oldest value."""
    return Of("first", argument)


def last(argument: Argument) -> Aggregate:
    """The newest value."""
    return Of("last", argument)


def any(argument: Argument) -> Aggregate:
    """A value of the window (always the newest); meant for attributes that are the same in all of them."""
    return Of("any", argument)


def std(argument: Argument) -> Aggregate:
    """The standard deviation of a sample (n - 1); 0.0 for one value."""
    return Of("std", argument)


def wma(argument: Argument) -> Aggregate:
    """The weighted moving average: the oldest value counts once, the newest as often as there are values."""
    return Of("wma", argument)


def quantile(argument: Argument, share: float) -> Aggregate:
    """The value below which a share (0 to 1) of the values lies, interpolated between the two nearest."""
    return Of("quantile", argument, parameter=share)


def median(argument: Argument) -> Aggregate:
    """The quantile of one half."""
    return quantile(argument, 0.5)


def distinct(argument: Argument) -> Aggregate:
    """How many different values."""
    return Of("distinct", argument)


def collect(argument: Argument) -> Aggregate:
    """All values, oldest first, as a list."""
    return Of("collect", argument)


def argmin(argument: Argument, picked: Argument) -> Aggregate:
    """What `picked` is in the tuple with the least argument, the oldest of such tuples."""
    return Of("argmin", argument, picked=picked)


def argmax(argument: Argument, picked: Argument) -> Aggregate:
    """What `picked` is in the tuple with the greatest argument, the oldest of such tuples."""
    return Of("argmax", argument, picked=picked)


def apply(function: Callable[[list[Any]], Any], argument: Argument, type: Any) -> Aggregate:
    """A function of the list of all values of the window, oldest first; `type` is that of its result."""
    return Of("apply", argument, function=function, type=type)


def window_start() -> Aggregate:
    """The event time at which the window starts."""
    return Of("window_start", None)


def window_end() -> Aggregate:
    """The event time at which the window ends; it holds the tuples before."""
    return Of("window_end", None)


def _same(known: Fold, fold: Fold) -> bool:
    """Whether two folds always have one value. Functions of one code may differ in what they captured: only a function
    is itself."""
    return known.fingerprint() == fold.fingerprint() and known.function is fold.function and known.type == fold.type


class FoldTable:
    """The distinct folds of one aggregate operator, filled while its output fields are resolved."""

    def __init__(self, input_type: TupleType, where: Where, time_type: AttributeType | None = None) -> None:
        self.input_type, self.where, self.time_type = input_type, where, time_type
        self.folds: list[Fold] = []

    def resolve(self, aggregate: Aggregate) -> Expr:
        match aggregate:
            case Of():
                return self._fold(aggregate)
            case Number(value):
                return self._number(value)
            case Combined(op, left, right):
                a, b = self.resolve(left), self.resolve(right)
                found = apply_operation(op, a, b)
                if found is None:
                    raise GraphError(
                        f"aggregates cannot be combined by {op}",
                        where=self.where,
                        expected="numbers (int or float)",
                        found=f"{a.type} {op} {b.type}",
                        hint="make them fields of their own and combine them in a .map() behind",
                    )
                return found
        raise GraphError(
            "not an aggregate",
            where=self.where,
            expected="agg.count(), agg.sum(…) or another of agg, or a combination of them",
            found=described(aggregate),
            hint=f"agg.any({aggregate!r}), for a key" if isinstance(aggregate, str) else None,
        )

    def _number(self, value: object) -> Const:
        if type(value) is float or (type(value) is int and INT64_MIN <= value <= INT64_MAX):
            return Const(value, PYTHON_TYPES[type(value)])
        raise GraphError(
            "aggregates are combined with numbers",
            where=self.where,
            expected="an aggregate, a float or a 64-bit int",
            found=repr(value),
        )

    def _fold(self, of: Of) -> Attr:
        function, picked = self._function(of.argument), self._function(of.picked)
        kind = self._type(of, function, picked)
        if of.kind == "quantile" and not (isinstance(of.parameter, int | float) and 0 <= of.parameter <= 1):
            raise GraphError("agg.quantile: bad share", where=self.where, expected="0 to 1", found=repr(of.parameter))
        fold = Fold(of.kind, function, kind, picked, of.parameter, of.function)
        index = next((i for i, known in enumerate(self.folds) if _same(known, fold)), len(self.folds))
        if index == len(self.folds):
            self.folds.append(fold)
        return Attr(fold_name(index), fold.type)

    def _function(self, argument: Argument | None) -> Function | None:
        if argument is None:
            return None
        if isinstance(argument, str):
            return attribute_function(argument, self.input_type, self.where)
        return read_function(argument, self.input_type, self.where)

    def _type(self, of: Of, function: Function | None, picked: Function | None) -> AttributeType:
        if of.kind in ("window_start", "window_end"):
            if self.time_type is None:
                raise GraphError(f"agg.{of.kind} outside of event time", where=self.where, expected="a window by time")
            return self.time_type
        if function is None:
            return INT
        value = self._readable(of.kind, function)
        self._taken(of.kind, value)
        if of.kind == "distinct" and value.composite:
            raise GraphError(f"agg.distinct of {value}", where=self.where, expected="a type without parts")
        if picked is not None:
            return self._readable(of.kind, picked)
        if of.kind in ("std", "wma", "quantile"):
            return FLOAT
        if of.kind == "distinct":
            return INT
        if of.kind == "collect":
            return list_of(value)
        if of.kind == "apply":
            return attribute_type(of.type, "the result of agg.apply", self.where)
        return value

    def _readable(self, kind: str, function: Function) -> AttributeType:
        if function.expr is None or not isinstance(function.expr, Expr):
            raise GraphError(
                f"agg.{kind}: its argument cannot be read: {function.opaque_because or 'it builds a tuple'}",
                where=self.where,
                expected="an attribute's name or an expression over attributes",
                hint="compute the value in a .map() before, with a declared tuple type",
            )
        return function.expr.type

    def _taken(self, kind: str, value: AttributeType) -> None:
        """Refuse values that the fold could not take."""
        taken = _TAKEN.get(kind)
        if taken is None or value in taken:
            return
        hint = "`1 if t.flag else 0` counts a flag" if value is BOOL else missing_hint(value)
        raise GraphError(f"agg.{kind} of {value}", where=self.where, expected=words(taken), hint=hint)

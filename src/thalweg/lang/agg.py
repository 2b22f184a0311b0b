"""Aggregates. They can be combined by + - * / and with numbers: `agg.sum("a") / agg.count()`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thalweg.errors import GraphError, Where
from thalweg.ir.expr import Attr, Const, Expr, apply
from thalweg.ir.operators import Fold, Function, fold_name
from thalweg.ir.types import (
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    DECIMAL,
    FLOAT,
    INT,
    INT64_MAX,
    INT64_MIN,
    PYTHON_TYPES,
    STR,
    AttributeType,
    TupleType,
)
from thalweg.lang.functions import attribute_function, read_function

Argument = str | Callable[[Any], Any]

_SUMMED = (INT, FLOAT, DECIMAL)
_COMPARED = (*_SUMMED, STR, BYTES, DATETIME, DATE)
_TAKEN = {"sum": _SUMMED, "min": _COMPARED, "max": _COMPARED}


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
    """One fold of one argument."""

    kind: str
    argument: Argument | None


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


class FoldTable:
    """The distinct folds of one aggregate operator, filled while its output fields are resolved."""

    def __init__(self, input_type: TupleType, where: Where) -> None:
        self.input_type, self.where = input_type, where
        self.folds: list[Fold] = []

    def resolve(self, aggregate: Aggregate) -> Expr:
        match aggregate:
            case Of(kind, argument):
                return self._fold(kind, argument)
            case Number(value):
                return self._number(value)
            case Combined(op, left, right):
                a, b = self.resolve(left), self.resolve(right)
                found = apply(op, a, b)
                if found is None:
                    raise GraphError(
                        f"aggregates cannot be combined by {op}",
                        where=self.where,
                        expected="numbers (int or float)",
                        found=f"{a.type} {op} {b.type}",
                        hint="make them fields of their own and combine them in a .map() behind",
                    )
                return found
        raise GraphError("not an aggregate", where=self.where, expected="agg.…", found=repr(aggregate))

    def _number(self, value: object) -> Const:
        if type(value) is float or (type(value) is int and INT64_MIN <= value <= INT64_MAX):
            return Const(value, PYTHON_TYPES[type(value)])
        raise GraphError(
            "aggregates are combined with numbers",
            where=self.where,
            expected="an aggregate, a float or a 64-bit int",
            found=repr(value),
        )

    def _fold(self, kind: str, argument: Argument | None) -> Attr:
        function = self._function(argument)
        fold = Fold(kind, function, self._type(kind, function))
        known = [f.fingerprint() for f in self.folds]
        if fold.fingerprint() not in known:
            self.folds.append(fold)
            known.append(fold.fingerprint())
        return Attr(fold_name(known.index(fold.fingerprint())), fold.type)

    def _function(self, argument: Argument | None) -> Function | None:
        if argument is None:
            return None
        if isinstance(argument, str):
            return attribute_function(argument, self.input_type, self.where)
        return read_function(argument, self.input_type, self.where)

    def _type(self, kind: str, function: Function | None) -> AttributeType:
        if function is None:
            return INT
        if function.expr is None or not isinstance(function.expr, Expr):
            raise GraphError(
                f"agg.{kind}: its argument cannot be read: {function.opaque_because or 'it builds a tuple'}",
                where=self.where,
                expected="an attribute's name or an expression over attributes",
                hint="compute the value in a .map() before, with a declared tuple type",
            )
        kind_of_value = function.expr.type
        taken = _TAKEN.get(kind)
        if taken is not None and kind_of_value not in taken:
            hint = None
            if kind_of_value is BOOL:
                hint = "`1 if t.flag else 0` counts a flag"
            elif kind_of_value.optional:
                hint = "take the missing values out before: a .filter(), then a .map() to a type without None"
            *most, last = (str(t) for t in taken)
            expected = f"{', '.join(most)} or {last}"
            raise GraphError(f"agg.{kind} of {kind_of_value}", where=self.where, expected=expected, hint=hint)
        return kind_of_value

"""Aggregate expressions as users write them: folds, numbers, and arithmetic combinations of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from thalweg.errors import GraphError
from thalweg.ir.frozen_code import freeze_before_operator
from thalweg.ir.user_calls import call_place, user_frame

Argument = str | Callable[[Any], Any]  # an attribute's name, or a function of a tuple


class AggregateExpr:
    """An aggregate, or an arithmetic combination of aggregates."""

    def __add__(self, other: AggregateExpr | float) -> AggregateExpr:
        return Combined("+", self, _lift(other))

    def __radd__(self, other: float) -> AggregateExpr:
        return Combined("+", _lift(other), self)

    def __sub__(self, other: AggregateExpr | float) -> AggregateExpr:
        return Combined("-", self, _lift(other))

    def __rsub__(self, other: float) -> AggregateExpr:
        return Combined("-", _lift(other), self)

    def __mul__(self, other: AggregateExpr | float) -> AggregateExpr:
        return Combined("*", self, _lift(other))

    def __rmul__(self, other: float) -> AggregateExpr:
        return Combined("*", _lift(other), self)

    def __truediv__(self, other: AggregateExpr | float) -> AggregateExpr:
        return Combined("/", self, _lift(other))

    def __rtruediv__(self, other: float) -> AggregateExpr:
        return Combined("/", _lift(other), self)

    def _refused(self, *other: object) -> NoReturn:
        raise GraphError(
            "aggregates are combined only by + - * /",
            where=call_place(user_frame()),
            expected="an aggregate, or a combination of aggregates and numbers by + - * /",
            hint="compute the rest in a .map() after the aggregate",
        )

    __pow__ = __rpow__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _refused
    __lt__ = __le__ = __gt__ = __ge__ = _refused
    __neg__ = __pos__ = __abs__ = __round__ = __int__ = __float__ = __bool__ = _refused


@dataclass(frozen=True, slots=True)
class FoldTerm(AggregateExpr):
    """One fold of one argument; the other fields are for folds with more parameters."""

    kind: str
    argument: Argument | None
    picked: Argument | None = None
    parameter: float | None = None
    function: Callable[[list[Any]], Any] | None = None
    type: Any = None
    word: str = field(default="", compare=False)  # what the user wrote, if that is not the kind

    def __repr__(self) -> str:
        return f"agg.{self.word or self.kind}({'' if self.argument is None else '…'})"

    def __post_init__(self) -> None:
        """Freeze its functions now: terms may be made in a loop before they are passed to an operator."""
        for name in ("argument", "picked", "function"):
            if callable(code := getattr(self, name)):
                object.__setattr__(self, name, freeze_before_operator(code, call_place(user_frame())))


@dataclass(frozen=True, slots=True)
class Number(AggregateExpr):
    value: int | float


@dataclass(frozen=True, slots=True)
class Combined(AggregateExpr):
    op: str
    left: AggregateExpr
    right: AggregateExpr


def _lift(value: AggregateExpr | float) -> AggregateExpr:
    return value if isinstance(value, AggregateExpr) else Number(value)

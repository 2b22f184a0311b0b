"""Typed expressions: the meaning of analyzable user functions.

Only the (operation, types) pairs of `ir.rules` are allowed. A function that uses anything else is opaque and runs row
by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache
from typing import Any

from thalweg.ir.rules import CAN_FALL_BACK, CAN_RAISE, RULES, Rule, python_source, rule_of, takes_bool_as_int
from thalweg.ir.types import BOOL, INT, INT64_MAX, INT64_MIN, AttributeType


@dataclass(frozen=True, slots=True)
class Attr:
    """An attribute of the input tuple."""

    name: str
    type: AttributeType


@dataclass(frozen=True, slots=True)
class Const:
    """A literal, or a scalar that the function captured when the graph was built."""

    value: int | float | str | bool
    type: AttributeType


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation of the allow-list applied to its operands."""

    op: str
    operands: tuple[Expr, ...]
    type: AttributeType


Expr = Attr | Const | Apply


@dataclass(frozen=True, slots=True)
class Record:
    """The tuple that a map builds: one expression per output attribute."""

    fields: tuple[tuple[str, Expr], ...]


def apply(op: str, *operands: Expr) -> Apply | None:
    """The operation on these operands, or None if the allow-list does not contain it."""
    result = RULES.get(rule_of(op, [operand.type for operand in operands]))
    if result is not None:
        return Apply(op, operands, result)
    if takes_bool_as_int(op) and any(operand.type is BOOL for operand in operands):
        return apply(op, *(Apply("int", (o,), INT) if o.type is BOOL else o for o in operands))
    return None


def rule(expr: Apply) -> Rule:
    return rule_of(expr.op, [operand.type for operand in expr.operands])


def walk(expr: Expr | Record) -> Iterator[Expr]:
    """The expression and all its subexpressions, parents first."""
    if isinstance(expr, Record):
        for _, field in expr.fields:
            yield from walk(field)
        return
    yield expr
    if isinstance(expr, Apply):
        for operand in expr.operands:
            yield from walk(operand)


def reads(expr: Expr | Record) -> frozenset[str]:
    """The attributes that the expression uses."""
    return frozenset(e.name for e in walk(expr) if isinstance(e, Attr))


def can_raise(expr: Expr | Record) -> bool:
    """Whether CPython could raise while it evaluates the expression."""
    return any(isinstance(e, Apply) and rule(e) in CAN_RAISE for e in walk(expr))


def can_fall_back(expr: Expr | Record) -> bool:
    """Whether the expression's kernel could leave a frame to the row path, which calls the complete function."""
    return any(isinstance(e, Apply) and rule(e) in CAN_FALL_BACK for e in walk(expr))


def live_fields(record: Record, live: Set[str]) -> tuple[tuple[str, Expr], ...]:
    """The fields that must be computed: the live ones, and those whose evaluation could raise."""
    return tuple((name, expr) for name, expr in record.fields if name in live or can_raise(expr))


@cache
def _scalar(op: str, count: int) -> Callable[..., Any]:
    names = [f"a{i}" for i in range(count)]
    made: Callable[..., Any] = eval(f"lambda {', '.join(names)}: {python_source(op, names)}", {"math": math})
    return made


def evaluate(expr: Expr, row: Mapping[str, Any]) -> Any:
    """The expression's value for one tuple, computed by Python. Every int, also an intermediate one, must fit into
    64 bits."""
    match expr:
        case Attr(name):
            return row[name]
        case Const(value):
            return value
        case Apply("and", (a, b)):
            return evaluate(a, row) and evaluate(b, row)
        case Apply("or", (a, b)):
            return evaluate(a, row) or evaluate(b, row)
        case Apply("if", (test, a, b)):
            return evaluate(a, row) if evaluate(test, row) else evaluate(b, row)
        case Apply(op, operands):
            result = _scalar(op, len(operands))(*(evaluate(operand, row) for operand in operands))
            if type(result) is int and not INT64_MIN <= result <= INT64_MAX:
                raise OverflowError(f"{result} does not fit into a 64-bit int")
            return result


def text(expr: Expr | Record) -> str:
    """One canonical line, for fingerprints and explain."""
    match expr:
        case Record(fields):
            return "{" + ", ".join(f"{name}: {text(field)}" for name, field in fields) + "}"
        case Attr(name):
            return f".{name}"
        case Const(value):
            return repr(value)
        case Apply(op, operands):
            return f"({op} {' '.join(text(operand) for operand in operands)})"

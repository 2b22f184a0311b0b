"""Typed expressions: what an analyzable user function computes.

`RULES` is the allow-list. Only these (operation, types) pairs are vectorized; `codegen.expressions` has
one template for each, and each is tested against CPython. A function that uses anything else is opaque
and runs row by row.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from thalweg.ir.types import BOOL, FLOAT, INT, INT64_MAX, INT64_MIN, STR, AttributeType

Rule = tuple[str, *tuple[AttributeType, ...]]

_NUMBERS = ((INT, INT), (INT, FLOAT), (FLOAT, INT), (FLOAT, FLOAT))
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")

RULES: Mapping[Rule, AttributeType] = {
    **{(op, a, b): (INT if a is b is INT else FLOAT) for op in ("+", "-", "*") for a, b in _NUMBERS},
    **{("/", a, b): FLOAT for a, b in _NUMBERS},
    **{(op, INT, INT): INT for op in ("//", "%")},
    **{(op, a, b): BOOL for op in COMPARISONS for a, b in _NUMBERS},
    **{(op, STR, STR): BOOL for op in ("==", "!=")},
    **{(op, BOOL, BOOL): BOOL for op in ("==", "!=", "and", "or")},
    ("not", BOOL): BOOL,
    ("neg", INT): INT,
    ("neg", FLOAT): FLOAT,
    ("abs", INT): INT,
    ("abs", FLOAT): FLOAT,
    **{("if", BOOL, a, a): a for a in (INT, FLOAT, BOOL)},
}

# What can raise in CPython: a field computed with one of these is kept even where nothing reads it,
# because dropping it would drop the error.
_CAN_RAISE = frozenset(
    rule for rule, result in RULES.items() if rule[0] in ("/", "//", "%") or (result is INT and rule[0] != "if")
)

# What a kernel may leave to the row path: what can raise, and ints compared with floats, which Python does exactly.
_CAN_FALL_BACK = _CAN_RAISE | {rule for rule in RULES if rule[0] in COMPARISONS and {*rule[1:]} == {INT, FLOAT}}


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
    """The operation on these operands, or None when the allow-list does not have it."""
    result = RULES.get((op, *(operand.type for operand in operands)))
    return None if result is None else Apply(op, operands, result)


def walk(expr: Expr | Record) -> Iterator[Expr]:
    """Every expression below, parents first."""
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
    return any(isinstance(e, Apply) and (e.op, *(o.type for o in e.operands)) in _CAN_RAISE for e in walk(expr))


def can_fall_back(expr: Expr | Record) -> bool:
    """Whether the expression's kernel could leave a frame to the row path, which calls the whole function."""
    return any(isinstance(e, Apply) and (e.op, *(o.type for o in e.operands)) in _CAN_FALL_BACK for e in walk(expr))


def _int64(value: int | float) -> int | float:
    if type(value) is int and not INT64_MIN <= value <= INT64_MAX:
        raise OverflowError(f"{value} does not fit into a 64-bit int")
    return value


_SCALAR: Mapping[str, Callable[..., Any]] = {
    "+": lambda a, b: _int64(a + b),
    "-": lambda a, b: _int64(a - b),
    "*": lambda a, b: _int64(a * b),
    "/": operator.truediv,
    "//": lambda a, b: _int64(a // b),
    "%": operator.mod,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "not": operator.not_,
    "neg": lambda a: _int64(-a),
    "abs": lambda a: _int64(abs(a)),
}


def evaluate(expr: Expr, row: Mapping[str, Any]) -> Any:
    """The expression's value for one tuple, by Python itself. Every int must fit into 64 bits, also on the way."""
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
            return _SCALAR[op](*(evaluate(operand, row) for operand in operands))


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

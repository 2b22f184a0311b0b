"""The possible values of a predicate, given the minimum and maximum of each attribute in a row group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thalweg.ir.expr import Apply, Attr, Const, Expr
from thalweg.ir.types import FLOAT, INT, STR

AttributeBounds = Mapping[str, tuple[Any, Any]]  # attributes that are missing here may have any value

_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_OPPOSITE = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}


def may_be(expr: Expr, truth: bool, bounds: AttributeBounds) -> bool:
    """Whether the predicate may have this truth value for a tuple within the bounds. When in doubt, yes."""
    match expr:
        case Const(bool() as value):
            return value is truth
        case Apply("not", (inner,)):
            return may_be(inner, not truth, bounds)
        case Apply("and" | "or" as op, (a, b)):
            either = (op == "or") is truth
            found = may_be(a, truth, bounds), may_be(b, truth, bounds)
            return any(found) if either else all(found)
        case Apply(op, (Attr() as attribute, Const() as constant)) if op in _MIRRORED:
            return _compared(op, attribute, constant, truth, bounds)
        case Apply(op, (Const() as constant, Attr() as attribute)) if op in _MIRRORED:
            return _compared(_MIRRORED[op], attribute, constant, truth, bounds)
    return True


def _compared(op: str, attribute: Attr, constant: Const, truth: bool, bounds: AttributeBounds) -> bool:
    if attribute.name not in bounds or attribute.type is not constant.type or attribute.type not in (INT, FLOAT, STR):
        return True
    if attribute.type is FLOAT and truth is (op == "!="):
        return True  # a NaN, which statistics do not cover
    least, greatest = bounds[attribute.name]
    value = constant.value
    match op if truth else _OPPOSITE[op]:
        case "<":
            return bool(least < value)
        case "<=":
            return bool(least <= value)
        case ">":
            return bool(greatest > value)
        case ">=":
            return bool(greatest >= value)
        case "==":
            return bool(least <= value <= greatest)
        case _:  # bounds of long texts may be truncated: valid bounds, but not necessarily values of any row
            return attribute.type is STR or not least == value == greatest

"""Kernels against CPython: what the tests of the allow-list share."""

from __future__ import annotations

import builtins
import itertools
import math
import operator
import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from thalweg.codegen.expression_code import Writer
from thalweg.ir.expr import Apply, Attr, Const, Expr, text
from thalweg.ir.rules import RULES, Rule
from thalweg.ir.types import BOOL, FLOAT, INT, INT64_MAX, INT64_MIN, STR, AttributeType, conform
from thalweg.runtime import branches, kernels
from thalweg.runtime import cpython_operations as by_value
from thalweg.runtime.columns import Column, from_values, to_list
from thalweg.verify.compare import same_bits

INTS = (0, 1, -1, 2, -3, 7, 0xD800, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 3037000500, INT64_MAX, INT64_MIN)
FLOATS = (
    *(0.0, -0.0, 1.0, -1.5, 0.1, 0.5, 2.5, -7.0, 2.0**53, 2.0**63, -(2.0**63), 1e308, -1e308, 5e-324, -5e-324),
    *(2.2250738585072014e-308, float("inf"), float("-inf"), float("nan")),
)
TEXTS = (
    *("", "a", "b", "ab", "A b", " a\t", "\0", "a\0", "é", "e\u0301", "日本語", "\U0001f600", "straße", "İi", "ǆ"),
    *("12", " -7 ", "55296", "1e5", "nan", "٣", "ΑΣ", "a-a-a"),
)
VALUES: dict[AttributeType, Sequence[Any]] = {INT: INTS, FLOAT: FLOATS, STR: TEXTS, BOOL: (False, True)}
# Operands for which CPython would take for ever, or all memory, are left out.
_POWERS = (0, 1, 2, 3, 5, 62, 63, 64, -1, -2)
_SHIFTS = (0, 1, 2, 7, 61, 62, 63, 64, 65, -1, INT64_MIN)
_DIGITS = (0, 1, 2, -1, -2, -3, 17, -20, 400, -400)
_WIDTHS = (0, 1, -1, 2, 7, 40, 2**62, INT64_MIN, INT64_MAX)
_FORMATS = ("", "d", ".2f", ">10", "05", "x", "%", "zz", "10.3", "s", ",", "+.3e", "c")
_OWN: dict[str, Sequence[Any]] = {
    **dict.fromkeys(("<<", ">>"), _SHIFTS),
    **dict.fromkeys((".ljust", ".rjust", ".center", ".zfill"), _WIDTHS),
    "round": _DIGITS,
    "format": _FORMATS,
}
CALM: dict[AttributeType, Sequence[Any]] = {
    INT: (3, 1, 2, 6),
    FLOAT: (0.5, 1.5, 0.75),
    STR: ("aaaa", "aaaaab"),
    BOOL: (True,),
}
# Where calm values of all types together would still raise.
_CALM_OWN: dict[str, tuple[Sequence[Any], ...]] = {
    "ord": (("a", "b"),),
    "format": ((3, 4), ("", ">6")),
    "math.acosh": ((1.5, 2.0),),
    "math.atanh": ((0.5, -0.25),),
    "math.asin": ((0.5, -1.0),),
    "math.acos": ((0.5, -1.0),),
    "math.log": ((2.0, 3.5), (2.0, 10.0)),
    "[a]": (("aaaab", "aaaaab"), (0, 3, -1)),
    ".ljust": (("a", "b"), (3, 4), ("x", "-")),
    ".rjust": (("a", "b"), (3, 4), ("x", "-")),
    ".center": (("a", "b"), (3, 4), ("x", "-")),
    ".index": (("aaaa", "aaab"), ("a",), (0, 1), (3, 4)),
    ".rindex": (("aaaa", "aaab"), ("a",), (0, 1), (3, 4)),
}


def operand_values(rule: Rule) -> list[Sequence[Any]]:
    found: list[Sequence[Any]] = [VALUES[kind] for kind in rule[1:]]
    if rule == ("**", INT, INT):
        found[1] = _POWERS
    if rule[0] in _OWN and len(found) > 1:
        found[1] = _OWN[rule[0]]
    if rule[0] == "*" and STR in rule:
        found = [_WIDTHS if kind is INT else values for kind, values in zip(rule[1:], found, strict=True)]
    return found


def calm_values(rule: Rule) -> list[Sequence[Any]]:
    found: list[Sequence[Any]] = [CALM[kind] for kind in rule[1:]]
    if rule in (("int", STR), ("float", STR)):
        return [("12", "-7")]
    for position, values in enumerate(_CALM_OWN.get(rule[0], ())[: len(found)]):
        kind = rule[1 + position]
        if kind is INT and rule[0].startswith("math."):
            whole = {"math.acosh": (1,), "math.asin": (1,), "math.acos": (1,), "math.atanh": (0,)}
            found[position] = whole.get(rule[0], (2, 3))
        elif position or kind is _kind_of(values[0]):
            found[position] = values
    return found


def _kind_of(value: object) -> AttributeType:
    return {int: INT, float: FLOAT, str: STR, bool: BOOL}[type(value)]


def combinations(rule: Rule, most: int = 600) -> list[tuple[Any, ...]]:
    """Operands in all combinations, or as many of them, always the same ones."""
    found = list(itertools.product(*operand_values(rule)))
    return found if len(found) <= most else random.Random(text_of(rule)).sample(found, most)


def text_of(rule: Rule) -> str:
    return " ".join(map(str, rule))


# What each operation means, said once more and independently of `ir.rules`.
_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "~": operator.invert,
    "neg": operator.neg,
    "not": operator.not_,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda value, *values: value in values,
    "within": lambda part, value: part in value,
    "before": lambda first, second: second,
    "[a]": operator.getitem,
}


def meaning(op: str) -> Callable[..., Any]:
    if op in _OPERATORS:
        return _OPERATORS[op]
    if op.startswith("math."):
        found: Callable[..., Any] = getattr(math, op.removeprefix("math."))
        return found
    if op.startswith("."):
        return lambda value, *arguments: getattr(value, op[1:])(*arguments)
    if op.startswith("["):
        letters = re.findall("[abc]", op)
        return lambda value, *bounds: value[
            slice(*(dict(zip(letters, bounds, strict=True)).get(letter) for letter in "abc"))
        ]
    built_in: Callable[..., Any] = getattr(builtins, op)
    return built_in


def in_python(expr: Expr, row: dict[str, Any]) -> Any:
    match expr:
        case Attr(name):
            return row[name]
        case Const(value):
            return value
        case Apply("and", (a, b)):
            return in_python(a, row) and in_python(b, row)
        case Apply("or", (a, b)):
            return in_python(a, row) or in_python(b, row)
        case Apply("if", (test, a, b)):
            return in_python(a, row) if in_python(test, row) else in_python(b, row)
        case Apply(op, operands):
            return meaning(op)(*(in_python(operand, row) for operand in operands))


def python_value(expr: Expr, row: dict[str, Any]) -> Any:
    """CPython's answer as this attribute type, or the exception that it raises."""
    try:
        return conform(in_python(expr, row), expr.type)
    except Exception as error:
        return error


@cache
def compiled(meaning: str, source: str) -> Callable[..., Any]:
    names: dict[str, Any] = {"k": kernels, "np": np, "math": math, "branches": branches, "by_value": by_value}
    names["AttributeType"] = AttributeType
    exec(compile(source, f"<kernel {meaning}>", "exec"), names)
    kernel: Callable[..., Any] = names["kernel"]
    return kernel


def kernel_source(expr: Expr) -> str:
    writer = Writer()
    result = f"return k.column({writer.value(expr)}, n, AttributeType.{expr.type.name})"
    return "\n    ".join(["def kernel(f, n):", *writer.lines, result])


_of_object: dict[int, tuple[Expr, Callable[..., Any]]] = {}


def kernel_of(expr: Expr) -> Callable[..., Any]:
    """Written once for each object. Not for equal ones: to Python 1, 1.0 and True are equal."""
    if id(expr) not in _of_object:
        _of_object[id(expr)] = expr, compiled(text(expr), kernel_source(expr))
    return _of_object[id(expr)][1]


def kernel_values(expr: Expr, columns: dict[str, Column], rows: int) -> list[Any] | None:
    """The generated kernel's answer as Python values; None where it falls back."""
    try:
        with np.errstate(all="ignore"):
            column: Column = kernel_of(expr)(columns, rows)
    except kernels.Fallback:
        return None
    assert len(column) == rows
    return to_list(column)


def check_rows(expr: Expr, rows: list[dict[str, Any]], types: dict[str, AttributeType]) -> bool:
    """Whether the kernel answered. If it did, each row has CPython's bits."""
    columns = {name: from_values([row[name] for row in rows], kind) for name, kind in types.items()}
    found = kernel_values(expr, columns, len(rows))
    if found is None:
        return False
    for row, got in zip(rows, found, strict=True):
        wanted = python_value(expr, row)
        assert not isinstance(wanted, Exception), f"CPython raises {wanted!r} for {row}, the kernel gives {got!r}"
        assert same_bits(wanted, got), f"{row}: CPython {wanted!r}, kernel {got!r}"
    return True


def names(rule: Rule) -> dict[str, AttributeType]:
    return {f"a{i}": kind for i, kind in enumerate(rule[1:])}


def applied(rule: Rule, *operands: Expr) -> Apply:
    return Apply(rule[0], operands, RULES[rule])

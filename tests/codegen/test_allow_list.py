"""Every rule of the allow-list against CPython, over nasty values.

A kernel works on whole columns, CPython on one row; for each pair of values the kernel of a one-row frame must give
CPython's bits or raise `Fallback`, and must raise it where CPython raises. Over the whole column at once it may fall
back more often, but must never give other bits.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from functools import cache
from types import CodeType
from typing import Any

import numpy as np
import pytest

from thalweg.codegen.expressions import TEMPLATES, vector_source
from thalweg.engine.compare import same_bits
from thalweg.ir.expr import RULES, Apply, Attr, Const, Expr, Rule
from thalweg.ir.types import BOOL, FLOAT, INT, INT64_MAX, INT64_MIN, STR, AttributeType
from thalweg.runtime import kernels
from thalweg.runtime.columns import Column, from_values, to_list

INTS = (0, 1, -1, 2, -3, 7, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 3037000500, INT64_MAX, INT64_MIN)
CALM_INTS = (0, 1, -1, 2, -3, 7, -10, 2**40)
FLOATS = (0.0, -0.0, 1.0, -1.5, 0.1, 2.0**53, 2.0**63, 1e308, -1e308, 5e-324, float("inf"), float("-inf"), float("nan"))
TEXTS = ("", "a", "b", "ab", "\0", "a\0", "é", "e\u0301", "日本語", "\U0001f600", " a")
VALUES: dict[AttributeType, Sequence[Any]] = {INT: INTS, FLOAT: FLOATS, STR: TEXTS, BOOL: (False, True)}


# What each operation means, said once more and independently of `ir.expr`.
OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "not": operator.not_,
    "neg": operator.neg,
    "abs": abs,
}


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
            return OPERATIONS[op](*(in_python(operand, row) for operand in operands))


def python_value(expr: Expr, row: dict[str, Any]) -> Any:
    """CPython's answer, or the exception that it raises."""
    try:
        return in_python(expr, row)
    except (ArithmeticError, ValueError) as error:
        return error


@cache
def compiled(source: str) -> CodeType:
    return compile(source, "<kernel>", "eval")


def kernel_values(expr: Expr, columns: dict[str, Column], rows: int) -> list[Any] | None:
    """The generated kernel's answer as Python values; None where it falls back."""
    source = f"k.column({vector_source(expr)}, n, kind)"
    names = {"k": kernels, "np": np, "f": columns, "n": rows, "kind": expr.type}
    try:
        with np.errstate(all="ignore"):
            column: Column = eval(compiled(source), names)
    except kernels.Fallback:
        return None
    assert len(column) == rows
    return to_list(column)


def check_rows(expr: Expr, rows: list[dict[str, Any]], types: dict[str, AttributeType]) -> bool:
    """Whether the kernel answered. If it did, each row has CPython's bits."""
    columns = {name: from_values([row[name] for row in rows], kind) for name, kind in types.items()}
    found = kernel_values(expr, columns, len(rows))
    expected = [python_value(expr, row) for row in rows]
    if found is None:
        return False
    for row, wanted, got in zip(rows, expected, found, strict=True):
        assert not isinstance(wanted, Exception), f"CPython raises {wanted!r} for {row}, the kernel gives {got!r}"
        assert same_bits(wanted, got), f"{row}: CPython {wanted!r}, kernel {got!r}"
    return True


def combinations(rule: Rule) -> list[tuple[Any, ...]]:
    return list(itertools.product(*(VALUES[kind] for kind in rule[1:])))


def names(rule: Rule) -> dict[str, AttributeType]:
    return {f"a{i}": kind for i, kind in enumerate(rule[1:])}


def applied(rule: Rule, *operands: Expr) -> Apply:
    return Apply(rule[0], operands, RULES[rule])


every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: " ".join(map(str, rule)))


@every_rule
def test_columns(rule: Rule) -> None:
    types = names(rule)
    expr = applied(rule, *(Attr(n, t) for n, t in types.items()))
    rows = [dict(zip(types, values, strict=True)) for values in combinations(rule)]
    answered = sum(check_rows(expr, [row], types) for row in rows)
    assert answered, "a rule whose kernel always falls back is no rule"
    check_rows(expr, rows, types)


@every_rule
def test_a_calm_column_takes_the_kernel(rule: Rule) -> None:
    """Values without any trap must not fall back, or the kernel would be there for nothing."""
    calm: dict[AttributeType, Sequence[Any]] = {
        INT: (3, 1, 2, 40),
        FLOAT: (0.5, 1.5, -2.0),
        STR: ("a", "b"),
        BOOL: (True,),
    }
    types = names(rule)
    expr = applied(rule, *(Attr(n, t) for n, t in types.items()))
    values = itertools.product(*(calm[kind] for kind in types.values()))
    assert check_rows(expr, [dict(zip(types, v, strict=True)) for v in values], types)


@every_rule
def test_a_constant_on_each_side(rule: Rule) -> None:
    types = names(rule)
    for position, (name, kind) in enumerate(types.items()):
        others = {n: t for n, t in types.items() if n != name}
        for constant in VALUES[kind]:
            operands = [Const(constant, kind) if n == name else Attr(n, t) for n, t in types.items()]
            expr = applied(rule, *operands)
            values = [v[:position] + v[position + 1 :] for v in combinations(rule) if v[position] is constant]
            rows = [dict(zip(others, v, strict=True)) for v in values]
            for row in rows:
                check_rows(expr, [row], others)
            check_rows(expr, rows, others)


@every_rule
def test_constants_only(rule: Rule) -> None:
    """Captured values can make a whole expression constant; it still stands in every row."""
    for values in combinations(rule):
        expr = applied(rule, *(Const(v, t) for v, t in zip(values, rule[1:], strict=True)))
        check_rows(expr, [{}, {}, {}], {})


@every_rule
def test_empty_columns(rule: Rule) -> None:
    types = names(rule)
    expr = applied(rule, *(Attr(n, t) for n, t in types.items()))
    assert check_rows(expr, [], types)


@pytest.mark.parametrize("outer", ["+", "-", "*", "//", "%", "<", "=="])
@pytest.mark.parametrize("inner", ["+", "-", "*", "//", "%"])
def test_nested_int_rules(outer: str, inner: str) -> None:
    """What one kernel hands to the next must be as checked as a column."""
    types = {"a": INT, "b": INT, "c": INT}
    a, b, c = (Attr(n, INT) for n in types)
    expr = applied((outer, INT, INT), applied((inner, INT, INT), a, b), c)
    for values in itertools.product((*INTS[::3], INT64_MIN), repeat=3):
        check_rows(expr, [dict(zip(types, values, strict=True))], types)
    for values in itertools.product(CALM_INTS, repeat=2):
        check_rows(expr, [{"a": values[0], "b": values[1], "c": c} for c in CALM_INTS if c], types)


def test_short_circuit_hides_an_error_only_in_python() -> None:
    """`b != 0 and a // b > 1` never divides by zero in CPython; the kernel, which computes both, must fall back."""
    a, b, zero, one = Attr("a", INT), Attr("b", INT), Const(0, INT), Const(1, INT)
    test = applied(("!=", INT, INT), b, zero)
    quotient = applied((">", INT, INT), applied(("//", INT, INT), a, b), one)
    expr = applied(("and", BOOL, BOOL), test, quotient)
    types = {"a": INT, "b": INT}
    assert not check_rows(expr, [{"a": 4, "b": 0}], types)
    assert check_rows(expr, [{"a": 4, "b": 2}, {"a": 1, "b": 3}], types)


def test_text_of_different_dictionaries() -> None:
    """Two string columns share no codes: only the values may be compared."""
    equal = applied(("==", STR, STR), Attr("a", STR), Attr("b", STR))
    columns: dict[str, Column] = {"a": from_values(["x", "y", "z"], STR), "b": from_values(["z", "y", "x"], STR)}
    assert kernel_values(equal, columns, 3) == [False, True, False]


def test_every_rule_has_a_template_and_no_more() -> None:
    assert TEMPLATES.keys() == RULES.keys()

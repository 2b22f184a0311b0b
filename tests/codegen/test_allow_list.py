"""Every rule of the allow-list against CPython, over nasty values.

A kernel works on whole columns, CPython on one row; for each pair of values the kernel of a one-row frame must give
CPython's bits or raise `Fallback`, and must raise it where CPython raises. Over the whole column at once it may fall
back more often, but must never give other bits.
"""

from __future__ import annotations

import itertools

import pytest

from tests.codegen.kernels import (
    INTS,
    VALUES,
    applied,
    calm_values,
    check_rows,
    combinations,
    compiled,
    kernel_source,
    kernel_values,
    names,
    python_value,
    text_of,
)
from thalweg.codegen.templates import TEMPLATES
from thalweg.ir.expr import Attr, Const
from thalweg.ir.rules import CAN_FALL_BACK, CAN_RAISE, RULES, Rule
from thalweg.ir.types import BOOL, FLOAT, INT, INT64_MIN, STR, AttributeType
from thalweg.runtime.columns import Coded, Column, from_values

# The right side of `in` is constant; it has a test of its own.
every_rule = pytest.mark.parametrize("rule", [rule for rule in RULES if rule[0] != "in"], ids=text_of)
CALM_INTS = (0, 1, -1, 2, -3, 7, -10, 2**40)


@every_rule
def test_columns(rule: Rule) -> None:
    types = names(rule)
    expr = applied(rule, *(Attr(n, t) for n, t in types.items()))
    rows = [dict(zip(types, values, strict=True)) for values in combinations(rule)]
    answers = [check_rows(expr, [row], types) for row in rows]
    assert any(answers), "a rule whose kernel always falls back is useless"
    assert all(answers) or rule in CAN_FALL_BACK, "a rule that may fall back must say so: attributes depend on it"
    raising = [row for row in rows if isinstance(python_value(expr, row), Exception)]
    assert not raising or rule in CAN_RAISE, "a rule that may raise must say so: its field could be dropped"
    check_rows(expr, rows, types)
    check_rows(expr, [row for row, answered in zip(rows, answers, strict=True) if answered], types)


@every_rule
def test_a_calm_column_takes_the_kernel(rule: Rule) -> None:
    """Values without any trap must not fall back, or the kernel would be there for nothing."""
    types = names(rule)
    expr = applied(rule, *(Attr(n, t) for n, t in types.items()))
    assert check_rows(expr, [dict(zip(types, v, strict=True)) for v in itertools.product(*calm_values(rule))], types)


@every_rule
def test_a_constant_on_each_side(rule: Rule) -> None:
    types = names(rule)
    found = combinations(rule, 150)
    for position, (name, kind) in enumerate(types.items()):
        others = {n: t for n, t in types.items() if n != name}
        for constant in {repr(values[position]): values[position] for values in found}.values():
            operands = [Const(constant, kind) if n == name else Attr(n, t) for n, t in types.items()]
            expr = applied(rule, *operands)
            values = [v[:position] + v[position + 1 :] for v in found if v[position] is constant]
            rows = [dict(zip(others, v, strict=True)) for v in values]
            for row in rows:
                check_rows(expr, [row], others)
            check_rows(expr, rows, others)


@every_rule
def test_constants_only(rule: Rule) -> None:
    """Captured values can make a whole expression constant; every row still has its value."""
    for values in combinations(rule, 60):
        expr = applied(rule, *(Const(v, t) for v, t in zip(values, rule[1:], strict=True)))
        check_rows(expr, [{}, {}, {}], {})


@every_rule
def test_empty_columns(rule: Rule) -> None:
    types = names(rule)
    expr = applied(rule, *(Attr(n, t) for n, t in types.items()))
    assert check_rows(expr, [], types)


@pytest.mark.parametrize("outer", ["+", "-", "*", "//", "%", "<", "==", "<<", ">>", "&", "min"])
@pytest.mark.parametrize("inner", ["+", "-", "*", "//", "%", "<<", "|", "max"])
def test_nested_int_rules(outer: str, inner: str) -> None:
    """What one kernel hands to the next must be as checked as a column."""
    types = {"a": INT, "b": INT, "c": INT}
    a, b, c = (Attr(n, INT) for n in types)
    expr = applied((outer, INT, INT), applied((inner, INT, INT), a, b), c)
    shifts = "<<" in (outer, inner)
    for values in itertools.product((*INTS[:7:3], 64, -1) if shifts else (*INTS[::3], INT64_MIN), repeat=3):
        if not shifts or max(values[1:]) < 100:  # CPython would fill the memory
            check_rows(expr, [dict(zip(types, values, strict=True))], types)
    calm = CALM_INTS[:-1] if shifts else CALM_INTS
    for values in itertools.product(calm, repeat=2):
        check_rows(expr, [{"a": values[0], "b": values[1], "c": c} for c in calm if c], types)


def test_a_branch_is_computed_for_its_rows_only() -> None:
    """`b != 0 and a // b > 1` never divides by zero in CPython, and so it is in the kernel."""
    a, b, zero, one = Attr("a", INT), Attr("b", INT), Const(0, INT), Const(1, INT)
    test = applied(("!=", INT, INT), b, zero)
    quotient = applied(("//", INT, INT), a, b)
    above = applied((">", INT, INT), quotient, one)
    rows = [{"a": 4, "b": 0}, {"a": 4, "b": 2}, {"a": 1, "b": 3}]
    types = {"a": INT, "b": INT}
    assert check_rows(applied(("and", BOOL, BOOL), test, above), rows, types)
    assert check_rows(applied(("or", BOOL, BOOL), applied(("not", BOOL), test), above), rows, types)
    assert check_rows(applied(("if", BOOL, INT, INT), test, quotient, a), rows, types)
    assert not check_rows(applied(("if", BOOL, INT, INT), test, a, quotient), rows, types)


def test_a_branch_of_text_is_computed_for_its_rows_only() -> None:
    s, n = Attr("s", STR), Attr("n", INT)
    test = applied((">=", INT, INT), n, Const(0, INT))
    letter = applied(("[a]", STR, INT), s, n)
    types = {"s": STR, "n": INT}
    rows = [{"s": "abc", "n": 2}, {"s": "", "n": -1}, {"s": "é", "n": 0}]
    assert check_rows(applied(("if", BOOL, STR, STR), test, letter, Const("none", STR)), rows, types)
    assert check_rows(applied(("if", BOOL, STR, STR), test, letter, s), rows, types)
    assert not check_rows(applied(("if", BOOL, STR, STR), test, s, letter), rows, types)


def test_text_of_different_dictionaries() -> None:
    """Two string columns share no codes: only the values may be compared."""
    equal = applied(("==", STR, STR), Attr("a", STR), Attr("b", STR))
    columns: dict[str, Column] = {"a": from_values(["x", "y", "z"], STR), "b": from_values(["z", "y", "x"], STR)}
    assert kernel_values(equal, columns, 3) == [False, True, False]


def test_only_used_values_are_evaluated() -> None:
    """A dictionary may hold values of tuples that a filter has dropped, for which Python would raise."""
    column = from_values(["12", "no number", "7"], STR)
    assert isinstance(column, Coded)
    kept = Coded(column.codes[::2], column.values)
    assert kernel_values(applied(("int", STR), Attr("a", STR)), {"a": kept}, 2) == [12, 7]
    twice = applied(("+", STR, STR), Attr("a", STR), Attr("a", STR))
    assert kernel_values(applied(("int", STR), twice), {"a": kept}, 2) == [1212, 77]


def test_a_result_is_a_dictionary_of_distinct_values() -> None:
    lowered = applied((".lower", STR), Attr("a", STR))
    column = compiled("lower", kernel_source(lowered))({"a": from_values(["A", "a", "b", "B"], STR)}, 4)
    assert isinstance(column, Coded)
    assert column.values.to_pylist() == ["a", "b"]


@pytest.mark.parametrize("kind", [INT, FLOAT, STR, BOOL], ids=str)
@pytest.mark.parametrize("count", [1, 2, 9])
def test_membership_of_constants(kind: AttributeType, count: int) -> None:
    constants = [Const(v, kind) for v in VALUES[kind] if v == v]
    for start in range(len(constants)):
        chosen = [constants[(start + i) % len(constants)] for i in range(count)]
        expr = applied(("in", kind, kind), Attr("a", kind), *chosen)
        assert check_rows(expr, [{"a": v} for v in VALUES[kind]], {"a": kind})
        assert check_rows(expr, [], {"a": kind})
        for value in VALUES[kind]:
            assert check_rows(applied(("in", kind, kind), Const(value, kind), *chosen), [{}, {}], {})


def test_templates_and_facts_are_of_rules() -> None:
    assert TEMPLATES.keys() <= RULES.keys()
    assert CAN_RAISE <= CAN_FALL_BACK <= RULES.keys()

"""Expressions to numpy source text, by one template per rule of the allow-list."""

from __future__ import annotations

from collections.abc import Mapping

from thalweg.ir.expr import COMPARISONS, RULES, Apply, Attr, Const, Expr, Rule
from thalweg.ir.types import BOOL, FLOAT, INT, STR


def _templates() -> dict[Rule, str]:
    made: dict[Rule, str] = {}
    checked = {"+": "add_int", "-": "sub_int", "*": "mul_int", "//": "floordiv_int", "%": "mod_int"}
    for op, name in checked.items():
        made[op, INT, INT] = f"k.{name}({{0}}, {{1}})"
    for a, b in ((INT, FLOAT), (FLOAT, INT), (FLOAT, FLOAT)):
        for op in ("+", "-", "*"):
            made[op, a, b] = f"({{0}} {op} {{1}})"
        made["/", a, b] = "({0} / k.nonzero({1}))"
        left = "k.exact({0})" if a is INT else "{0}"
        right = "k.exact({1})" if b is INT else "{1}"
        for op in COMPARISONS:
            made[op, a, b] = f"({left} {op} {right})"
    made["/", INT, INT] = "(k.exact({0}) / k.exact(k.nonzero({1})))"
    for op in COMPARISONS:
        made[op, INT, INT] = f"({{0}} {op} {{1}})"
    made["==", STR, STR] = "k.same_text({0}, {1})"
    made["!=", STR, STR] = "np.logical_not(k.same_text({0}, {1}))"
    for op in ("==", "!="):
        made[op, BOOL, BOOL] = f"({{0}} {op} {{1}})"
    made["and", BOOL, BOOL] = "({0} & {1})"
    made["or", BOOL, BOOL] = "({0} | {1})"
    made["not", BOOL] = "np.logical_not({0})"
    made["neg", INT], made["neg", FLOAT] = "k.neg_int({0})", "(-{0})"
    made["abs", INT], made["abs", FLOAT] = "k.abs_int({0})", "abs({0})"
    for kind in (INT, FLOAT, BOOL):
        made["if", BOOL, kind, kind] = "k.choose({0}, {1}, {2})"
    return made


TEMPLATES: Mapping[Rule, str] = _templates()
assert TEMPLATES.keys() == RULES.keys()


def vector_source(expr: Expr) -> str:
    """Source text that evaluates the expression over the columns `f`."""
    match expr:
        case Attr(name):
            return f"f[{name!r}]"
        case Const(value) if isinstance(value, float):
            return f"float({str(value)!r})" if value != value or value in (float("inf"), float("-inf")) else repr(value)
        case Const(value):
            return repr(value)
        case Apply(op, operands):
            rule: Rule = (op, *(operand.type for operand in operands))
            return TEMPLATES[rule].format(*map(vector_source, operands))

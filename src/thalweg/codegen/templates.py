"""The numpy code of each rule of the allow-list that has one. All other rules are evaluated by CPython."""

from __future__ import annotations

from collections.abc import Mapping

from thalweg.ir.rules import COMPARISONS, MATH_FLAGS, MATH_WHOLE, MIXED, NUMBERS, RULES, Rule
from thalweg.ir.types import BOOL, FLOAT, INT, STR


def _templates() -> dict[Rule, str]:
    made: dict[Rule, str] = {}
    checked = {"+": "add_int", "-": "sub_int", "*": "mul_int", "//": "floordiv_int", "%": "mod_int", "**": "pow_int"}
    checked |= {"<<": "shift_left", ">>": "shift_right"}
    for op, name in checked.items():
        made[op, INT, INT] = f"k.{name}({{0}}, {{1}})"
    for a, b in (*MIXED, (FLOAT, FLOAT)):
        for op in ("+", "-", "*"):
            made[op, a, b] = f"({{0}} {op} {{1}})"
        made["/", a, b] = "({0} / k.nonzero({1}))"
        made["//", a, b], made["%", a, b] = "k.floordiv_float({0}, {1})", "k.mod_float({0}, {1})"
    made["/", INT, INT] = "(k.exact({0}) / k.exact(k.nonzero({1})))"
    for a, b in NUMBERS:
        left = "k.exact({0})" if (a, b) == (INT, FLOAT) else "{0}"
        right = "k.exact({1})" if (a, b) == (FLOAT, INT) else "{1}"
        for op in COMPARISONS:
            made[op, a, b] = f"({left} {op} {right})"
        made["min", a, b], made["max", a, b] = f"k.least({left}, {right})", f"k.greatest({left}, {right})"
    for op in ("&", "|", "^"):
        made[op, INT, INT] = made[op, BOOL, BOOL] = f"({{0}} {op} {{1}})"
    made["~", INT] = "(~{0})"
    made["==", STR, STR] = "k.same_text({0}, {1})"
    made["!=", STR, STR] = "np.logical_not(k.same_text({0}, {1}))"
    for op in ("==", "!="):
        made[op, BOOL, BOOL] = f"({{0}} {op} {{1}})"
    made["and", BOOL, BOOL] = "({0} & {1})"
    made["or", BOOL, BOOL] = "({0} | {1})"
    made["not", BOOL] = "np.logical_not({0})"
    made["neg", INT], made["neg", FLOAT] = "k.neg_int({0})", "(-{0})"
    made["abs", INT], made["abs", FLOAT] = "k.abs_int({0})", "abs({0})"
    for kind in (INT, FLOAT, BOOL, STR):
        made["if", BOOL, kind, kind] = "branches.choose({0}, {1}, {2})"
        for other in (INT, FLOAT, BOOL, STR):
            made["before", kind, other] = "({0}, {1})[1]"
    for kind in (INT, FLOAT, BOOL):
        made["in", kind, kind] = "k.among({all})"
    for kind in (INT, FLOAT):
        made["bool", kind] = "({0} != 0)"
        made["math.sqrt", kind], made["math.fabs", kind] = "k.sqrt({0})", "np.fabs({0})"
        for name in MATH_FLAGS:
            made[f"math.{name}", kind] = f"np.{name}({{0}})"
    made["int", BOOL], made["float", INT] = "k.bool_to_int({0})", "k.to_float({0})"
    made["int", FLOAT] = "k.whole(np.trunc({0}))"
    made["round", FLOAT] = "k.whole(np.rint({0}))"
    for name in MATH_WHOLE:
        made[f"math.{name}", FLOAT] = f"k.whole(np.{name}({{0}}))"
    return made


TEMPLATES: Mapping[Rule, str] = _templates()
assert TEMPLATES.keys() <= RULES.keys()

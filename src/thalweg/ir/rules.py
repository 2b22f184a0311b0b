"""The allow-list: which operations on which types an analyzable function may use.

A rule is (operation, operand types) with the type of its result. The meaning of an operation is defined once, as Python
source (`python_source`). A rule with a numpy template in `codegen.expressions` runs over whole columns; every other
rule is evaluated by CPython, once per distinct value or per row, so that it is exact by construction. Every rule is
tested against CPython.

Not allowed, with the reason: `int ** int` with an exponent that is not a constant (the type of the result depends on
it), `chr` (can make a lone surrogate), `hash` of a string (differs between processes), `@`, `is`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from thalweg.ir.types import BOOL, FLOAT, INT, STR, AttributeType

Rule = tuple[str, *tuple[AttributeType, ...]]

BASIC = (INT, FLOAT, STR, BOOL)
NUMBERS = ((INT, INT), (INT, FLOAT), (FLOAT, INT), (FLOAT, FLOAT))
MIXED = ((INT, FLOAT), (FLOAT, INT))
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
BINARY = ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", *COMPARISONS)

# Methods of str, by the types of their arguments.
_TEXT_METHODS: Mapping[AttributeType, Mapping[str, Sequence[tuple[AttributeType, ...]]]] = {
    STR: {
        **{n: [()] for n in ("lower", "upper", "casefold", "capitalize", "title", "swapcase")},
        **{n: [(), (STR,)] for n in ("strip", "lstrip", "rstrip")},
        **{n: [(STR,)] for n in ("removeprefix", "removesuffix")},
        "replace": [(STR, STR), (STR, STR, INT)],
        **{n: [(INT,), (INT, STR)] for n in ("ljust", "rjust", "center")},
        "zfill": [(INT,)],
    },
    BOOL: {
        **{n: [(STR,), (STR, INT), (STR, INT, INT)] for n in ("startswith", "endswith")},
        **{
            n: [()]
            for n in (
                *("isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric"),
                *("isprintable", "isspace", "istitle", "isupper"),
            )
        },
    },
    INT: {n: [(STR,), (STR, INT), (STR, INT, INT)] for n in ("find", "rfind", "index", "rindex", "count")},
}
# `s[i]` and all slices, with optional bounds: "[a:b]", "[a:]", "[::c]", …
SLICES = tuple(
    f"[{start}:{stop}{':' + step if step else ''}]"
    for start, stop, step in itertools.product(("", "a"), ("", "b"), ("", "c"))
)

MATH_FLAGS = ("isnan", "isinf", "isfinite")
MATH_WHOLE = ("floor", "ceil", "trunc")
# numpy's versions of these may differ from the C library in the last bit, depending on the processor.
_MATH_ONE = (
    *("sqrt", "fabs", "exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos"),
    *("atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "erf", "erfc", "gamma", "lgamma"),
    *("degrees", "radians"),
)
_MATH_TWO = ("pow", "log", "atan2", "copysign", "fmod", "hypot", "remainder")


def _rules() -> Iterator[tuple[Rule, AttributeType]]:
    for op, (a, b) in itertools.product(("+", "-", "*", "//", "%", "min", "max"), NUMBERS):
        yield (op, a, b), INT if a is b is INT else FLOAT
    for a, b in NUMBERS:
        yield ("/", a, b), FLOAT
        yield ("**", a, b), INT if a is b is INT else FLOAT
        yield from (((op, a, b), BOOL) for op in COMPARISONS)
        yield from (((f"math.{name}", a, b), FLOAT) for name in _MATH_TWO)
    for op in ("&", "|", "^"):
        yield (op, INT, INT), INT
        yield (op, BOOL, BOOL), BOOL
    yield from (((op, INT, INT), INT) for op in ("<<", ">>", "math.gcd", "math.lcm"))
    yield ("~", INT), INT
    for kind in (INT, FLOAT):
        yield from (((op, kind), kind) for op in ("neg", "abs"))
        yield ("round", kind, INT), kind
        yield from (((f"math.{name}", kind), FLOAT) for name in _MATH_ONE)
        yield from (((f"math.{name}", kind), BOOL) for name in MATH_FLAGS)
    yield from (((op, FLOAT), INT) for op in ("round", "int", *(f"math.{name}" for name in MATH_WHOLE)))
    yield from (((op, BOOL, BOOL), BOOL) for op in ("==", "!=", "and", "or"))
    yield ("not", BOOL), BOOL
    yield from (((".is_integer", FLOAT), BOOL), (("int", BOOL), INT), (("float", INT), FLOAT))
    yield from (((op, INT), STR) for op in ("hex", "oct", "bin"))
    for kind in BASIC:
        yield ("if", BOOL, kind, kind), kind
        yield ("in", kind, kind), BOOL  # one or more constants follow the first operand
        if kind is not BOOL:
            yield ("bool", kind), BOOL
        if kind is not STR:
            yield ("str", kind), STR
        yield ("repr", kind), STR
        yield ("format", kind, STR), STR
        yield from ((("before", kind, other), other) for other in BASIC)
    yield from _text_rules()


def _text_rules() -> Iterator[tuple[Rule, AttributeType]]:
    yield from (((op, STR, STR), BOOL) for op in COMPARISONS)
    yield from (((op, STR, STR), STR) for op in ("+", "min", "max"))
    yield from ((("*", STR, INT), STR), (("*", INT, STR), STR), (("[a]", STR, INT), STR), (("within", STR, STR), BOOL))
    yield from (((op, STR), kind) for op, kind in (("len", INT), ("ord", INT), ("int", INT), ("float", FLOAT)))
    for form in SLICES:
        yield _text_rule(form, tuple(INT for part in "abc" if part in form)), STR
    for result, methods in _TEXT_METHODS.items():
        for name, signatures in methods.items():
            yield from ((_text_rule(f".{name}", arguments), result) for arguments in signatures)


def _text_rule(op: str, arguments: tuple[AttributeType, ...]) -> Rule:
    types: tuple[AttributeType, ...] = (STR, *arguments)
    return (op, *types)


RULES: Mapping[Rule, AttributeType] = dict(_rules())

# Operations that raise for some operands, or whose result may exceed 64 bits or the available memory.
_RAISING = frozenset(
    (
        *("/", "//", "%", "**", "<<", ">>", "neg", "abs", "round", "int", "float", "ord", "format", "[a]"),
        *(".index", ".rindex", ".ljust", ".rjust", ".center", ".zfill"),
    )
)
_SILENT_MATH = frozenset(f"math.{name}" for name in (*MATH_FLAGS, "fabs", "copysign", "atan", "degrees", "radians"))


def _raises(rule: Rule) -> bool:
    op, result = rule[0], RULES[rule]
    if rule in (("int", BOOL), ("float", INT), ("neg", FLOAT), ("abs", FLOAT)):
        return False
    if op in ("+", "-", "*"):
        return result is INT or (op == "*" and result is STR)
    if op.startswith("math."):
        return op not in _SILENT_MATH
    return op in _RAISING or (op.startswith("[") and "c" in op)  # a slice may step by zero


# A field computed with one of these is kept even if no operator reads it, because dropping it would drop the error.
CAN_RAISE = frozenset(rule for rule in RULES if _raises(rule))

# Rules that a kernel may leave to the row path: those that can raise, and int-float comparisons, exact in Python.
CAN_FALL_BACK = CAN_RAISE | {
    rule for rule in RULES if (rule[0] in COMPARISONS or rule[0] in ("min", "max")) and {*rule[1:]} == {INT, FLOAT}
}


def takes_bool_as_int(op: str) -> bool:
    """Whether Python's operation treats a bool as an int."""
    return op in BINARY or op in ("neg", "abs", "round", "float") or op.startswith(("math.", "[", "."))


def rule_of(op: str, types: Sequence[AttributeType]) -> Rule:
    """The rule's key; the constants after `in` are all of one type and count as one operand."""
    if op == "in" and len(types) > 2 and len(set(types[1:])) == 1:
        types = types[:2]
    return (op, *types)


def python_source(op: str, operands: Sequence[str]) -> str:
    """The operation as Python source; `operands` are Python source, too."""
    first, *others = operands
    if op in BINARY or op in ("and", "or"):
        return f"({first} {op} {others[0]})"
    match op:
        case "not":
            return f"(not {first})"
        case "neg":
            return f"(-{first})"
        case "~":
            return f"(~{first})"
        case "if":
            return f"({others[0]} if {first} else {others[1]})"
        case "in":
            return f"({first} in ({', '.join(others)},))"
        case "within":
            return f"({first} in {others[0]})"
        case "before":
            return f"({first}, {others[0]})[1]"
    if op.startswith("."):
        return f"({first}){op}({', '.join(others)})"
    if op.startswith("["):
        given = iter(others)
        return f"({first})[{':'.join(next(given) if part else '' for part in op[1:-1].split(':'))}]"
    return f"{op}({', '.join(operands)})"

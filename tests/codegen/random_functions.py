"""Source text of random functions over all rules of the allow-list, typed so that most of them can be read."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from thalweg.ir.rules import RULES, Rule, python_source
from thalweg.ir.types import BOOL, FLOAT, INT, STR, AttributeType

ATTRIBUTES: Mapping[AttributeType, tuple[str, ...]] = {
    INT: ("t.a", "t.n", "t.m"),
    FLOAT: ("t.x", "t.y"),
    STR: ("t.s", "t.k"),
    BOOL: ("t.p", "t.q"),
}
_LITERALS: Mapping[AttributeType, tuple[str, ...]] = {
    INT: ("0", "1", "-1", "2", "7", "9007199254740993", "-9223372036854775808", "LIMIT"),
    FLOAT: ("0.5", "0.0", "-0.0", "-1.5", "1e308", "5e-324", "RATE", "math.inf", "math.nan", "math.pi"),
    STR: ('""', '"a"', '" B"', '"é"', '"12"', '"\\U0001f600"', "WORD"),
    BOOL: ("True", "False", "FLAG"),
}
# What takes for ever, or all memory, with other operands than these.
_SMALL: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("<<", ">>"), ("0", "1", "7", "(t.a & 7)", "(-1)")),
    **dict.fromkeys((".ljust", ".rjust", ".center", ".zfill"), ("0", "3", "(-2)", "(t.n & 3)")),
    "**": ("0", "1", "2", "3"),
    "round": ("0", "1", "(-2)", "(t.n & 3)"),
    "format": ('""', '">4"', '".1f"', '"03d"', '"x"', '"s"'),
}
_BY_RESULT: Mapping[AttributeType, tuple[Rule, ...]] = {
    kind: tuple(rule for rule, result in RULES.items() if result is kind and rule[0] != "before")
    for kind in (INT, FLOAT, STR, BOOL)
}
HEADER = """\
import math

LIMIT, RATE, WORD, FLAG = 3, 0.25, "ab", True


def helper(value, other=2, *, flag=True):
    if flag and value == other:
        return other
    kept = value
    return kept if value else other

"""


class Source:
    """Draws expressions; locals that were assigned before may be used."""

    def __init__(self, draw: DrawFn) -> None:
        self.draw, self.names = draw, {kind: list(names) for kind, names in ATTRIBUTES.items()}

    def expr(self, kind: AttributeType, depth: int) -> str:
        choice = self.draw(st.integers(0, 9))
        if depth == 0 or choice == 0:
            return self.draw(st.sampled_from(self.names[kind]))
        if choice == 1:
            return f"({self.draw(st.sampled_from(_LITERALS[kind]))})"
        if choice == 2:
            return f"helper({self.expr(kind, depth - 1)}, {self.expr(kind, depth - 1)}, flag={self.expr(BOOL, 0)})"
        rule = self.draw(st.sampled_from(_BY_RESULT[kind]))
        operands = [self.expr(operand, depth - 1) for operand in rule[1:]]
        if rule[0] == "in":
            operands[1:] = [c for c in _LITERALS[next(k for k in rule[1:])] if c != "math.nan"][
                : self.draw(st.integers(1, 5))
            ]
        if rule[0] in _SMALL and len(operands) > 1 and rule[1:] != (FLOAT, FLOAT):
            operands[1] = self.draw(st.sampled_from(_SMALL[rule[0]]))
        if rule[0] == "*" and STR in rule:
            operands = ["2" if operand is INT else text for operand, text in zip(rule[1:], operands, strict=True)]
        return python_source(rule[0], operands)

    def block(self, kind: AttributeType, depth: int, indent: str) -> list[str]:
        """Statements that end in a return."""
        lines: list[str] = []
        for _ in range(self.draw(st.integers(0, 2))):
            lines += [indent + line for line in self._assignment(depth)]
        if depth and self.draw(st.booleans()):
            before = {k: list(names) for k, names in self.names.items()}
            lines.append(f"{indent}if {self.expr(self.draw(st.sampled_from(list(ATTRIBUTES))), depth)}:")
            lines += self.block(kind, depth - 1, indent + "    ")
            self.names = before
            if self.draw(st.booleans()):
                lines += [f"{indent}else:", *self.block(kind, depth - 1, indent + "    ")]
                self.names = before
                return lines
        return [*lines, f"{indent}return {self.expr(kind, depth)}"]

    def _assignment(self, depth: int) -> list[str]:
        kind = self.draw(st.sampled_from(list(ATTRIBUTES)))
        name = f"v{sum(map(len, self.names.values()))}"
        lines = [f"{name} = {self.expr(kind, depth)}"]
        self.names[kind].append(name)
        if self.draw(st.booleans()):
            lines += [f"if {self.expr(BOOL, 1)}:", f"    {name} = {self.expr(kind, 1)}"]
        return lines


@st.composite
def modules(draw: DrawFn) -> str:
    """A module with a function `f` of one tuple."""
    source = Source(draw)
    kind = draw(st.sampled_from(list(ATTRIBUTES)))
    depth = draw(st.integers(1, 4))
    match draw(st.integers(0, 3)):
        case 0:
            body = [f"f = lambda t: {source.expr(kind, depth)}"]
        case 1:
            other = draw(st.sampled_from(list(ATTRIBUTES)))
            first, second = source.expr(kind, depth), source.expr(other, depth)
            body = ["def f(t):", f'    return {{"one": {first}, "two": {second}}}']
        case _:
            body = ["def f(t):", *source.block(kind, min(depth, 3), "    ")]
    return HEADER + "\n" + "\n".join(body) + "\n"

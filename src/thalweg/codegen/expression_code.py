"""Translate expressions to the source text of a kernel.

A kernel is a function of columns `f` and their length `n`. Operations that numpy computes exactly are numpy code
(`codegen.templates`); the others are small Python functions that `by_value.each` calls per distinct value or per row. A
subexpression that is used twice is computed once. A branch that may fall back, or that Python evaluates, is a separate
function, so that it can be computed only for the rows that take it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from thalweg.codegen.templates import TEMPLATES
from thalweg.ir.expr import Apply, Attr, Const, Expr, can_fall_back, reads, rule, text, walk
from thalweg.ir.rules import python_source
from thalweg.ir.types import BOOL, STR

_INDENT = "    "


class Writer:
    """Writes the statements of one kernel; `columns`: where the attributes are, if not in `f`."""

    def __init__(self, columns: Mapping[str, str] | None = None, *, taken: Iterable[str] = ()) -> None:
        self.columns, self.lines = columns, list[str]()
        self._made: dict[str, str] = {}  # text of an expression -> the variable that holds it
        self._uses: Counter[str] = Counter()
        self.names = set(taken)

    def values(self, exprs: Iterable[Expr]) -> list[str]:
        """Source texts of the expressions, after the statements in `lines`."""
        found = list(exprs)
        self._count(found)
        return [self._value(expr) for expr in found]

    def value(self, expr: Expr) -> str:
        return self.values([expr])[0]

    def _count(self, exprs: Iterable[Expr]) -> None:
        """Count the uses of each expression, except those inside an expression that is itself computed only once."""
        for expr in exprs:
            if not isinstance(expr, Apply):
                continue
            key = text(expr)
            self._uses[key] += 1
            if self._uses[key] == 1 and not _of_one_text(expr):
                self._count(expr.operands[:1] if _is_lazy(expr) else expr.operands)

    def _value(self, expr: Expr) -> str:
        match expr:
            case Attr(name):
                return f"f[{name!r}]" if self.columns is None else self.columns[name]
            case Const():
                return literal(expr)
        key = text(expr)
        if key in self._made:
            return self._made[key]
        source = self._apply(expr)
        if self._uses[key] < 2:
            return source
        self._made[key] = self._name("v")
        self.lines.append(f"{self._made[key]} = {source}")
        return self._made[key]

    def _name(self, base: str) -> str:
        name = next(n for n in (f"{base}{i}" for i in range(1, len(self.names) + 2)) if n not in self.names)
        self.names.add(name)
        return name

    def _apply(self, expr: Apply) -> str:
        if _of_one_text(expr) or rule(expr) not in TEMPLATES:
            return self._each(expr)
        if _is_lazy(expr):
            return self._lazy(expr)
        operands = [self._value(operand) for operand in expr.operands]
        return TEMPLATES[rule(expr)].format(*operands, all=", ".join(operands))

    def _each(self, expr: Apply) -> str:
        """A call of a Python function; operands that are not part of the function are its arguments."""
        arguments: dict[str, str] = {}
        whole = _of_one_text(expr)

        def inner(e: Expr) -> str:
            if isinstance(e, Const):
                return literal(e)
            own = isinstance(e, Apply) and (
                whole or (not _of_one_text(e) and rule(e) not in TEMPLATES and self._uses[text(e)] < 2)
            )
            if own or e is expr:
                assert isinstance(e, Apply)
                return python_source(e.op, [inner(operand) for operand in e.operands])
            return arguments.setdefault(self._value(e), f"a{len(arguments)}")

        body = inner(expr)
        parameters = ", ".join(arguments.values())
        direct = re.fullmatch(r"([a-z][\w.]*)\((.*)\)", body)
        function = direct[1] if direct and direct[2] == parameters else f"lambda {parameters}: {body}"
        return f"by_value.each({', '.join([function, f'AttributeType.{expr.type.name}', *arguments])})"

    def _lazy(self, expr: Apply) -> str:
        """`a and b` is `b if a else False`."""
        test, *branches = expr.operands
        if expr.op == "and":
            branches = [branches[0], Const(False, BOOL)]
        elif expr.op == "or":
            branches = [Const(True, BOOL), branches[0]]
        condition = self._value(test)
        functions = [self._branch(branch) for branch in branches]
        needed = sorted(frozenset().union(*map(reads, branches)))
        columns = ", ".join(f"{name!r}: {self._column(name)}" for name in needed)
        how = "apart" if any(_in_python(branch) for branch in branches) else "lazy"
        return f"branches.{how}({condition}, {', '.join(functions)}, {{{columns}}}, n, AttributeType.{expr.type.name})"

    def _column(self, name: str) -> str:
        return f"f[{name!r}]" if self.columns is None else self.columns[name]

    def _branch(self, expr: Expr) -> str:
        inner = Writer()
        result = inner.value(expr)
        if not inner.lines:
            return f"lambda f, n: {result}"
        name = self._name("branch")
        self.lines.append(f"def {name}(f, n):")
        self.lines += [f"{_INDENT}{line}" for line in (*inner.lines, f"return {result}")]
        return name


def literal(const: Const) -> str:
    value = const.value
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f"float({str(value)!r})"
    return f"({value!r})" if isinstance(value, int | float) and str(value).startswith("-") else repr(value)


def _in_python(expr: Expr) -> bool:
    """Whether CPython evaluates a part of it."""
    return any(isinstance(e, Apply) and rule(e) not in TEMPLATES for e in walk(expr))


def _of_one_text(expr: Expr) -> bool:
    """Whether Python should evaluate all of it, once for each distinct value of one string."""
    if not _in_python(expr):
        return False
    leaves = {e for e in walk(expr) if isinstance(e, Attr)}
    return len(leaves) == 1 and leaves.pop().type is STR


def _is_lazy(expr: Apply) -> bool:
    return expr.op in ("if", "and", "or") and any(can_fall_back(b) or _in_python(b) for b in expr.operands[1:])

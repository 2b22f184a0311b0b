"""The functions of a generated module: kernels of user functions, each with the user's line in a comment."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from thalweg.codegen.expression_code import Writer
from thalweg.ir.expr import Attr, Expr, Record, live_fields, text
from thalweg.ir.folds import Fold
from thalweg.ir.operators import Operator
from thalweg.ir.windows import Window

_RESERVED = {"pe", "turn", "stack", "k", "np", "math", "branches", "by_value", "chains", "AttributeType"}


class Functions:
    """Writes functions, and gives each a name that is unique in the module."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._taken = set(_RESERVED)

    def free_name(self, base: str) -> str:
        """A name that is unique in the module: variables of a segment would hide functions of the same name."""
        taken = self._taken
        name = base if base not in taken else next(n for i in count(2) if (n := f"{base}_{i}") not in taken)
        taken.add(name)
        return name

    def add(self, name: str, body: list[str], meaning: str, operator: Operator, parameters: str = "f, n") -> str:
        """Add a function; return its name."""
        name = self.free_name(name)
        lines = "\n".join(f"    {line}" for line in (f"# {operator.where}: {meaning}", *body))
        self.texts.append(f"def {name}({parameters}):\n{lines}")
        return name

    def single(self, name: str, expr: Expr | Record | None, operator: Operator) -> str | None:
        """A column of values; None if the user's function could not be read."""
        if expr is None or isinstance(expr, Record):
            return None
        writer = Writer()
        result = writer.value(expr)
        return self.add(name, [*writer.lines, f"return {result}"], text(expr), operator)

    def ports(self, name: str, expr: Expr | Record | None, ports: int, operator: Operator) -> str | None:
        """A column of port numbers; None if the user's function could not be read."""
        if expr is None or isinstance(expr, Record):
            return None
        writer = Writer()
        result = f"return k.ports({writer.value(expr)}, n, {ports}, AttributeType.INT)"
        return self.add(name, [*writer.lines, result], text(expr), operator)

    def record(self, name: str, record: Record, live: tuple[str, ...], operator: Operator) -> str:
        """The live fields of a tuple, as columns by name."""
        fields = live_fields(record, frozenset(live))
        writer = Writer()
        sources = writer.values(expr for _, expr in fields)
        lines = [f"    {field!r}: {_column(expr, s)}," for (field, expr), s in zip(fields, sources, strict=True)]
        return self.add(name, [*writer.lines, "return {", *lines, "}"], text(record), operator)

    def arguments(self, name: str, operator: Operator, window: Window, folds: Sequence[Fold]) -> str:
        """The argument of each fold, as a column; None for a fold of the tuples themselves."""
        exprs = [fold.argument.expr if fold.argument else None for fold in folds]
        writer = Writer()
        sources = iter(writer.values(expr for expr in exprs if expr is not None and not isinstance(expr, Record)))
        lines = []
        for fold, expr in zip(folds, exprs, strict=True):
            assert not isinstance(expr, Record)
            lines.append(f"    {'None' if expr is None else _column(expr, next(sources))},  # {fold.kind}")
        return self.add(name, [*writer.lines, "return [", *lines, "]"], str(window), operator)


def _column(expr: Expr, source: str) -> str:
    if isinstance(expr, Attr):
        return source
    return f"k.column({source}, n, AttributeType.{expr.type.name})"

"""The possible values of a name while a function is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thalweg.ir.expr import Expr, Record
from thalweg.lang.typed_expressions import Value


@dataclass(frozen=True, slots=True)
class Static:
    """A value that is the same for all tuples."""

    value: Any


class TupleSymbol:
    """The tuple itself."""


ROW = TupleSymbol()
Symbol = Value | Static | TupleSymbol
Scope = dict[str, Symbol]


def exprs_of(symbol: Symbol) -> list[Expr]:
    if isinstance(symbol, Record):
        return [field for _, field in symbol.fields]
    return [symbol] if isinstance(symbol, Expr) else []

"""The model of an operator: its properties that do not depend on user functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.ir.expr import Attr, Expr, Record, reads
from thalweg.ir.types import TupleType

if TYPE_CHECKING:
    from thalweg.ir.folds import Fold
    from thalweg.ir.operators import Process

Bounds = tuple[int, int | None]
Copies = Mapping[str, str]

NONE: Bounds = (0, 0)
ONE: Bounds = (1, 1)
AT_MOST_ONE: Bounds = (0, 1)
MANY: Bounds = (0, None)


@dataclass(frozen=True, slots=True)
class Model:
    """`counts`: by result port. `copies`: by result port, then input port. `reads`: by input port; None: all."""

    why: str
    counts: tuple[Bounds, ...]
    copies: tuple[tuple[Copies, ...], ...]
    reads: tuple[frozenset[str] | None, ...]
    can_fail: bool = True  # whether `on_error` may remove a tuple from the output


def same(output: TupleType, kind: TupleType) -> Copies:
    """Attributes of the same name and type."""
    return {name: name for name, t in output.attributes if kind.get(name) == t}


def key_copies(operator: Process, inputs: tuple[TupleType, ...]) -> tuple[Copies, ...]:
    """By input port: the key attributes, by their names at the first port."""
    if not operator.by:
        return ({},) * len(inputs)
    return tuple(dict(zip(operator.by[0], key, strict=True)) for key in operator.by)


def copied_fields(fields: Mapping[str, Expr], output: TupleType, kind: TupleType) -> Copies:
    """The output attributes that are an attribute of the input, of the same type."""
    return {
        name: expr.name
        for name, expr in fields.items()
        if isinstance(expr, Attr) and output.get(name) == kind.get(expr.name) == expr.type
    }


def key_folds(folds: tuple[Fold, ...], fields: Record, by: tuple[str, ...]) -> Copies:
    """A fold that returns a value of a key attribute returns the key: all tuples of a window share it."""
    found: dict[str, str] = {}
    for name, field in fields.fields:
        if not isinstance(field, Attr):
            continue
        fold = folds[int(field.name.removeprefix("fold"))]
        argument = fold.argument.expr if fold.argument else None
        if fold.forwards and isinstance(argument, Attr) and argument.name in by:
            found[name] = argument.name
    return found


def fold_reads(folds: tuple[Fold, ...], by: tuple[str, ...]) -> frozenset[str] | None:
    found = set(by)
    for fold in folds:
        for function in (fold.argument, fold.picked):
            if function is not None and function.expr is None:
                return None
            if function is not None and function.expr is not None:
                found |= reads(function.expr)
    return frozenset(found)

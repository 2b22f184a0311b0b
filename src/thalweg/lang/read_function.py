"""Read a user function: convert its syntax to an expression of the allow-list, or give the reason why not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg.errors import GraphError, Where, shown
from thalweg.ir.expr import Attr
from thalweg.ir.frozen_code import Freezer
from thalweg.ir.operators import Function
from thalweg.ir.types import TupleType, unknown_attribute
from thalweg.lang.captures import Opaque
from thalweg.lang.reader import FunctionReader
from thalweg.lang.state_functions import check_predicate
from thalweg.lang.tuples import Tuple


def read_function(
    function: Callable[[Any], Any],
    input_type: TupleType,
    where: Where,
    freezer: Freezer | None = None,
    *,
    as_truth: bool = False,
    made: set[type[Tuple]] | None = None,
) -> Function:
    """The user's function with the values that it captures now, and its expression if it can be read. `as_truth`: only
    the truth of its result matters. `made` gets the classes of the tuples that it returns."""
    if not callable(function):
        raise GraphError("not a function", where=where, expected="a function of one tuple", found=shown(function))
    if as_truth:
        check_predicate(function, where)
    freezer = freezer or Freezer(where)
    function, input_type = freezer.freeze(function), freezer.tuple_type(input_type)
    try:
        reader = FunctionReader(function, input_type, as_truth=as_truth, via=where.via)
        read = Function(function, where, reader.read())
    except Opaque as reason:
        return Function(function, where, None, str(reason))
    if made is not None:
        made |= reader.typed.made
    return read


def attribute_function(name: str, input_type: TupleType, where: Where) -> Function:
    """The function that picks one attribute."""
    kind = input_type.get(name)
    if kind is None:
        raise unknown_attribute(name, input_type, where)
    return Function(_Pick(name), where, Attr(name, kind))


class _Pick:
    """Picks an attribute; a class, so that it pickles small and has a stable name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, row: Any) -> Any:
        return getattr(row, self.name)

"""The output tuple type of an operator: declared by the user, or inferred from the function."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import TYPE_CHECKING

from thalweg.errors import GraphError, Where, did_you_mean, shown
from thalweg.ir.expr import Apply, Expr, Record
from thalweg.ir.operators import Function
from thalweg.ir.types import FLOAT, INT, AttributeType, TupleType, accepts
from thalweg.lang.tuples import Tuple, check_names

if TYPE_CHECKING:
    from thalweg.lang.operator_call import OperatorSite


def declared_type(into: type[Tuple] | None, where: Where) -> TupleType:
    if not (isinstance(into, type) and issubclass(into, Tuple)):
        raise GraphError("not a tuple type", where=where, expected="a subclass of tw.Tuple", found=shown(into))
    return into.tuple_type


def only_class(made: Set[type[Tuple]], read: Function) -> type[Tuple] | None:
    """The class of the tuples that a function makes; a branch that returns a dict gives it the same attributes."""
    if len(made) != 1 or not isinstance(read.expr, Record):
        return None
    (only,) = made
    return only if {name for name, _ in read.expr.fields} == set(only.tuple_type.names) else None


def map_type(read: Function, into: type[Tuple] | None, site: OperatorSite) -> TupleType:
    name, where = site.name, site.where
    if into is not None:
        return site.declared(into)
    if isinstance(read.expr, Record):
        check_names((name for name, _ in read.expr.fields), name, where)
        return TupleType(name, tuple((name, expr.type) for name, expr in read.expr.fields))
    if read.expr is not None and read.expr.type.fields is not None:
        return read.expr.type.fields
    if read.expr is not None:
        return TupleType(name, ())  # rejected by the caller, which reports the type that it found
    raise GraphError(
        f"the output type of this map cannot be inferred: {read.opaque_because}",
        where=where,
        expected="a declared tuple type",
        hint="stream.map(function, Out), where Out is a subclass of tw.Tuple",
    )


def returned_tuple(read: Function, output: TupleType, where: Where) -> Function:
    """A function that returns an attribute, which must be a tuple of the output type. One that may be missing fails its
    tuple if it is: a filter before the map may have removed those."""
    assert isinstance(read.expr, Expr)
    kind = read.expr.type
    fields = kind.required.fields
    if fields is None or not output.attributes:
        raise GraphError(
            "a map must return a tuple",
            where=where,
            expected="a dict of attributes, or an attribute that is a tuple",
            found=f"a single {kind}",
            hint=_scalar_hint(output) if fields is None else _MAY_BE_MISSING.format(fields.name),
        )
    if not fields.same_attributes(output):
        found = str(fields)
        raise GraphError("the map returns a different tuple type", where=where, expected=str(output), found=found)
    return replace(read, expr=None, opaque_because="it returns an attribute that is a tuple")


_MAY_BE_MISSING = "remove missing values with a .filter() first, then declare the type: .map(function, {})"


def _scalar_hint(output: TupleType) -> str | None:
    """With a declared type of one attribute, it is clear what is meant."""
    return f'return {{"{output.names[0]}": …}}' if len(output.names) == 1 else None


def in_declared_order(read: Function, output: TupleType, where: Where) -> Function:
    """The function with its fields in the order and of the types of the output type."""
    assert isinstance(read.expr, Record)
    fields = dict(read.expr.fields)
    for name in fields:
        if output.get(name) is None:
            raise GraphError(
                f"the map returns {name}, which {output.name} does not have",
                where=where,
                expected=str(output),
                hint=did_you_mean(name, output.names),
            )
    for name, kind in output.attributes:
        if name not in fields:
            raise GraphError(f"the map does not return {name}", where=where, expected=str(output))
        if not accepts(kind, fields[name].type.required):
            raise GraphError(
                f"the map returns the wrong type for {name}",
                where=where,
                expected=str(kind),
                found=str(fields[name].type),
            )
    for name, kind in output.attributes:
        found = fields[name].type
        if found != kind and not (kind is FLOAT and found is INT):
            return replace(read, expr=None, opaque_because=f"{found} becomes {kind}")
    return replace(
        read, expr=Record(tuple((name, _as_declared(fields[name], kind)) for name, kind in output.attributes))
    )


def _as_declared(expr: Expr, kind: AttributeType) -> Expr:
    """An int becomes a float where one is declared."""
    return expr if expr.type == kind else Apply("float", (expr,), FLOAT)

"""User functions on batches, in Arrow or in Polars.

A batch has the Arrow types of the declared types, whatever values it holds, so what the function sees of a row does not
depend on the other rows of the batch. Properties that Arrow cannot store per value are made uniform: Decimals have 18
digits after the decimal point, datetimes with a time zone are instants in UTC. Both equal the original values.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from thalweg.ir.operators import MapBatches
from thalweg.ir.types import DATETIME, DECIMAL, STR, AttributeType, TupleType
from thalweg.runtime.arrow_types import Misfit, array_of, arrow_type, distinct, file_values, plain_values
from thalweg.runtime.columns import Column, concat, from_arrow, objects, to_arrow, to_list
from thalweg.runtime.frame import Frame


class _MixedZones(TypeError):
    """One column cannot hold datetimes with and without a time zone."""


def apply(operator: MapBatches, frame: Frame, tuple_type: TupleType) -> dict[str, Column]:
    """The columns that the function computes from a frame's columns: as many rows, of the declared types."""
    names = tuple(frame.columns)
    try:
        arrays = [_given(frame.columns[n], n, tuple_type.kind(n)) for n in names]
    except _MixedZones:
        if len(frame) == 1:
            raise
        parts = [apply(operator, frame.window(row, row + 1), tuple_type) for row in range(len(frame))]
        return {name: concat([part[name] for part in parts]) for name in operator.outputs[0].names}
    batch: Any = pa.table(arrays, names=list(names))
    if operator.library == "polars":
        batch = importlib.import_module("polars").from_arrow(batch)
    made = operator.function.callable(batch)
    table = made.to_arrow() if hasattr(made, "to_arrow") else made
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    return _checked(operator, table, len(frame))


def _checked(operator: MapBatches, table: Any, rows: int) -> dict[str, Column]:
    output = operator.outputs[0]
    if not isinstance(table, pa.Table):
        raise TypeError(f"expected an Arrow table or record batch, found {type(table).__name__}")
    if table.num_rows != rows:
        raise ValueError(f"expected {rows} rows, one for each row of the batch, found {table.num_rows}")
    missing = [name for name in output.names if name not in table.column_names]
    if missing:
        raise ValueError(f"expected the columns {', '.join(output.names)}, found {', '.join(table.column_names)}")
    table = distinct(table.select(list(output.names)))
    return {name: _taken(table.column(name), name, kind) for name, kind in output.attributes}


def _given(column: Column, name: str, kind: AttributeType) -> pa.Array:
    """A column as it is passed to the function."""
    if kind.boxed:
        return _array(to_list(column), name, kind)
    array = to_arrow(column)
    return array.dictionary_decode() if kind is STR else array


def _array(values: list[Any], name: str, kind: AttributeType) -> pa.Array:
    zoned = {z for value in values for z in _zoned(value, kind.required)} if _holds(kind, DATETIME) else set()
    if len(zoned) == 2:
        raise _MixedZones(f"{name}: expected datetimes that all have a time zone, or none, found both in one {kind}")
    into = arrow_type(kind, "UTC" if zoned == {True} else None)
    try:
        return array_of(values, kind, into)
    except (pa.ArrowException, OverflowError) as error:
        hint = "round it, or give it a different type, in a .map() before this operator"
        raise TypeError(f"{name}: expected a value that fits {into} ({error}); {hint}") from None


def _taken(column: pa.ChunkedArray, name: str, kind: AttributeType) -> Column:
    """A column that the function returned, checked."""
    if column.null_count and not kind.optional:
        raise TypeError(f"{name}: expected {kind}, found a null")
    try:
        if not kind.boxed:
            return from_arrow(plain_values(column, kind))
        values = file_values(column, kind)
    except Misfit as misfit:
        raise TypeError(f"{name}: {misfit}") from None
    if _holds(kind, DECIMAL):  # in a type that Arrow inferred, the number of digits depends on the other rows
        values = file_values(pa.chunked_array([_array(values, name, kind)]), kind)
    return objects(values)


def _holds(kind: AttributeType, scalar: AttributeType) -> bool:
    """Whether the type is this scalar type, or has parts of it."""
    inner = kind.required
    if inner.fields is not None:
        return any(_holds(k, scalar) for _, k in inner.fields.attributes)
    return _holds(inner.item, scalar) if inner.item is not None else inner is scalar


def _zoned(value: Any, kind: AttributeType) -> Iterator[bool]:
    """For each datetime in a value, whether it has a time zone."""
    if value is None:
        return
    if kind.fields is not None:
        for (_, inner), part in zip(kind.fields.attributes, value, strict=True):
            yield from _zoned(part, inner.required)
    elif kind.item is not None:
        for part in value:
            yield from _zoned(part, kind.item.required)
    elif kind is DATETIME:
        yield value.tzinfo is not None

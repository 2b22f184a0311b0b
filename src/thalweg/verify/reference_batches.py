"""map_batches in the reference: the user's function is called for a batch of one row.

`runtime/arrow_types.py` is shared with the engines: it is the definition of the Arrow types that values have in files
and batches, and the readers and sinks of every run use it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from thalweg.ir.operators import MapBatches
from thalweg.ir.types import DATETIME, DECIMAL, STR, AttributeType, TupleType
from thalweg.ir.values import carried
from thalweg.runtime.arrow_types import Misfit, array_of, arrow_type, file_values, plain_values


def batch_of_one(operator: MapBatches, row: Any, tuple_type: TupleType) -> tuple[Any, ...]:
    """The values of the row that the function returns for a tuple."""
    arrays = [_array(carried(getattr(row, name)), name, kind) for name, kind in tuple_type.attributes]
    batch: Any = pa.table(arrays, names=list(tuple_type.names))
    if operator.library == "polars":
        batch = importlib.import_module("polars").from_arrow(batch)
    made = operator.function.callable(batch)
    made = made.to_arrow() if hasattr(made, "to_arrow") else made
    table = pa.Table.from_batches([made]) if isinstance(made, pa.RecordBatch) else made
    output = operator.outputs[0]
    if not isinstance(table, pa.Table):
        raise TypeError(f"expected an Arrow table or record batch, found {type(table).__name__}")
    if table.num_rows != 1:
        raise ValueError(f"expected 1 rows, one for each row of the batch, found {table.num_rows}")
    if not set(output.names) <= set(table.column_names):
        raise ValueError(f"expected the columns {', '.join(output.names)}, found {', '.join(table.column_names)}")
    return tuple(_value(table.column(name), name, kind) for name, kind in output.attributes)


def _array(value: Any, name: str, kind: AttributeType) -> pa.Array:
    """Datetimes are in UTC if they have a time zone, Decimals have 18 digits after the point."""
    zoned = {part.tzinfo is not None for part in _parts(value, kind.required, DATETIME)}
    if len(zoned) == 2:
        raise TypeError(f"{name}: expected datetimes that all have a time zone, or none, found both in one {kind}")
    into = arrow_type(kind, "UTC" if True in zoned else None)
    try:
        return array_of([value], kind, into)
    except (pa.ArrowException, OverflowError) as error:
        hint = "round it, or give it a different type, in a .map() before this operator"
        raise TypeError(f"{name}: expected a value that fits {into} ({error}); {hint}") from None


def _parts(value: Any, kind: AttributeType, wanted: AttributeType) -> Iterator[Any]:
    """The values of a scalar type inside a value."""
    if value is None:
        return
    if kind.fields is not None:
        for (_, inner), part in zip(kind.fields.attributes, value, strict=True):
            yield from _parts(part, inner.required, wanted)
    elif kind.item is not None:
        for part in value:
            yield from _parts(part, kind.item.required, wanted)
    elif kind is wanted:
        yield value


def _value(column: pa.ChunkedArray, name: str, kind: AttributeType) -> Any:
    """The value of a column that the function returned, in the declared type."""
    if kind is STR and pa.types.is_dictionary(column.type):
        column = pa.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], column.type.value_type)
    if column.null_count and not kind.optional:
        raise TypeError(f"{name}: expected {kind}, found a null; declare `{kind} | None` if it may be missing")
    try:
        if not kind.boxed:
            return plain_values(column, kind).to_pylist()[0]
        (value,) = file_values(column, kind)
    except Misfit as misfit:
        raise TypeError(f"{name}: {misfit}") from None
    if any(True for _ in _parts(value, kind.required, DECIMAL)):
        (value,) = file_values(pa.chunked_array([_array(value, name, kind)]), kind)
    return value

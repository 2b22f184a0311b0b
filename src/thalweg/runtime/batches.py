"""Users' functions on whole batches, in Arrow or in Polars."""

from __future__ import annotations

import importlib
from typing import Any

import pyarrow as pa

from thalweg.ir.operators import MapBatches
from thalweg.ir.types import TupleType
from thalweg.runtime.columns import Column, from_arrow_as, to_arrow_as
from thalweg.runtime.frame import Frame


def apply(operator: MapBatches, frame: Frame, tuple_type: TupleType) -> dict[str, Column]:
    """The columns that the function makes of a frame's columns: as many rows, of the declared types."""
    names = tuple(frame.columns)
    arrays = [to_arrow_as(frame.columns[n], tuple_type.kind(n)) for n in names]
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
    return {name: from_arrow_as(table.column(name), kind) for name, kind in output.attributes}

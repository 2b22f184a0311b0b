"""Parquet files: read only the requested row groups that may contain wanted rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.engine.inputs.row_group_bounds import AttributeBounds, may_be
from thalweg.engine.storage.log import Chunk
from thalweg.ir.expr import Expr
from thalweg.ir.types import FLOAT, INT, STR, TupleType

# One decoded row group is cached for the next epoch.
_last_group: dict[tuple[str, int, int, int, tuple[str, ...]], pa.Table] = {}

# Types whose statistics can be used as stored, without a scale, a unit or a sign to account for.
_PLAIN = {INT: pa.types.is_signed_integer, FLOAT: pa.types.is_float64, STR: pa.types.is_string}


@dataclass(frozen=True, slots=True)
class RowGroups:
    """The rows that were read, and their offsets in the chunk; None: all of its rows."""

    table: pa.Table
    at: npt.NDArray[np.int64] | None


def read_groups(chunk: Chunk, columns: tuple[str, ...], tuple_type: TupleType, wanted: Expr | None) -> RowGroups:
    metadata = pq.read_metadata(chunk.path, memory_map=True)
    present = set(metadata.schema.to_arrow_schema().names)  # `read_dictionary` fails for missing names
    strings = [n for n in columns if n in present and tuple_type.get(n) is STR]
    parts: list[pa.Table] = []
    at: list[npt.NDArray[np.int64]] = []
    with pq.ParquetFile(chunk.path, metadata=metadata, memory_map=True, read_dictionary=strings) as file:
        for group, start, first, last in _touched(metadata, chunk):
            if wanted is not None and _unwanted(file, group, columns, tuple_type, wanted):
                continue
            more = last < start + metadata.row_group(group).num_rows
            table = _row_group(file, chunk, group, [n for n in columns if n in present], keep=more)
            parts.append(table.slice(first - start, last - first))
            at.append(np.arange(first - chunk.start, last - chunk.start))
        if not parts:
            schema = pa.schema([file.schema_arrow.field(n) for n in columns if n in present])
            return RowGroups(schema.empty_table(), np.zeros(0, np.int64))
    rows = np.concatenate(at)
    return RowGroups(pa.concat_tables(parts), None if len(rows) == chunk.stop - chunk.start else rows)


def _touched(metadata: pq.FileMetaData, chunk: Chunk) -> Iterator[tuple[int, int, int, int]]:
    """The row groups with rows of the chunk: number, first row of the group, first and last row in the chunk."""
    start = 0
    for group in range(metadata.num_row_groups):
        stop = start + metadata.row_group(group).num_rows
        first, last = max(start, chunk.start), min(stop, chunk.stop)
        if first < last:
            yield group, start, first, last
        start = stop


def _row_group(file: pq.ParquetFile, chunk: Chunk, group: int, columns: list[str], *, keep: bool) -> pa.Table:
    """A decoded row group. If the next epoch continues with it, it is cached: decoding it again for each of many small
    epochs would dominate the cost."""
    asked = (chunk.path, chunk.size, chunk.modified_ns, group, tuple(columns))
    if asked in _last_group:
        return _last_group[asked]
    table = file.read_row_group(group, columns, use_threads=False)
    if keep:
        _last_group.clear()
        _last_group[asked] = table
    return table


def _unwanted(file: pq.ParquetFile, group: int, columns: tuple[str, ...], tuple_type: TupleType, wanted: Expr) -> bool:
    """Whether the statistics prove that no row of the group is wanted, and that none of them is bad either."""
    bounds = _bounds(file, group, columns, tuple_type)
    return bounds is not None and not may_be(wanted, True, bounds)


def _bounds(
    file: pq.ParquetFile, group: int, columns: tuple[str, ...], tuple_type: TupleType
) -> AttributeBounds | None:
    """None: an attribute has nulls, which must be reported, or a type whose statistics are not sufficient."""
    metadata, schema = file.metadata.row_group(group), file.schema_arrow
    by_path = {metadata.column(i).path_in_schema: metadata.column(i) for i in range(metadata.num_columns)}
    found: dict[str, tuple[object, object]] = {}
    for name in columns:
        kind = tuple_type.kind(name)
        stored = schema.field(name).type if name in schema.names else None
        plain = stored is not None and kind in _PLAIN and _PLAIN[kind](_value_type(stored))
        statistics = by_path[name].statistics if plain and name in by_path else None
        if statistics is None or not statistics.has_null_count or statistics.null_count:
            return None
        if statistics.has_min_max:
            try:
                found[name] = statistics.min, statistics.max
            except UnicodeDecodeError:  # an invalid row, or a bound that its writer shortened
                return None
    return found


def _value_type(stored: pa.DataType) -> pa.DataType:
    return stored.value_type if pa.types.is_dictionary(stored) else stored

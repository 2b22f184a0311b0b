"""Parquet and Arrow files that are only partly readable: by row group, by record batch."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.engine.inputs.arrow_files import is_file_format
from thalweg.engine.inputs.bad_rows import FilePart, TableRows, check_rows, unreadable, whole_misfit
from thalweg.engine.storage.log import Chunk
from thalweg.ir.types import TupleType
from thalweg.runtime.arrow_types import distinct

CORRUPT = (pa.ArrowException, OSError)
_last_group: dict[tuple[object, ...], FilePart] = {}


def raise_system(error: Exception) -> None:
    """Re-raise I/O errors: a failing disk or a missing permission is not a bad record. Arrow's errors have no errno."""
    if isinstance(error, OSError) and error.errno is not None:
        raise error


def parquet_rows(path: str) -> int:
    try:
        return int(pq.read_metadata(path).num_rows)
    except CORRUPT as error:
        raise_system(error)
        return 1


def parquet_parts(chunk: Chunk, tuple_type: TupleType) -> tuple[int, list[FilePart]]:
    """The number of rows of the file, and the row groups that the chunk overlaps."""
    try:
        with pq.ParquetFile(chunk.path, memory_map=True) as file:
            count = int(file.metadata.num_rows)
            reason = whole_misfit(TableRows(file.schema_arrow.empty_table(), np.arange(0)), tuple_type)
            if reason is not None:
                return count, [unreadable(0, count, reason)]
            return count, _row_groups(file, chunk, tuple_type)
    except CORRUPT as error:
        raise_system(error)
        return 1, [unreadable(0, 1, str(error))]


def _row_groups(file: pq.ParquetFile, chunk: Chunk, tuple_type: TupleType) -> list[FilePart]:
    parts: list[FilePart] = []
    start = 0
    for group in range(file.num_row_groups):
        stop = start + file.metadata.row_group(group).num_rows
        if max(start, chunk.start) < min(stop, chunk.stop):
            wanted = (chunk.path, chunk.size, chunk.modified_ns, group, tuple_type)
            part = _last_group.get(wanted) or _row_group(file, group, start, stop, tuple_type)
            if chunk.stop < stop:  # the next piece continues with it
                _last_group.clear()
                _last_group[wanted] = part
            parts.append(part)
        start = stop
    return parts


def _row_group(file: pq.ParquetFile, group: int, start: int, stop: int, tuple_type: TupleType) -> FilePart:
    try:
        table = file.read_row_group(group, list(tuple_type.names), use_threads=False)
        table.validate(full=True)
    except CORRUPT as error:
        raise_system(error)
        return unreadable(start, stop, f"row group {group}: {error}")
    return check_rows(TableRows(table, np.arange(start, stop)), [], tuple_type)


def arrow_rows(path: str) -> int:
    try:
        batches, broken = _batches(path)
    except CORRUPT as error:
        raise_system(error)
        return 1
    return int(sum(batch.num_rows for batch in batches)) + (broken is not None)


def arrow_parts(path: str, tuple_type: TupleType) -> tuple[int, list[FilePart]]:
    """The number of rows of the file, and its record batches. The rest of a truncated stream is one row."""
    try:
        batches, broken = _batches(path)
    except CORRUPT as error:
        raise_system(error)
        return 1, [unreadable(0, 1, str(error))]
    count = sum(batch.num_rows for batch in batches) + (broken is not None)
    parts: list[FilePart] = []
    start = 0
    for number, batch in enumerate(batches):
        table = pa.Table.from_batches([batch])
        reason = whole_misfit(TableRows(table.slice(0, 0), np.arange(0)), tuple_type)
        if reason is not None:
            return count, [unreadable(0, count, reason)]
        stop = start + batch.num_rows
        try:
            batch.validate(full=True)  # even its lengths cannot be trusted
            parts.append(check_rows(TableRows(distinct(table), np.arange(start, stop)), [], tuple_type))
        except pa.ArrowException as error:
            parts.append(unreadable(start, stop, f"record batch {number}: {error}"))
        start = stop
    return count, [*parts, unreadable(start, start + 1, broken)] if broken is not None else parts


def _batches(path: str) -> tuple[list[pa.RecordBatch], str | None]:
    """The record batches, and for a truncated stream the error that ended it."""
    with pa.OSFile(path) as file:
        if is_file_format(file):
            reader = pa.ipc.open_file(file)
            return [reader.get_batch(i) for i in range(reader.num_record_batches)], None
        stream = pa.ipc.open_stream(file)
        batches: list[pa.RecordBatch] = []
        while True:
            try:
                batches.append(stream.read_next_batch())
            except StopIteration:
                return batches, None
            except CORRUPT as error:
                raise_system(error)
                return batches, str(error)

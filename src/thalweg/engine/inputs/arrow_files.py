"""Arrow IPC files, in the file format (by record batch, memory-mapped) and in the stream format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from thalweg.errors import InputError
from thalweg.runtime.arrow_types import distinct

ARROW_SUFFIXES = (".arrow", ".feather", ".ipc", ".arrows")
_MAGIC = b"ARROW1"  # of the file format; a stream starts with its schema


@contextmanager
def _opened(path: str, operator: str | None) -> Iterator[pa.NativeFile]:
    try:
        with pa.memory_map(path) if Path(path).stat().st_size else pa.OSFile(path) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise InputError("this file cannot be read as arrow", operator=operator, found=f"{path}: {error}") from None


def is_file_format(file: pa.NativeFile) -> bool:
    """Whether an open file is in the file format; the file stays at its beginning."""
    magic = bytes(file.read(len(_MAGIC)))
    file.seek(0)
    return magic == _MAGIC


def count_arrow_rows(path: str, operator: str | None = None) -> int:
    with _opened(path, operator) as file:
        if is_file_format(file):
            one = [0] if pa.ipc.open_file(file).schema.names else []  # columns of a compressed file are decompressed
            file.seek(0)
            reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=one))
            return sum(reader.get_batch(i).num_rows for i in range(reader.num_record_batches))
        return sum(batch.num_rows for batch in pa.ipc.open_stream(file))


def read_arrow(path: str, start: int, stop: int, columns: Sequence[str], operator: str) -> pa.Table:
    """Rows start..stop of these columns, if present. In the file format, only the record batches needed are read."""
    with _opened(path, operator) as file:
        is_file = is_file_format(file)
        open_ = pa.ipc.open_file if is_file else pa.ipc.open_stream
        schema = open_(file).schema
        file.seek(0)
        fields = [index for index, name in enumerate(schema.names) if name in columns]
        # Arrow takes an empty list as "all fields": then unneeded columns are mapped, which costs little.
        reader = open_(file, options=pa.ipc.IpcReadOptions(included_fields=fields))
        batches = (reader.get_batch(i) for i in range(reader.num_record_batches)) if is_file else iter(reader)
        parts: list[pa.RecordBatch] = []
        first = 0
        for batch in batches:
            last = first + batch.num_rows
            if max(first, start) < min(last, stop):
                parts.append(batch.slice(max(first, start) - first, min(last, stop) - max(first, start)))
            if last >= stop:
                break
            first = last
        return distinct(pa.Table.from_batches(parts, schema=reader.schema))

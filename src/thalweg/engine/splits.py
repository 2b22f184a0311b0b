"""File splits: listing a source's folder, cutting epochs, reading rows as frames."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from thalweg.engine.log import Chunk, Epoch, InputLog, Piece
from thalweg.errors import InputError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Files, Source
from thalweg.ir.types import BOOL, FLOAT, INT, STR, AttributeType, TupleType
from thalweg.runtime.columns import from_arrow
from thalweg.runtime.frame import Frame

ARROW_TYPES: dict[AttributeType, pa.DataType] = {
    INT: pa.int64(),
    FLOAT: pa.float64(),
    STR: pa.string(),
    BOOL: pa.bool_(),
}
SUFFIXES = {"parquet": (".parquet",), "csv": (".csv",), "jsonl": (".jsonl", ".ndjson", ".json")}


@dataclass(slots=True)
class _Progress:
    """What was taken of one source: every known file with its split, and how far the last one was read."""

    known: dict[str, Chunk] = field(default_factory=dict)
    pending: list[Chunk] = field(default_factory=list)

    def took(self, chunk: Chunk) -> None:
        self.known[chunk.path] = chunk
        if self.pending and self.pending[0].path == chunk.path:
            first = self.pending.pop(0)
            if chunk.stop < first.rows:
                self.pending.insert(0, _rest(chunk))


def _rest(chunk: Chunk) -> Chunk:
    return Chunk(
        chunk.source, chunk.split, chunk.path, chunk.stop, chunk.rows, chunk.rows, chunk.size, chunk.modified_ns
    )


class EpochCutter:
    """Appends epochs to the input log: lists folders, takes files in order of name, cuts at a number of tuples."""

    def __init__(self, sources: Sequence[Source], log: InputLog, max_tuples: int) -> None:
        self.sources, self.log, self.max_tuples = sources, log, max_tuples
        self.progress = {s.name: _Progress() for s in sources}
        self.number = 0
        self.ended = False
        for epoch in log:
            self._took(epoch)

    def _took(self, epoch: Epoch) -> None:
        for chunk in epoch.chunks:
            progress = self.progress[chunk.source]
            progress.took(chunk)
            if chunk.stop < chunk.rows and not any(p.path == chunk.path for p in progress.pending):
                progress.pending.insert(0, _rest(chunk))
        self.number, self.ended = epoch.number + 1, epoch.final

    def backlog(self) -> int:
        return sum(c.stop - c.start for p in self.progress.values() for c in p.pending)

    def next_epoch(self, *, closing: bool, idle: bool = False) -> Epoch | None:
        """The next epoch, logged. None: nothing new; or, when closing, the final epoch was cut before.

        `idle`: an epoch also when nothing is new, without tuples; tests let time pass like that.
        """
        if self.ended:
            return None
        for source in self.sources:
            self._list(source)
        # At least one tuple of each source, or a small limit would starve the later ones.
        share = max(1, self.max_tuples // len(self.sources))
        chunks = tuple(c for source in self.sources for c in self._take(source, share))
        if not chunks and not closing and not idle:
            return None
        epoch = Epoch(self.number, chunks, final=not chunks and not idle)
        self.log.append(epoch)
        self._took(epoch)
        return epoch

    def _list(self, source: Source) -> None:
        progress = self.progress[source.name]
        pending = {c.path for c in progress.pending}
        for path, size, modified_ns in _files(source):
            known = progress.known.get(path)
            if known is not None and (known.size, known.modified_ns) != (size, modified_ns):
                raise _changed(known, size, modified_ns)
            if known is None and path not in pending:
                split = len(progress.known) + len([c for c in progress.pending if c.path not in progress.known])
                rows = _count_rows(path, source.endpoint.format)
                if rows == 0:
                    progress.known[path] = Chunk(source.name, split, path, 0, 0, 0, size, modified_ns)
                else:
                    progress.pending.append(Chunk(source.name, split, path, 0, rows, rows, size, modified_ns))

    def _take(self, source: Source, limit: int) -> Iterator[Chunk]:
        for pending in self.progress[source.name].pending:
            if limit <= 0:
                return
            stop = min(pending.stop, pending.start + limit)
            limit -= stop - pending.start
            yield Chunk(
                pending.source,
                pending.split,
                pending.path,
                pending.start,
                stop,
                pending.rows,
                pending.size,
                pending.modified_ns,
            )


def _files(source: Source) -> list[tuple[str, int, int]]:
    endpoint = source.endpoint
    root = Path(endpoint.path).absolute()
    if root.is_file():
        found = [root]
    elif root.is_dir():
        suffixes = SUFFIXES[endpoint.format]
        found = [p for p in sorted(root.iterdir()) if p.name.endswith(suffixes) and not p.name.startswith((".", "_"))]
    else:
        raise InputError(
            "the source's folder does not exist",
            operator=source.name,
            where=source.where,
            found=str(root),
            hint="paths are relative to the folder in which the run is started",
        )
    return [(str(p), s.st_size, s.st_mtime_ns) for p in found if (s := p.stat())]


def _count_rows(path: str, format: str) -> int:
    if format == "parquet":
        try:
            return int(pq.read_metadata(path).num_rows)
        except (pa.ArrowException, OSError) as error:
            raise InputError("this file cannot be read as parquet", found=f"{path}: {error}") from None
    return len(_read_text(path, format, None))


def _changed(known: Chunk, size: int, modified_ns: int) -> InputError:
    return InputError(
        f"{known.path} changed after it was taken",
        expected=f"{known.size} bytes, modified at {known.modified_ns} ns",
        found=f"{size} bytes, modified at {modified_ns} ns",
        hint="put the file back as it was, or start anew with another checkpoint; new data belongs into new files",
    )


def check_unchanged(chunk: Chunk) -> None:
    """A file that is about to be read (again) must be the one that was logged."""
    try:
        stat = os.stat(chunk.path)
    except FileNotFoundError:
        raise InputError(
            f"{chunk.path} has vanished before it was wholly processed",
            expected=f"a file of {chunk.size} bytes, rows {chunk.start} to {chunk.stop} of it",
            hint="put the file back and start again; nothing was lost",
        ) from None
    if (stat.st_size, stat.st_mtime_ns) != (chunk.size, chunk.modified_ns):
        raise _changed(chunk, stat.st_size, stat.st_mtime_ns)


_last_group: dict[tuple[str, int, int, int, tuple[str, ...]], pa.Table] = {}


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the live attributes of one source's files."""

    source: str
    endpoint: Files
    tuple_type: TupleType
    columns: tuple[str, ...]

    def frames(self, piece: Piece, frame_rows: int) -> Iterator[Frame]:
        """The piece's tuples with their positions, in frames of at most `frame_rows`."""
        check_unchanged(piece.chunk)
        table = self._table(piece.chunk)
        columns = {name: from_arrow(self._column(table, name, piece.chunk)) for name in self.columns}
        rows = piece.chunk.stop - piece.chunk.start
        whole = Frame(np.arange(piece.position, piece.position + rows), (), columns)
        for start in range(0, rows, frame_rows):
            yield whole.window(start, min(start + frame_rows, rows))

    def _table(self, chunk: Chunk) -> pa.Table:
        if self.endpoint.format != "parquet":
            return _read_text(chunk.path, self.endpoint.format, self).slice(chunk.start, chunk.stop - chunk.start)
        try:
            return self._row_groups(chunk)
        except (pa.ArrowException, OSError) as error:
            raise InputError("this file cannot be read", operator=self.source, found=f"{chunk.path}: {error}") from None

    def _row_groups(self, chunk: Chunk) -> pa.Table:
        """Only the row groups that the chunk touches."""
        metadata = pq.read_metadata(chunk.path, memory_map=True)
        present = set(metadata.schema.to_arrow_schema().names)  # `read_dictionary` takes no name that is not there
        strings = [n for n in self.columns if n in present and self.tuple_type.get(n) is STR]
        parts: list[pa.Table] = []
        with pq.ParquetFile(chunk.path, metadata=metadata, memory_map=True, read_dictionary=strings) as file:
            start = 0
            for group in range(file.num_row_groups):
                stop = start + file.metadata.row_group(group).num_rows
                first, last = max(start, chunk.start), min(stop, chunk.stop)
                if first < last:
                    parts.append(self._row_group(file, chunk, group, last < stop).slice(first - start, last - first))
                start = stop
        return pa.concat_tables(parts)

    def _row_group(self, file: pq.ParquetFile, chunk: Chunk, group: int, more: bool) -> pa.Table:
        """A decoded row group. One that the next epoch will go on with stays at hand: decoding it again for each of
        many small epochs would cost more than all the rest."""
        wanted = (chunk.path, chunk.size, chunk.modified_ns, group, self.columns)
        if wanted in _last_group:
            return _last_group[wanted]
        present = set(file.schema_arrow.names)
        table = file.read_row_group(group, [n for n in self.columns if n in present], use_threads=False)
        if more:
            _last_group.clear()
            _last_group[wanted] = table
        return table

    def _column(self, table: pa.Table, name: str, chunk: Chunk) -> pa.ChunkedArray:
        kind = self.tuple_type.get(name)
        assert kind is not None
        if name not in table.column_names:
            raise self._misfit(
                name, chunk, str(kind), f"a file with {', '.join(table.column_names) or 'none of these'}"
            )
        column = table.column(name)
        if column.null_count:
            row = chunk.start + next(i for i, v in enumerate(column.is_null().to_pylist()) if v)
            raise self._misfit(name, chunk, f"{kind} in every row", f"nothing in row {row}")
        if kind is STR and pa.types.is_dictionary(column.type) and _is_text(column.type.value_type):
            return column
        found = column.type
        allowed = {INT: pa.types.is_integer, FLOAT: _is_number, STR: _is_text, BOOL: pa.types.is_boolean}
        try:
            if not allowed[kind](found):
                raise pa.ArrowInvalid("another type")
            return column.cast(ARROW_TYPES[kind])
        except pa.ArrowInvalid as error:
            raise self._misfit(name, chunk, str(kind), f"{found} ({error})") from None

    def _misfit(self, name: str, chunk: Chunk, expected: str, found: str) -> InputError:
        return InputError(
            f"attribute {name} does not fit: {chunk.path}", operator=self.source, expected=expected, found=found
        )


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _read_text(path: str, format: str, reader: Reader | None) -> pa.Table:
    types = {} if reader is None else {n: ARROW_TYPES[k] for n, k in reader.tuple_type.attributes}
    try:
        if format == "csv":
            # Only an empty field is a null: "nan" is a float, and "NA" is wrong in a number.
            convert = pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=False, null_values=[""])
            return pyarrow.csv.read_csv(path, convert_options=convert)
        schema = pa.schema(list(types.items())) if types else None
        return pyarrow.json.read_json(path, parse_options=pyarrow.json.ParseOptions(explicit_schema=schema))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"this file cannot be read as {format}", found=f"{path}: {error}") from None


def readers(graph: LogicalGraph, live: dict[str, tuple[str, ...]]) -> dict[str, Reader]:
    return {s.name: Reader(s.name, s.endpoint, s.outputs[0], live[s.name]) for s in graph.sources}

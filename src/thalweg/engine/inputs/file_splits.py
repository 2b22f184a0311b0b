"""File splits: listing a source's folder, reading rows as frames."""

from __future__ import annotations

import difflib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.engine.inputs.arrow_files import ARROW_SUFFIXES, count_arrow_rows, read_arrow
from thalweg.engine.inputs.boxed_columns import boxed_column, json_column
from thalweg.engine.inputs.file_identity import changed, check_unchanged
from thalweg.engine.inputs.parquet_files import read_groups
from thalweg.engine.inputs.text_faults import SKIPPING, count_csv_rows, file_error, may_be_missing, text_fault
from thalweg.engine.inputs.text_tables import parse_text
from thalweg.engine.inputs.tolerant_files import count_tolerantly
from thalweg.engine.storage.json_lines import count_json_rows, json_rows
from thalweg.engine.storage.log import Chunk, Piece
from thalweg.errors import InputError, Where
from thalweg.ir.expr import Expr
from thalweg.ir.operators import Source
from thalweg.ir.types import AttributeType, TupleType
from thalweg.runtime.arrow_types import Misfit, check_valid, one_column, plain_values
from thalweg.runtime.columns import Array, Column, from_arrow
from thalweg.runtime.frame import Frame
from thalweg.runtime.objects import from_stored

T = TypeVar("T")

SUFFIXES = {
    "parquet": (".parquet",),
    "csv": (".csv",),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "arrow": ARROW_SUFFIXES,
}
STORED = {b"thalweg": b"stored"}  # marks a column of pickled values, in files that only Thalweg writes


class Pending:
    """The splits of one source that wait for an epoch, in order; the first may be partly taken. There may be very many,
    so only `take` iterates over them."""

    def __init__(self) -> None:
        self._chunks: OrderedDict[str, Chunk] = OrderedDict()  # by path
        self.tuples = 0

    def add(self, chunk: Chunk) -> None:
        self._chunks[chunk.path] = chunk
        self.tuples += chunk.stop - chunk.start

    def took(self, chunk: Chunk) -> None:
        """An epoch took this chunk: the rest of its split stays."""
        waited = self._chunks.pop(chunk.path, None)
        if waited is not None:
            self.tuples -= waited.stop - waited.start
        if chunk.stop < chunk.rows:
            self.add(replace(chunk, start=chunk.stop, stop=chunk.rows))
            self._chunks.move_to_end(chunk.path, last=False)

    def take(self, limit: int) -> Iterator[Chunk]:
        for chunk in self._chunks.values():
            if limit <= 0:
                return
            stop = min(chunk.stop, chunk.start + limit)
            limit -= stop - chunk.start
            yield replace(chunk, stop=stop)


_RELATIVE = "paths are relative to the folder in which the run is started"


def _similar(missing: Path, where: Where) -> str | None:
    """A path that exists and may be meant: beside the application, or with a similar name."""
    beside = Path(where.file).absolute().parent
    inside = missing.relative_to(Path.cwd()) if missing.is_relative_to(Path.cwd()) else None
    if inside is not None and (beside / inside).exists():
        return f"there is {beside / inside}: {_RELATIVE}"
    above = next(folder for folder in missing.parents if folder.is_dir())
    part = missing.relative_to(above).parts[0]
    close = difflib.get_close_matches(part, sorted(os.listdir(above)) if os.access(above, os.R_OK) else [], n=1)
    return f"did you mean `{above / close[0]}`?" if close else None


class FileSplits:
    """A source's files: a folder is listed repeatedly, and its files are taken in order of name."""

    patient = False
    open = False  # files that do not exist yet belong to a later run

    def __init__(self, source: Source, path: str, format: str, *, may_be_missing: bool = False) -> None:
        self.source, self.root, self.format = source, Path(path).absolute(), format
        self.may_be_missing = may_be_missing  # as long as no file was written there
        self.known: dict[str, Chunk] = {}  # by path, as last taken, or as found
        self.pending = Pending()

    def took(self, chunk: Chunk) -> None:
        self.known[chunk.path] = chunk
        self.pending.took(chunk)

    def take(self, limit: int) -> Iterator[Chunk]:
        return self.pending.take(limit)

    def backlog(self) -> int:
        return self.pending.tuples

    def look(self) -> None:
        for path, size, modified_ns in self._files():
            known = self.known.get(path)
            if known is not None and (known.size, known.modified_ns) != (size, modified_ns):
                raise changed(known, size, modified_ns)
            if known is not None or (rows := self._count(path)) is None:
                continue
            chunk = Chunk(self.source.name, len(self.known), path, 0, rows, rows, size, modified_ns)
            self.known[path] = chunk
            if rows:
                self.pending.add(chunk)

    def untaken(self) -> list[str]:
        """The files that were not taken, or that changed since."""
        taken = {(c.path, c.size, c.modified_ns) for c in self.known.values()}
        return [path for path, *stat in self._files() if (path, *stat) not in taken] if self.root.exists() else []

    def _files(self) -> list[tuple[str, int, int]]:
        """Path, size and modification time of each file."""
        root = self.root
        if root.is_file():
            found = [root]
        elif root.is_dir():
            suffixes, listed = SUFFIXES[self.format], _listed(self.source, root)
            found = [p for p in listed if p.name.endswith(suffixes) and not is_hidden(p)]
        elif self.may_be_missing and not root.exists():
            found = []
        else:
            raise InputError(
                "the source's folder does not exist",
                operator=self.source.name,
                where=self.source.where,
                found=str(root),
                hint=_similar(root, self.source.where) or _RELATIVE,
            )
        return [(str(p), s.st_size, s.st_mtime_ns) for p in found if (s := _stat(p)) is not None]

    def _count(self, path: str) -> int | None:
        """None: the file was deleted since the folder was listed, and is ignored."""
        try:
            if self.source.on_error == "fail":
                return self._count_valid(path)
            return count_tolerantly(path, self.format, self.source.outputs[0])
        except (InputError, FileNotFoundError):
            if Path(path).exists():
                raise
            return None

    def _count_valid(self, path: str) -> int:
        if self.format != "csv":
            return _count_rows(path, self.format, self.source.name)
        try:
            return len(parse_text(path, "csv", None))
        except pa.ArrowException:
            return self._count_rejected(path)
        except OSError as error:
            raise file_error(None, path, "csv", error, self.source.name) from None

    def _count_rejected(self, path: str) -> int:
        """The number of rows of a file that Arrow cannot read. The reader reports the first bad row, because only the
        reader has the attributes in which nulls matter."""
        data = Path(path).read_bytes()
        if rows := count_csv_rows(data):
            return rows
        try:
            return len(parse_text(data + b"\n", "csv", None))  # a header without the end of its line
        except pa.ArrowException as error:
            fault = text_fault(path, "csv", self.source.outputs[0], ())
            raise file_error(fault, path, "csv", error, self.source.name) from None


def is_hidden(file: Path) -> bool:
    """Whether a file is not for readers: other programs, too, write such names first."""
    return file.name.startswith((".", "_"))


def _listed(source: Source, root: Path) -> list[Path]:
    try:
        return sorted(root.iterdir())
    except OSError as error:
        raise InputError(
            "the source's folder cannot be listed",
            operator=source.name,
            where=source.where,
            found=f"{root}: {error.strerror}",
        ) from None


def _stat(file: Path) -> os.stat_result | None:
    """None: the file was deleted since the folder was listed. If it is needed, reading it fails later."""
    try:
        return file.stat()
    except FileNotFoundError:
        return None


def _count_rows(path: str, format: str, operator: str) -> int:
    if format == "parquet":
        try:
            return int(pq.read_metadata(path).num_rows)
        except (pa.ArrowException, OSError) as error:
            raise file_error(None, path, format, error, operator) from None
    if format == "arrow":
        return count_arrow_rows(path, operator)
    return count_json_rows(path)


_last_text: dict[tuple[object, ...], Any] = {}


def _once(chunk: Chunk, form: object, read: Callable[[], T]) -> T:
    """The content of a text file. Such a file can only be read completely, so it is cached for the next piece of it."""
    asked = (chunk.path, chunk.size, chunk.modified_ns, form)
    found: T = _last_text[asked] if asked in _last_text else read()
    _last_text.clear()
    if chunk.stop < chunk.rows:
        _last_text[asked] = found
    return found


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads the live attributes of one source's files."""

    source: str
    format: str
    tuple_type: TupleType
    columns: tuple[str, ...]
    spooled: bool = False  # files written by Thalweg
    wanted: Expr | None = None  # rows for which this is false may be skipped

    def frames(self, piece: Piece, frame_rows: int) -> Iterator[Frame]:
        """The piece's tuples with their positions, in frames of at most `frame_rows`."""
        check_unchanged(piece.chunk)
        columns, at = self._columns(piece.chunk)
        at = np.arange(piece.chunk.stop - piece.chunk.start) if at is None else at
        whole = Frame(piece.position + at, (), columns)
        for start in range(0, len(whole), frame_rows):
            yield whole.window(start, min(start + frame_rows, len(whole)))

    def _columns(self, chunk: Chunk) -> tuple[dict[str, Column], Array | None]:
        """The chunk's columns, and the offsets of their rows in the chunk; None: all rows."""
        kinds = dict(self.tuple_type.attributes)
        parsed = self.format == "jsonl" and any(kind.boxed for kind in kinds.values())
        table, at = (None, None) if parsed else self._table(chunk)
        rows = self._json_rows(chunk) if parsed else []
        columns: dict[str, Column] = {}
        misfits: list[tuple[str, Misfit]] = []
        for name in self.columns:
            try:
                if table is None:
                    columns[name] = json_column(rows, name, kinds[name])
                elif self.spooled and kinds[name].boxed:
                    columns[name] = from_stored(self._column(table, name, kinds[name]).combine_chunks())
                elif kinds[name].boxed:
                    column = self._column(table, name, kinds[name])
                    text = self.format == "csv"
                    columns[name] = boxed_column(column, kinds[name], text=text)
                else:
                    column = self._column(table, name, kinds[name])
                    columns[name] = from_arrow(plain_values(column, kinds[name]))
            except Misfit as misfit:
                misfits.append((name, misfit))
        if misfits:  # the first row counts, not the first attribute
            name, first = min(misfits, key=lambda found: -1 if found[1].row is None else found[1].row)
            raise self._misfit(name, chunk, first, at)
        return columns, at

    def _json_rows(self, chunk: Chunk) -> list[dict[str, Any]]:
        """Parsed by Python: Arrow's reader supports neither base64 nor the exact digits of a Decimal."""
        try:
            return _once(chunk, "json rows", lambda: json_rows(chunk.path))[chunk.start : chunk.stop]
        except ValueError as error:
            raise self._unreadable(chunk, error) from None
        except OSError as error:
            raise file_error(None, chunk.path, "jsonl", error, self.source) from None

    def _column(self, table: pa.Table, name: str, kind: AttributeType) -> pa.ChunkedArray:
        column = one_column(table, name, kind)
        if self.format not in ("csv", "jsonl") and not self.spooled:
            check_valid(column, kind)
        return column

    def _table(self, chunk: Chunk) -> tuple[pa.Table, Array | None]:
        if self.format == "arrow":
            return read_arrow(chunk.path, chunk.start, chunk.stop, self.columns, self.source), None
        if self.format != "parquet":
            format, wanted = self.format, self.tuple_type
            try:
                table = _once(chunk, wanted, lambda: parse_text(chunk.path, format, wanted))
            except pa.ArrowException as error:
                raise self._unreadable(chunk, error) from None
            except OSError as error:
                raise file_error(None, chunk.path, format, error, self.source) from None
            if len(table) != chunk.rows:
                raise self._unreadable(chunk, ValueError(f"{len(table)} rows in {chunk.rows} lines"))
            return table.slice(chunk.start, chunk.stop - chunk.start), None
        try:
            groups = read_groups(chunk, self.columns, self.tuple_type, self.wanted)
            return groups.table, groups.at
        except (pa.ArrowException, OSError) as error:
            raise file_error(None, chunk.path, self.format, error, self.source) from None

    def _unreadable(self, chunk: Chunk, error: Exception) -> InputError:
        """The error of a text file: of its first row that does not fit."""
        fault = text_fault(chunk.path, self.format, self.tuple_type, self.columns)
        return file_error(fault, chunk.path, self.format, error, self.source)

    def _misfit(self, name: str, chunk: Chunk, misfit: Misfit, at: Array | None) -> InputError:
        if misfit.row is not None and self.format in ("csv", "jsonl"):
            return self._unreadable(chunk, misfit)
        found, hint = misfit.found, misfit.hint
        if misfit.row is not None:
            found += f" in row {chunk.start + int(misfit.row if at is None else at[misfit.row])}"
            hint = may_be_missing(name, self.tuple_type.kind(name)) if misfit.found == "nothing" else SKIPPING
        return InputError(
            f"attribute {name} does not fit: {chunk.path}",
            operator=self.source,
            expected=misfit.expected,
            found=found,
            hint=hint,
        )

"""Read files in which some rows are bad, for sources with `on_error="skip"` or `"dead_letter"`.

Every row keeps its position, whether it is valid or not, so skipping one does not move the others. Rows that cannot be
counted are one row together: a file without a readable footer, the rest of a truncated Arrow stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thalweg.engine.inputs.bad_rows import Bad, FilePart, ReadableRows
from thalweg.engine.inputs.file_identity import check_unchanged
from thalweg.engine.inputs.tolerant_tables import arrow_parts, arrow_rows, parquet_parts, parquet_rows
from thalweg.engine.inputs.tolerant_text import count_text_rows, text_parts
from thalweg.engine.storage.log import Chunk, Piece
from thalweg.errors import InputError
from thalweg.ir.operators import BAD_RECORD
from thalweg.ir.types import TupleType
from thalweg.runtime.frame import Frame
from thalweg.runtime.row_functions import columns_of


@dataclass(frozen=True, slots=True)
class PieceContent:
    """The content of a piece of a file: tuples, dead letters for invalid rows, and the number of invalid rows."""

    tuples: Frame | None = None
    letters: Frame | None = None
    left_out: int = 0


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """An I/O error is an error of the run. Arrow does not always distinguish it from invalid content."""
    try:
        with open(path, "rb"):
            yield
    except OSError as error:
        raise InputError("this file cannot be read", found=f"{path}: {error.strerror or error}") from None


def count_tolerantly(path: str, format: str, tuple_type: TupleType) -> int:
    """The number of rows of a file, including bad ones."""
    with _readable(path):
        if format == "parquet":
            return parquet_rows(path)
        if format == "arrow":
            return arrow_rows(path)
        return count_text_rows(Path(path).read_bytes(), format, tuple_type)


_last_file: dict[tuple[object, ...], list[FilePart]] = {}


@dataclass(frozen=True, slots=True)
class TolerantReader:
    """Reads the live attributes of the good rows of one source's files."""

    source: str
    format: str
    on_error: str
    tuple_type: TupleType
    columns: tuple[str, ...]

    def frames(self, piece: Piece, frame_rows: int) -> Iterator[Frame]:
        for found in self.read(piece, frame_rows):
            if found.tuples is not None:
                yield found.tuples

    def read(self, piece: Piece, frame_rows: int) -> Iterator[PieceContent]:
        chunk = piece.chunk
        check_unchanged(chunk)
        for part in self._parts(chunk):
            if part.rows is not None:
                for frame in self._tuples(part.rows, piece, frame_rows):
                    yield PieceContent(tuples=frame)
            inside = [b for b in part.bad if b.start < chunk.stop and chunk.start < b.stop]
            left_out = sum(min(b.stop, chunk.stop) - max(b.start, chunk.start) for b in inside)
            # An unreadable part has one dead letter, at its first row: the chunk with this row sends it.
            first = [b for b in inside if b.start >= chunk.start]
            if left_out:
                yield PieceContent(letters=self._letters(first, piece) if first else None, left_out=left_out)

    def _tuples(self, rows: ReadableRows, piece: Piece, frame_rows: int) -> Iterator[Frame]:
        first, last = np.searchsorted(rows.at, [piece.chunk.start, piece.chunk.stop]).tolist()
        kinds = dict(self.tuple_type.attributes)
        for start in range(first, last, frame_rows):
            stop = min(start + frame_rows, last)
            columns = {name: rows.column(name, kinds[name], start, stop) for name in self.columns}
            yield Frame(rows.at[start:stop] + (piece.position - piece.chunk.start), (), columns)

    def _letters(self, bad: list[Bad], piece: Piece) -> Frame | None:
        if self.on_error != "dead_letter":
            return None
        positions = np.array([b.start for b in bad], np.int64) + (piece.position - piece.chunk.start)
        letters = [(self.source, b.reason, b.text, piece.chunk.path, b.start) for b in bad]
        return Frame(positions, (), columns_of(letters, BAD_RECORD))

    def _parts(self, chunk: Chunk) -> list[FilePart]:
        """The parts of the file that the chunk overlaps. A file is cached if the next piece continues with it."""
        wanted = (chunk.path, chunk.size, chunk.modified_ns, self.format, self.tuple_type)
        if wanted in _last_file:
            return _last_file[wanted] if chunk.stop < chunk.rows else _last_file.pop(wanted)
        with _readable(chunk.path):
            rows, parts = self._read(chunk)
        if rows != chunk.rows:
            raise InputError(
                f"{chunk.path} has a different number of rows than when it was taken",
                operator=self.source,
                expected=f"{chunk.rows} rows",
                found=f"{rows} rows",
                hint="on_error= was different then: restore it, or start over with a new --checkpoint",
            )
        _last_file.clear()
        if chunk.stop < chunk.rows and self.format != "parquet":
            _last_file[wanted] = parts
        return parts

    def _read(self, chunk: Chunk) -> tuple[int, list[FilePart]]:
        match self.format:
            case "parquet":
                return parquet_parts(chunk, self.tuple_type)
            case "arrow":
                return arrow_parts(chunk.path, self.tuple_type)
        return text_parts(Path(chunk.path).read_bytes(), self.format, self.tuple_type)

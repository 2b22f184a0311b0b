"""Reads files in which some rows are bad, for sources with `on_error="skip"` or `"dead_letter"`.

Every row keeps its position, whether it is a tuple or not, so leaving one out moves no other. What cannot be counted
is one row: a file without a readable footer, the rest of an Arrow stream that breaks off.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thalweg.engine.inputs.bad_rows import Bad, Part, Rows
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
class Found:
    """What a piece of a file holds: tuples, letters about what are none, and how many rows those are."""

    tuples: Frame | None = None
    letters: Frame | None = None
    left_out: int = 0


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """What the disk refuses is an error of the run. Arrow would not always tell it from what is in the file."""
    try:
        with open(path, "rb"):
            yield
    except OSError as error:
        raise InputError("this file cannot be read", found=f"{path}: {error.strerror or error}") from None


def count_tolerantly(path: str, format: str, tuple_type: TupleType) -> int:
    """How many rows a file has, bad ones included."""
    with _readable(path):
        if format == "parquet":
            return parquet_rows(path)
        if format == "arrow":
            return arrow_rows(path)
        return count_text_rows(Path(path).read_bytes(), format, tuple_type)


_last_file: dict[tuple[object, ...], list[Part]] = {}


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

    def read(self, piece: Piece, frame_rows: int) -> Iterator[Found]:
        chunk = piece.chunk
        check_unchanged(chunk)
        for part in self._parts(chunk):
            if part.rows is not None:
                for frame in self._tuples(part.rows, piece, frame_rows):
                    yield Found(tuples=frame)
            inside = [b for b in part.bad if b.start < chunk.stop and chunk.start < b.stop]
            left_out = sum(min(b.stop, chunk.stop) - max(b.start, chunk.start) for b in inside)
            # A part that cannot be read has one letter, at its first row: the chunk that has this row sends it.
            first = [b for b in inside if b.start >= chunk.start]
            if left_out:
                yield Found(letters=self._letters(first, piece) if first else None, left_out=left_out)

    def _tuples(self, rows: Rows, piece: Piece, frame_rows: int) -> Iterator[Frame]:
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

    def _parts(self, chunk: Chunk) -> list[Part]:
        """The parts of the file that the chunk touches. A file that the next piece goes on with stays at hand."""
        wanted = (chunk.path, chunk.size, chunk.modified_ns, self.format, self.tuple_type)
        if wanted in _last_file:
            return _last_file[wanted]
        with _readable(chunk.path):
            rows, parts = self._read(chunk)
        if rows != chunk.rows:
            raise InputError(
                f"{chunk.path} has another number of rows than when it was taken",
                operator=self.source,
                expected=f"{chunk.rows} rows",
                found=f"{rows} rows",
                hint="on_error= was another one then: put it back, or start anew with another --checkpoint",
            )
        _last_file.clear()
        if chunk.stop < chunk.rows and self.format != "parquet":
            _last_file[wanted] = parts
        return parts

    def _read(self, chunk: Chunk) -> tuple[int, list[Part]]:
        match self.format:
            case "parquet":
                return parquet_parts(chunk, self.tuple_type)
            case "arrow":
                return arrow_parts(chunk.path, self.tuple_type)
        return text_parts(Path(chunk.path).read_bytes(), self.format, self.tuple_type)

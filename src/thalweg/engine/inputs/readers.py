"""The interface of a source: its available input (`Splits`) and its tuples (`InputReader`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from thalweg.engine.inputs.file_splits import FileReader
from thalweg.engine.inputs.split_rows import SplitReader
from thalweg.engine.inputs.spool import Spool, SpoolSplits
from thalweg.engine.inputs.tolerant_files import PieceContent, TolerantReader
from thalweg.engine.storage.log import Chunk, Piece
from thalweg.errors import InternalError
from thalweg.ir.endpoints import FedByDriver, ReadAgain
from thalweg.ir.expr import Expr
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Source, StreamRef
from thalweg.ir.types import TupleType
from thalweg.runtime.frame import Frame


class Splits(Protocol):
    """The available input of one source, for the cutter."""

    @property
    def patient(self) -> bool:
        """Whether a cut waits for a full share in a run without --follow: then cuts do not depend on time."""

    @property
    def open(self) -> bool:
        """Whether more input may arrive by itself, so that a run without --follow must not end yet."""

    def look(self) -> None:
        """Find new input."""

    def take(self, limit: int) -> Iterable[Chunk]:
        """The next tuples, in order; they count as taken only after `took`."""

    def took(self, chunk: Chunk) -> None:
        """Record that this chunk is in the log, now or since an earlier run."""

    def backlog(self) -> int:
        """The number of waiting tuples."""


class InputReader(Protocol):
    """Reads the live attributes of one source, in any process."""

    @property
    def tuple_type(self) -> TupleType: ...

    def frames(self, piece: Piece, frame_rows: int) -> Iterator[Frame]:
        """The piece's tuples with their positions, in frames of at most `frame_rows`. They have a sub-position only if
        event time depends on the splits of a spool: the number of their origin."""


def read_piece(reader: InputReader, piece: Piece, frame_rows: int) -> Iterator[PieceContent]:
    """The piece's tuples, and the bad rows that a tolerant reader reports in addition."""
    if isinstance(reader, TolerantReader):
        return reader.read(piece, frame_rows)
    return (PieceContent(tuples=frame) for frame in reader.frames(piece, frame_rows))


def make_splits(source: Source, spools: Path | None) -> Splits:
    endpoint = source.endpoint
    if isinstance(endpoint, ReadAgain):
        found: Splits = endpoint.splits(source)
        return found
    if spools is None:
        raise InternalError(f"no folder for the spool of {source.name}")
    patient = not isinstance(endpoint, FedByDriver) or endpoint.patient
    return SpoolSplits(source, Spool.of(spools, source.name), patient=patient)


# The predicate of a stream's tuples that operators need; None: all of them.
Wanted = Callable[[LogicalGraph, StreamRef], Expr | None]


def readers(
    graph: LogicalGraph, live: dict[str, tuple[str, ...]], *, wanted: Wanted = lambda graph, stream: None
) -> dict[str, InputReader]:
    """The reader of each source, for its live attributes."""
    return {s.name: _reader(s, live[s.name], wanted(graph, s.output)) for s in graph.sources}


def _reader(source: Source, columns: tuple[str, ...], wanted: Expr | None) -> InputReader:
    endpoint = source.endpoint
    if isinstance(endpoint, ReadAgain):
        found: InputReader = endpoint.reader(source, columns, wanted)
        return found
    # A chunk names its own file. Rows from Spark are in Arrow's types, so that no value is pickled on the way; files
    # written by Thalweg store values as columns hold them.
    spooled = isinstance(endpoint, FedByDriver)
    rows = FileReader(source.name, "arrow", source.outputs[0], columns, spooled=spooled)
    return SplitReader(rows, source.origin) if source.origin and source.finds_splits else rows

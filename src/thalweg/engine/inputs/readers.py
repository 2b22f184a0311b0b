"""What an engine asks of a source: what is there (`Splits`), and its tuples (`InputReader`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from thalweg.engine.inputs.file_splits import Reader
from thalweg.engine.inputs.spool import Spool, SpoolSplits
from thalweg.engine.inputs.tolerant_files import Found, TolerantReader
from thalweg.engine.storage.log import Chunk, Piece
from thalweg.errors import InternalError
from thalweg.ir.endpoints import FedByDriver, ReadAgain
from thalweg.ir.expr import Expr
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Source, StreamRef
from thalweg.ir.types import TupleType
from thalweg.runtime.frame import Frame


class Splits(Protocol):
    """What one source has, as the cutter sees it."""

    @property
    def patient(self) -> bool:
        """Whether a cut of a run that nobody follows waits for a whole share: then cuts do not depend on time."""

    @property
    def open(self) -> bool:
        """Whether more may come by itself, so that a run that nobody follows must not end yet."""

    def look(self) -> None:
        """Find what is new."""

    def take(self, limit: int) -> Iterable[Chunk]:
        """The next tuples, in order; nothing is taken before `took` says so."""

    def took(self, chunk: Chunk) -> None:
        """This is in the log, now or since an earlier run."""

    def backlog(self) -> int:
        """How many tuples wait."""


class InputReader(Protocol):
    """Reads the live attributes of one source, in whatever process."""

    @property
    def tuple_type(self) -> TupleType: ...

    def frames(self, piece: Piece, frame_rows: int) -> Iterator[Frame]:
        """The piece's tuples with their positions, in frames of at most `frame_rows`."""


def read_piece(reader: InputReader, piece: Piece, frame_rows: int) -> Iterator[Found]:
    """The piece's tuples, and what a reader that tolerates bad rows says beside them."""
    if isinstance(reader, TolerantReader):
        return reader.read(piece, frame_rows)
    return (Found(tuples=frame) for frame in reader.frames(piece, frame_rows))


def make_splits(source: Source, spools: Path | None) -> Splits:
    endpoint = source.endpoint
    if isinstance(endpoint, ReadAgain):
        found: Splits = endpoint.splits(source)
        return found
    if spools is None:
        raise InternalError(f"no place for the spool of {source.name}")
    patient = not isinstance(endpoint, FedByDriver) or endpoint.patient
    return SpoolSplits(source, Spool.of(spools, source.name), patient=patient)


# Of a stream: what an operator needs of its tuples, where others may be left out.
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
    # A chunk names its file itself. Rows that Spark gave are in Arrow's own types, so that no value is pickled on its
    # way; what Thalweg stored itself is as columns carry it.
    spooled = isinstance(endpoint, FedByDriver)
    return Reader(source.name, "arrow", source.outputs[0], columns, spooled=spooled)

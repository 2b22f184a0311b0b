"""The kinds of sources: for each endpoint, who knows what is there (`Splits`) and who reads it (`InputReader`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from thalweg.analysis.source_predicates import wanted
from thalweg.engine.inputs.beacon import BeaconReader, BeaconSplits
from thalweg.engine.inputs.file_splits import FileSplits, Reader
from thalweg.engine.inputs.spool import Spool, SpoolSplits
from thalweg.engine.inputs.tolerant_files import Found, TolerantReader
from thalweg.engine.storage.log import Chunk, Piece
from thalweg.errors import InternalError
from thalweg.ir.endpoints import Beacon, Files, Items, Tcp
from thalweg.ir.expr import Expr
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Source
from thalweg.ir.row_endpoints import Kafka, SparkFormat, SparkFrame
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
    match source.endpoint:
        case Files() as files:
            return FileSplits(source, files)
        case Beacon() as beacon:
            return BeaconSplits(source, beacon)
        case Items() | Tcp() | SparkFormat() | SparkFrame() | Kafka() as spooled:
            if spools is None:
                raise InternalError(f"no place for the spool of {source.name}")
            return SpoolSplits(source, Spool.of(spools, source.name), patient=not isinstance(spooled, Tcp))


def readers(
    graph: LogicalGraph, live: dict[str, tuple[str, ...]], *, skip_unwanted: bool = False
) -> dict[str, InputReader]:
    """`skip_unwanted`: tuples that no operator can see may be left out."""
    return {s.name: _reader(s, live[s.name], wanted(graph, s.output) if skip_unwanted else None) for s in graph.sources}


def _reader(source: Source, columns: tuple[str, ...], needed: Expr | None) -> InputReader:
    match source.endpoint:
        case Beacon() as beacon:
            return BeaconReader(source.name, source.where, beacon, source.outputs[0], columns)
        case Files() as files:
            if source.on_error != "fail":  # reads everything: what nobody wants may be bad, and bad rows are counted
                return TolerantReader(source.name, files, source.outputs[0], columns)
            return Reader(source.name, files, source.outputs[0], columns, wanted=needed)
        case Items() | Tcp():
            # A chunk names its file itself.
            return Reader(source.name, Files("", "arrow"), source.outputs[0], columns, spooled=True)
        case SparkFormat() | SparkFrame() | Kafka():
            # As Spark gave them: Arrow's own types, so that no value is pickled on its way.
            return Reader(source.name, Files("", "arrow"), source.outputs[0], columns)

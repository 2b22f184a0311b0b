"""The input log: which splits were taken in which order, which rows of each, and where the epochs were cut.

The answer is a function of this log. It lies beside the checkpoint, one small file per epoch (`numbered.py` puts old
ones together), and is written before anything else happens in an epoch; whoever replays an epoch, replays this.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path

from thalweg.engine.storage.numbered_files import NumberedFiles
from thalweg.errors import CheckpointError


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows start..stop of one split (a file), as the file was when it was taken. `rows` is the whole file's count."""

    source: str
    split: int
    path: str
    start: int
    stop: int
    rows: int
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a chunk, with the position of its first tuple in the epoch."""

    chunk: Chunk
    position: int


@dataclass(frozen=True, slots=True)
class Epoch:
    """One entry: chunks by source and split. The final epoch has no chunks: it closes what is open.

    `base`: how many tuples all earlier epochs took, which is the position of this epoch's first tuple.
    """

    number: int
    chunks: tuple[Chunk, ...]
    final: bool = False
    base: int = 0

    @property
    def tuples(self) -> int:
        return sum(c.stop - c.start for c in self.chunks)

    def pieces(self) -> Iterator[Piece]:
        """The chunks with their positions. Positions count tuples, in an epoch in the order (source, split, row)."""
        position = self.base
        for chunk in self.chunks:
            yield Piece(chunk, position)
            position += chunk.stop - chunk.start

    def spread(self, parts: int) -> list[list[Piece]]:
        """Contiguous, balanced parts of the epoch, for readers that work in parallel."""
        bounds = [self.base + self.tuples * i // parts for i in range(parts + 1)]
        return [list(self.between(a, b)) for a, b in pairwise(bounds)]

    def between(self, first: int, last: int) -> Iterator[Piece]:
        """What lies at the positions first..last, the last one left out."""
        for piece in self.pieces():
            chunk = piece.chunk
            start = max(chunk.start, chunk.start + first - piece.position)
            stop = min(chunk.stop, chunk.start + last - piece.position)
            if start < stop:
                yield Piece(replace(chunk, start=start, stop=stop), piece.position + start - chunk.start)

    def as_json(self) -> str:
        chunks = [asdict(chunk) for chunk in self.chunks]
        return json.dumps({"epoch": self.number, "final": self.final, "base": self.base, "chunks": chunks})

    @staticmethod
    def from_json(text: str) -> Epoch:
        document = json.loads(text)
        chunks = tuple(Chunk(**chunk) for chunk in document["chunks"])
        return Epoch(document["epoch"], chunks, document["final"], document["base"])

    def digest(self) -> str:
        return hashlib.sha256(self.as_json().encode()).hexdigest()[:16]


class InputLog:
    """The log's files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = NumberedFiles(folder)

    def get(self, number: int) -> Epoch | None:
        found = self.files.get(number)
        return None if found is None else Epoch.from_json(found.decode())

    def __contains__(self, number: int) -> bool:
        return self.files.file(number).exists()

    def __getitem__(self, number: int) -> Epoch:
        found = self.get(number)
        if found is None:
            where = str(self.files.file(number))
            raise CheckpointError(f"epoch {number} is missing from the input log", found=where)
        return found

    def append(self, epoch: Epoch) -> None:
        """Never over an entry that is there: a process that outlived its driver may still be cutting epochs."""
        try:
            self.files.add(epoch.number, epoch.as_json().encode())
        except FileExistsError:
            raise CheckpointError(
                f"another process wrote epoch {epoch.number} of the input log",
                found=str(self.files.file(epoch.number)),
                hint="start again: the log's epoch is the one that counts",
            ) from None

    def written_at(self, number: int) -> float:
        """When the epoch was cut, in seconds since 1970; of an old one, when it was put together with others."""
        return self.files.file(number).stat().st_mtime

    @property
    def has_end(self) -> bool:
        """Whether the final epoch was cut. It is the last one, so the others need not be read."""
        last = self.files.last()
        return last is not None and Epoch.from_json(last.decode()).final

    def __iter__(self) -> Iterator[Epoch]:
        return (Epoch.from_json(line.decode()) for line in self.files.after(0))

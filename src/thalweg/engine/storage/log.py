"""The input log: which rows of which splits were taken, in which order, and where the epochs were cut.

The answer is a function of this log. It is in the checkpoint, one small file per epoch (`numbered_files.py` combines
old ones). An epoch's entry is written before anything else of the epoch, and every replay reads the same entry.
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
    """Rows start..stop of one split (a file). Rows of the whole file, its size and time are as of when it was taken."""

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
    """One entry: chunks by source and split. The final epoch has no chunks: it closes the open windows.

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
        """The chunks with their positions, which count tuples, in an epoch in the order of source, split and row."""
        position = self.base
        for chunk in self.chunks:
            yield Piece(chunk, position)
            position += chunk.stop - chunk.start

    def spread(self, parts: int) -> list[list[Piece]]:
        """Contiguous, balanced parts of the epoch, for readers that work in parallel."""
        bounds = [self.base + self.tuples * i // parts for i in range(parts + 1)]
        return [list(self.between(a, b)) for a, b in pairwise(bounds)]

    def between(self, first: int, last: int) -> Iterator[Piece]:
        """The pieces with the positions from `first` up to, but without, `last`."""
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
        """Fails if the entry exists: a process that outlived its driver may still be cutting epochs."""
        try:
            self.files.add(epoch.number, epoch.as_json().encode())
        except FileExistsError:
            raise CheckpointError(
                f"another process wrote epoch {epoch.number} of the input log",
                found=str(self.files.file(epoch.number)),
                hint="run the same command to resume from the epoch in the log",
            ) from None

    def written_at(self, number: int) -> float:
        """When the epoch was cut, in seconds since 1970; for an old epoch, when its entry was combined with others."""
        return self.files.file(number).stat().st_mtime

    @property
    def has_end(self) -> bool:
        """Whether the final epoch was cut. It is always the last entry, so only that one is read."""
        last = self.files.last()
        return last is not None and Epoch.from_json(last.decode()).final

    def __iter__(self) -> Iterator[Epoch]:
        return (Epoch.from_json(line.decode()) for line in self.files.after(0))

"""Beacons: the log records row ranges, and readers call the user function again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg.engine.storage.log import Chunk, Piece
from thalweg.errors import TupleError, Where
from thalweg.ir.operators import Source
from thalweg.ir.types import TupleType
from thalweg.ir.user_tuples import unpack
from thalweg.runtime.frame import Frame
from thalweg.runtime.pe_program import Failure
from thalweg.runtime.row_functions import columns_of

_FIRST = -1  # the rank of the source: no operator processes the tuple earlier


class BeaconSplits:
    """The progress of each shard. With a rate, the clock decides where epochs are cut, and the log records the cuts."""

    patient = False

    def __init__(self, source: Source, count: int | None, shards: int, rate_per_s: float | None) -> None:
        self.source, self.count, self.rate_per_s = source, count, rate_per_s
        self.taken = [0] * shards
        self._began: tuple[float, int] | None = None  # start time of the rate, and tuples taken by then

    def took(self, chunk: Chunk) -> None:
        self.taken[chunk.split] = chunk.stop

    def _left(self, shard: int) -> int | None:
        """None: the shard is endless."""
        if self.count is None:
            return None
        return max(0, len(range(shard, self.count, len(self.taken))) - self.taken[shard])

    @property
    def open(self) -> bool:
        return any(self._left(shard) != 0 for shard in range(len(self.taken)))

    def backlog(self) -> int:
        return sum(self._left(shard) or 0 for shard in range(len(self.taken)))

    def look(self) -> None:
        if self._began is None:
            self._began = time.monotonic(), sum(self.taken)

    def _due(self, limit: int) -> int:
        if self.rate_per_s is None or self._began is None:
            return limit
        began, before = self._began
        return min(limit, int((time.monotonic() - began) * self.rate_per_s) - (sum(self.taken) - before))

    def take(self, limit: int) -> Iterator[Chunk]:
        due = self._due(limit)
        if due <= 0:
            return
        for shard, start in enumerate(self.taken):
            left, each = self._left(shard), max(1, due // len(self.taken))
            stop = start + (each if left is None else min(each, left))
            if start < stop:
                yield Chunk(self.source.name, shard, "", start, stop, rows=stop, size=0, modified_ns=0)


class BeaconError(TupleError):
    """The function failed for one tuple. An engine keeps the failure: another channel may have found an earlier one."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(
            failure.message, operator=failure.operator, where=failure.where, at=failure.at, found=failure.row
        )
        self.failure = failure


@dataclass(frozen=True, slots=True)
class BeaconReader:
    """Generates the tuples of row ranges."""

    source: str
    where: Where
    function: Callable[[int], Any]
    shards: int
    tuple_type: TupleType
    columns: tuple[str, ...]

    def frames(self, piece: Piece, frame_rows: int) -> Iterator[Frame]:
        """A failure is raised after the frames of the tuples before it: those may cause an earlier failure."""
        chunk = piece.chunk
        for start in range(chunk.start, chunk.stop, frame_rows):
            stop = min(start + frame_rows, chunk.stop)
            made: list[tuple[Any, ...]] = []
            failure: BeaconError | None = None
            for row in range(start, stop):
                index = chunk.split + row * self.shards
                try:
                    made.append(unpack(self.function(index), self.tuple_type))
                except KeyboardInterrupt:
                    raise
                except BaseException as error:  # any exception of the user function is the tuple's failure
                    failure = self._failure(piece.position + row - chunk.start, index, error)
                    break
            if made:
                columns = columns_of(made, self.tuple_type)
                first = piece.position + start - chunk.start
                positions = np.arange(first, first + len(made))
                yield Frame(positions, (), {name: columns[name] for name in self.columns})
            if failure is not None:
                raise failure

    def _failure(self, position: int, index: int, error: BaseException) -> BeaconError:
        return BeaconError(Failure.of(error, (position,), _FIRST, self.source, self.where, f"tuple number {index}"))

"""An epoch cut into blocks of consecutive tuples, dealt in turn to the workers that read.

A worker knows where its next block begins. So behind a block it says that nothing of its will come before that: the
blocks of others need not wait for its next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from thalweg.engine.local.messages import END
from thalweg.engine.storage.log import Epoch, Piece

_LEAST = 1_024  # a smaller block costs more than it brings


def rows_per_block(epoch: Epoch, channels: int, most: int) -> int:
    """Smaller blocks in small epochs, so that every worker gets some."""
    shares = -(-epoch.tuples // (4 * channels))
    return min(most, max(_LEAST, shares))


@dataclass(frozen=True, slots=True)
class Block:
    """The tuples from `first` on, and the pulse that may follow them."""

    number: int
    first: int
    last: int  # left out
    pulse: int

    def pieces(self, epoch: Epoch) -> list[Piece]:
        return list(epoch.between(self.first, self.last))


def blocks_of(epoch: Epoch, rows: int, channel: int, readers: int) -> Iterator[Block]:
    """The blocks of one worker, in order: none, if it is not among those that read."""
    end = epoch.base + epoch.tuples
    count = -(-epoch.tuples // rows)
    for number in range(channel, count if channel < readers else 0, readers):
        first = epoch.base + number * rows
        pulse = epoch.base + (number + readers) * rows - 1 if number + readers < count else END
        yield Block(number, first, min(first + rows, end), pulse)

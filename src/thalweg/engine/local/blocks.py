"""An epoch cut into blocks of consecutive tuples, which are assigned round-robin to the workers that read.

A worker knows where its next block begins. So after each block it sends a pulse up to that position, and mergers can
release the blocks of other workers without waiting for its next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from thalweg.engine.local.messages import END
from thalweg.engine.storage.log import Epoch, Piece

_LEAST = 1_024  # tuples: a smaller block costs more than it gains


def rows_per_block(epoch: Epoch, channels: int, most: int) -> int:
    """The number of tuples per block: fewer in small epochs, so that every worker gets blocks."""
    shares = -(-epoch.tuples // (4 * channels))
    return min(most, max(_LEAST, shares))


@dataclass(frozen=True, slots=True)
class Block:
    """The tuples from `first` up to, but without, `last`, and the pulse to send after them."""

    number: int
    first: int
    last: int
    pulse: int

    def pieces(self, epoch: Epoch) -> list[Piece]:
        return list(epoch.between(self.first, self.last))


def blocks_of(epoch: Epoch, rows: int, channel: int, readers: int) -> Iterator[Block]:
    """The blocks of one worker, in order; none if it is not one of the readers."""
    end = epoch.base + epoch.tuples
    count = -(-epoch.tuples // rows)
    for number in range(channel, count if channel < readers else 0, readers):
        first = epoch.base + number * rows
        pulse = epoch.base + (number + readers) * rows - 1 if number + readers < count else END
        yield Block(number, first, min(first + rows, end), pulse)

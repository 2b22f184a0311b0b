"""Origins: where tuples come from, as numbers in order keys.

An entry has its own numbers (`lang/combine_origins.py`). Some sources find their concurrent splits only while they run:
the partitions of a topic, to which others may be added. Then the number also contains the split of the tuple and how
many others were known when it was read, so that event time waits for those that have no tuple yet.
"""

from __future__ import annotations

from typing import NamedTuple

_BITS = 21  # three numbers in 63 bits
MOST_SPLITS = 1 << _BITS


class OriginNumber(NamedTuple):
    """The parts of a number. `others`: how many splits were known in addition to this one, whatever their numbers."""

    entry: int
    split: int
    others: int


def split_number(split: int, others: int) -> int:
    """What the number of an entry is increased by. Zero: a single split."""
    return (split << 2 * _BITS) + (others << _BITS)


def origin_parts(number: int) -> OriginNumber:
    rest = number >> _BITS
    return OriginNumber(number % MOST_SPLITS, rest >> _BITS, rest % MOST_SPLITS)

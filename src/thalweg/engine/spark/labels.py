"""Channel labels: the values that Spark hashes, chosen so that every channel gets its own partition.

Spark sends label x to partition murmur3(x) mod n. With two channels, the labels 0 and 1 are sent to the same partition.
So labels are searched for when the run is created, and kept in the manifest.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFF


def balanced_labels(channels: int) -> tuple[int, ...]:
    """The smallest label for each of the partitions 0..channels-1."""
    labels: dict[int, int] = {}
    candidate = 0
    while len(labels) < channels:
        labels.setdefault(partition_of(candidate, channels), candidate)
        candidate += 1
    return tuple(labels[partition] for partition in range(channels))


def partition_of(label: int, partitions: int) -> int:
    """The partition to which Spark's hash partitioning sends a value of an int column."""
    return _signed(_murmur3(label & _MASK, 42)) % partitions


def _murmur3(value: int, seed: int) -> int:
    """Murmur3_x86_32 of one 32-bit int, as in Spark's `hash`."""
    k = _rotate(value * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    h = (_rotate(seed ^ k, 13) * 5 + 0xE6546B64) & _MASK
    h ^= 4
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    return h ^ h >> 16


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _MASK


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value

"""Buckets of state in memory: what an epoch writes is kept separate until the epoch is complete."""

from __future__ import annotations

Buckets = dict[int, bytes]


class EpochBuckets:
    """The buckets of one channel of one stage."""

    def __init__(self, committed: Buckets) -> None:
        self.committed, self.written = committed, Buckets()

    def get(self, bucket: int) -> bytes | None:
        return self.committed.get(bucket)

    def put(self, bucket: int, data: bytes) -> None:
        self.written[bucket] = data

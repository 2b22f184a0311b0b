"""A bucket store in memory that remembers what was written."""

from __future__ import annotations


class DictStore:
    def __init__(self) -> None:
        self.data: dict[int, bytes] = {}
        self.written: list[int] = []
        self.read: list[int] = []

    def get(self, bucket: int) -> bytes | None:
        self.read.append(bucket)
        return self.data.get(bucket)

    def put(self, bucket: int, data: bytes) -> None:
        self.written.append(bucket)
        self.data[bucket] = data

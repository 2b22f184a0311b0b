"""The keys of an operator that have something to do at a mark: an index by the time when it is due.

So a mark costs what is due, not the number of keys.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from thalweg.ir.library_logic import LibraryLogic
from thalweg.ir.logic import wakes_at
from thalweg.ir.types import INT64_MIN

if TYPE_CHECKING:
    from thalweg.runtime.records import KeyRecord


class DueKeys:
    """A heap of times. An entry is ignored if the key has been noted with a different time since."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, KeyRecord]] = []
        self._number = count()
        self._always: dict[KeyRecord, None] = {}  # those that act at every mark

    def note(self, record: KeyRecord) -> None:
        """Note when a key is due. To be called after each call of its code."""
        due = record.logic.due if isinstance(record.logic, LibraryLogic) else wakes_at(record.logic)
        if due != record.due:
            self._set(record, due)

    def remove(self, record: KeyRecord) -> None:
        self._set(record, None)

    def take(self, time: int) -> list[KeyRecord]:
        """The keys that are due at this mark, in their order. Each must be noted again or removed."""
        found = list(self._always)
        while self._heap and self._heap[0][0] <= time:
            due, _, record = heappop(self._heap)
            if record.due == due:
                record.due = None
                found.append(record)
        return sorted(found, key=lambda record: record.rank)

    def _set(self, record: KeyRecord, due: int | None) -> None:
        if record.due == INT64_MIN:
            del self._always[record]
        record.due = due
        if due == INT64_MIN:
            self._always[record] = None
        elif due is not None:
            heappush(self._heap, (due, next(self._number), record))

"""The data structures of mergers: the queues of the channels with the next-heap, and the seen-heap."""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush, heapreplace

import numpy as np

from thalweg.runtime.columns import Array
from thalweg.runtime.frame import Frame
from thalweg.runtime.merge_frames import merge

STRETCH = 16  # the search for a gap examines at least this many numbers at a time


class Queues:
    """The frames of each channel that are not released yet; the fronts of the queues are in the next-heap."""

    def __init__(self, channels: int) -> None:
        self.queues: list[deque[Frame]] = [deque() for _ in range(channels)]
        self.fronts: list[tuple[int, int]] = []  # the next-heap: (least number, channel) of every queue with a frame
        self.held = self.most_held = 0

    def push(self, channel: int, frame: Frame) -> None:
        if not self.queues[channel]:
            heappush(self.fronts, (int(frame.position[0]), channel))
        self.queues[channel].append(frame)
        self.held += len(frame)
        self.most_held = max(self.most_held, self.held)

    def up_to(self, bound: int) -> Frame | None:
        """All tuples with numbers up to the bound, merged."""
        taken: list[Frame] = []
        while self.fronts and self.fronts[0][0] <= bound:
            channel = self.fronts[0][1]
            queue = self.queues[channel]
            frame = queue.popleft()
            whole = frame.position[-1] <= bound
            cut = len(frame) if whole else int(np.searchsorted(frame.position, bound, side="right"))
            taken.append(frame if cut == len(frame) else frame.window(0, cut))
            if cut < len(frame):
                queue.appendleft(frame.window(cut, len(frame)))
            if queue:
                heapreplace(self.fronts, (int(queue[0].position[0]), channel))
            else:
                heappop(self.fronts)
        self.held -= sum(map(len, taken))
        return taken[0] if len(taken) == 1 else merge(taken)

    def without_gap(self, last: int) -> int:
        """The greatest number such that every number after `last` up to it has arrived. The cost depends on the
        tuples up to that number, not on those held back after it."""
        if not self.fronts or self.fronts[0][0] != last + 1:
            return last
        fronts, passed = self.fronts.copy(), [0] * len(self.queues)
        while fronts and fronts[0][0] == last + 1:  # consecutive frames without gaps inside: no need to sort
            first, channel = fronts[0]
            frame = self.queues[channel][passed[channel]]
            newest = int(frame.position[-1])
            if newest - first + 1 != len(frame) or (frame.position[1:] == frame.position[:-1]).any():
                return self._sorted_without_gap(last)
            last = newest
            passed[channel] += 1
            if passed[channel] < len(self.queues[channel]):
                heapreplace(fronts, (int(self.queues[channel][passed[channel]].position[0]), channel))
            else:
                heappop(fronts)
        return last

    def _sorted_without_gap(self, last: int) -> int:
        """The same if the numbers of the channels interleave: by stretches, each twice as long as the one before."""
        stretch = max(STRETCH, len(self.queues) * len(self.queues[self.fronts[0][1]][0]))
        while True:
            numbers = self._numbers(last, last + stretch)
            gaps = np.flatnonzero(numbers != last + 1 + np.arange(len(numbers)))
            last += int(gaps[0]) if len(gaps) else len(numbers)
            if len(gaps) or len(numbers) < stretch:
                return last
            stretch *= 2

    def _numbers(self, low: int, high: int) -> Array:
        """The numbers after `low` and up to `high` that have arrived. Tuples of one position share its number."""
        found: list[Array] = []
        for queue in self.queues:
            for frame in queue:
                if frame.position[0] > high:
                    break
                if frame.position[0] > low and frame.position[-1] <= high:
                    found.append(frame.position)
                elif frame.position[-1] > low:
                    start, stop = np.searchsorted(frame.position, (low, high), side="right")
                    found.append(frame.position[start:stop])
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


class Seen:
    """The seen-heap: the newest number of each channel, and the smallest of them, which all channels have reached."""

    def __init__(self, channels: int, last: int) -> None:
        self.numbers = [last] * channels
        self.backs = [(last, channel) for channel in range(channels)]  # an entry may be out of date
        heapify(self.backs)

    def saw(self, channel: int, number: int) -> None:
        self.numbers[channel] = max(self.numbers[channel], number)

    @property
    def least(self) -> int:
        """The top of the heap, after outdated entries are replaced."""
        while self.backs[0][0] != self.numbers[self.backs[0][1]]:
            channel = self.backs[0][1]
            heapreplace(self.backs, (self.numbers[channel], channel))
        return self.backs[0][0]

"""Mergers: merge the tuples of several channels into one stream, in order, as early as the strategy allows.

A merger is not a sort. It takes the items that a channel sends (frames, whose numbers ascend, and pulses), holds back
those that cannot be released yet, and releases the rest immediately. Numbers are positions. The strategy decides what
can be released:

- round-robin: the splitter sent complete frames in turn, and every frame comes back; frames are released in turn.
- numbers: every number comes back exactly once, so the merger waits for `last + 1`.
- numbers and pulses: numbers may be missing. A channel's numbers ascend, so a channel sends nothing more at or below
  its newest number; everything at or below the smallest of these, over all channels, can be released.
- none: no operator depends on the order; everything is released immediately.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from thalweg.runtime.frame import Frame
from thalweg.runtime.merge_frames import merge
from thalweg.runtime.ordering.queues import Queues, Seen


@dataclass(frozen=True, slots=True)
class Pulse:
    """Everything of the stream up to this position has been sent."""

    position: int


Item = Frame | Pulse


class Merger(Protocol):
    """The interface of a merger of channels."""

    @property
    def held(self) -> int:
        """The number of tuples that cannot be released yet."""

    @property
    def most_held(self) -> int:
        """The maximum of `held` so far."""

    def arrive(self, channel: int, item: Item) -> list[Item]:
        """Take an item of a channel; the items that can be released now."""

    def end(self) -> list[Item]:
        """The items that are left when all channels have ended."""


class RoundRobin:
    """Releases frames in turn, channel by channel."""

    def __init__(self, channels: int) -> None:
        self.queues: list[deque[Frame]] = [deque() for _ in range(channels)]
        self.next = 0
        self.held = self.most_held = 0

    def arrive(self, channel: int, item: Item) -> list[Item]:
        if isinstance(item, Pulse):
            return []  # the order of turns is sufficient
        self.queues[channel].append(item)
        self.held += len(item)
        self.most_held = max(self.most_held, self.held)
        out: list[Item] = []
        while self.queues[self.next]:
            frame = self.queues[self.next].popleft()
            self.held -= len(frame)
            out.append(frame)
            self.next = (self.next + 1) % len(self.queues)
        return out

    def end(self) -> list[Item]:
        """Wherever in a round the splitter stopped, nothing is left."""
        assert not self.held
        return []


class Numbers:
    """Every number comes exactly once: the merger waits for `last + 1`."""

    def __init__(self, channels: int, last: int = -1) -> None:
        self.waiting = Queues(channels)
        self.last = last

    @property
    def held(self) -> int:
        return self.waiting.held

    @property
    def most_held(self) -> int:
        return self.waiting.most_held

    def arrive(self, channel: int, item: Item) -> list[Item]:
        if isinstance(item, Pulse):
            return []
        if len(item):
            self.waiting.push(channel, item)
        bound = self.waiting.without_gap(self.last)
        if bound == self.last:
            return []
        self.last = bound
        frame = self.waiting.up_to(bound)
        return [] if frame is None else [frame]

    def end(self) -> list[Item]:
        assert not self.held
        return []


class NumbersAndPulses:
    """Numbers may be missing: nothing more comes at or below the smallest of the channels' newest numbers (seen-heap).

    `forwards`: a merger inside a shuffle forwards each pulse once, after the tuples up to it.
    `shared`: consecutive tuples of a channel may have the same number, also across frames; then the newest number of a
    channel is complete only when a greater one, or a pulse, is seen.
    """

    def __init__(self, channels: int, last: int = -1, *, forwards: bool = False, shared: bool = False) -> None:
        self.waiting = Queues(channels)
        self.seen = Seen(channels, last)
        self.channels = channels
        self.last, self.forwards, self.shared = last, forwards, shared
        self.pulses: dict[int, int] = {}  # position to the number of channels that sent it

    @property
    def held(self) -> int:
        return self.waiting.held

    @property
    def most_held(self) -> int:
        return self.waiting.most_held

    def arrive(self, channel: int, item: Item) -> list[Item]:
        if isinstance(item, Pulse):
            self.seen.saw(channel, item.position)
            self.pulses[item.position] = self.pulses.get(item.position, 0) + 1
        elif len(item):
            self.waiting.push(channel, item)
            newest = int(item.position[-1])
            self.seen.saw(channel, newest - 1 if self.shared else newest)
        return self._release(self.seen.least)

    def _release(self, proven: int) -> list[Item]:
        self.last = max(self.last, proven)
        out: list[Item] = []
        if self.forwards:
            for position in sorted(p for p, count in self.pulses.items() if count == self.channels and p <= proven):
                out += self._frames(position)
                out.append(Pulse(position))
                del self.pulses[position]
        else:
            self.pulses.clear()
        out += self._frames(self.last)
        if not self.shared:  # numbers after the last one without a gap can be released too, whatever was seen
            self.last = self.waiting.without_gap(self.last)
            out += self._frames(self.last)
        return out

    def _frames(self, bound: int) -> list[Item]:
        frame = self.waiting.up_to(bound)
        return [] if frame is None else [frame]

    def end(self) -> list[Item]:
        out = self._release(max([self.last, *(int(q[-1].position[-1]) for q in self.waiting.queues if q)]))
        assert not self.held
        return out


class Unordered:
    """Releases every frame immediately, in arrival order."""

    held = most_held = 0

    def arrive(self, channel: int, item: Item) -> list[Item]:
        return [] if isinstance(item, Pulse) else [item]

    def end(self) -> list[Item]:
        return []


def merged(items: Sequence[Item]) -> Frame | None:
    """The tuples of released items in one frame."""
    return merge([item for item in items if isinstance(item, Frame)])

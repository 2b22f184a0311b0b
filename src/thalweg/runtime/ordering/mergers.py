"""Mergers: the tuples of several channels back into one stream, in order, as soon as a rule allows it.

A merger is not a sort. It takes what a channel sends (frames, whose numbers ascend, and pulses), holds back what cannot
go yet, and gives the rest at once. Numbers are positions. What may go is decided by the strategy:

- round-robin: the splitter dealt whole frames in turn, and every frame comes back; frames go in turn.
- numbers: every number comes back exactly once, so `last + 1` is what is waited for.
- numbers and pulses: numbers may be missing. A channel's numbers ascend, so nothing at or below the newest number of a
  channel is still to come from it; what lies at or below the least of these, over all channels, can go.
- none: nobody looks at the order; everything goes at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from thalweg.runtime.frame import Frame
from thalweg.runtime.order import merge
from thalweg.runtime.ordering.queues import Queues, Seen


@dataclass(frozen=True, slots=True)
class Pulse:
    """Everything of the stream up to this position has been sent."""

    position: int


Item = Frame | Pulse


class Merger(Protocol):
    """What stands where channels meet."""

    @property
    def held(self) -> int:
        """How many tuples cannot go yet."""

    @property
    def most_held(self) -> int:
        """The most there ever were."""

    def arrive(self, channel: int, item: Item) -> list[Item]:
        """What can go now that this has arrived."""

    def end(self) -> list[Item]:
        """What is left when all channels have ended."""


class RoundRobin:
    """Frames go in turn, channel after channel."""

    def __init__(self, channels: int) -> None:
        self.queues: list[deque[Frame]] = [deque() for _ in range(channels)]
        self.next = 0
        self.held = self.most_held = 0

    def arrive(self, channel: int, item: Item) -> list[Item]:
        if isinstance(item, Pulse):
            return []  # turns say enough
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
        """The splitter stopped somewhere in a round, so nothing is left."""
        assert not self.held
        return []


class Numbers:
    """Every number comes exactly once: `last + 1` is what is waited for."""

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
    """Numbers may be missing: the least of the channels' newest numbers, on the seen-heap, says what is never coming.

    `forwards`: a merger inside a shuffle passes each pulse on, once, behind what it proves.
    `shared`: several tuples of a channel, one behind the other, may have the same number, also across frames; then the
    newest number of a channel is finished only when a greater one, or a pulse, is seen.
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
        if not self.shared:  # what follows the last number without a gap may go, too, whatever other channels have seen
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
    """Nobody looks at the order."""

    held = most_held = 0

    def arrive(self, channel: int, item: Item) -> list[Item]:
        return [] if isinstance(item, Pulse) else [item]

    def end(self) -> list[Item]:
        return []


def merged(items: Sequence[Item]) -> Frame | None:
    """The tuples of released items, one behind the other."""
    return merge([item for item in items if isinstance(item, Frame)])

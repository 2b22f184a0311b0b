"""The merger in front of a PE with state: all wires of its exchange at once.

An operator with several inputs needs the tuples of one position together, whichever wires bring them. So the wires
share one seen-heap: a pulse says how far a channel is on all of its wires, and what goes is cut at one position. It is
numbers and pulses; a shuffle can use nothing less, because behind it a channel sees only some numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thalweg.runtime.frame import Frame
from thalweg.runtime.ordering.mergers import Pulse
from thalweg.runtime.ordering.queues import Queues, Seen


@dataclass(frozen=True, slots=True)
class Slice:
    """The tuples behind the slice before, up to the pulse: a frame of each wire that has some, and the one copy of the
    pulse that goes on behind them."""

    frames: Mapping[int, Frame]
    pulse: Pulse


class WiresMerger:
    """Holds back what arrives until all channels have sent a pulse for it."""

    def __init__(self, channels: int, last: int) -> None:
        self.channels = channels
        self.waiting: dict[int, Queues] = {}  # by wire
        self.seen = Seen(channels, last)
        self.last = last
        self.held = self.most_held = 0

    def arrive(self, channel: int, frames: Mapping[int, Frame], pulse: Pulse) -> None:
        """A channel's tuples up to the pulse: on each wire behind those that it sent before."""
        for wire, frame in frames.items():
            if len(frame):
                self.waiting.setdefault(wire, Queues(self.channels)).push(channel, frame)
                self.held += len(frame)
        self.most_held = max(self.most_held, self.held)
        self.seen.saw(channel, pulse.position)

    @property
    def ready(self) -> bool:
        """Whether `take` would move on."""
        return self.seen.least > self.last

    def take(self) -> Slice:
        """All that can go. Whoever is slower than the channels gets larger slices, not more of them."""
        self.last = self.seen.least
        found = {wire: queues.up_to(self.last) for wire, queues in sorted(self.waiting.items())}
        frames = {wire: frame for wire, frame in found.items() if frame is not None}
        self.held -= sum(map(len, frames.values()))
        return Slice(frames, Pulse(self.last))

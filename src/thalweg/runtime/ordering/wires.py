"""The merger before a PE with state: all wires of its exchange together.

An operator with several inputs needs the tuples of one position together, whichever wires they arrive on. So the wires
share one seen-heap: a pulse gives the progress of a channel on all of its wires, and all wires are cut at one position.
The strategy is numbers and pulses: a shuffle requires it, because after a shuffle a channel sees only some numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thalweg.runtime.frame import Frame
from thalweg.runtime.ordering.mergers import Pulse
from thalweg.runtime.ordering.queues import Queues, Seen


@dataclass(frozen=True, slots=True)
class Slice:
    """The tuples after the previous slice, up to the pulse: a frame of each wire that has any, and the single copy of
    the pulse, which is forwarded after them."""

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
        """Take a channel's tuples up to the pulse; on each wire they come after those that it sent before."""
        for wire, frame in frames.items():
            if len(frame):
                self.waiting.setdefault(wire, Queues(self.channels)).push(channel, frame)
                self.held += len(frame)
        self.most_held = max(self.most_held, self.held)
        self.seen.saw(channel, pulse.position)

    @property
    def ready(self) -> bool:
        """Whether `take` would advance."""
        return self.seen.least > self.last

    def take(self) -> Slice:
        """Release all that is ready. A PE that is slower than the channels gets larger slices, not more of them."""
        self.last = self.seen.least
        found = {wire: queues.up_to(self.last) for wire, queues in sorted(self.waiting.items())}
        frames = {wire: frame for wire, frame in found.items() if frame is not None}
        self.held -= sum(map(len, frames.values()))
        return Slice(frames, Pulse(self.last))

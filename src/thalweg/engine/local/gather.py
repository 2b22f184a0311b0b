"""The driver's part of an epoch, as a machine that messages drive: merges for the sinks, and says how far to go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from thalweg.engine.core.stage_programs import Passed, first_failure
from thalweg.engine.local.messages import END, Begin, Delivery, Done, Go, Sent
from thalweg.runtime.frame import Frame
from thalweg.runtime.merge_frames import gather
from thalweg.runtime.ordering.mergers import Item, Merger, Pulse, Unordered
from thalweg.runtime.ordering.queues import Seen


@dataclass(slots=True)
class Gather:
    """One epoch at the driver. `mergers`: by sink wire. At most `window` blocks are on their way at any time, which
    bounds what can wait in front of any merger. The least of them can always go on, whatever waits."""

    begun: Begin
    channels: int
    window: int
    mergers: Mapping[int, Merger]
    out: dict[int, list[Item]] = field(default_factory=dict)
    done: list[Done] = field(default_factory=list)
    through: int = 0  # blocks that all channels are through with
    seen: Seen = field(init=False)

    def __post_init__(self) -> None:
        self.seen = Seen(self.channels, self.begun.first - 1)

    def receive(self, message: Delivery | Done) -> list[Sent]:
        if isinstance(message, Done):
            self.done.append(message)
            return []
        for wire, merger in self.mergers.items():
            released = self.out.setdefault(wire, [])
            if wire in message.frames:
                released += merger.arrive(message.sender, message.frames[wire])
            released += merger.arrive(message.sender, Pulse(message.pulse))
        self.seen.saw(message.sender, message.pulse)
        return self._go_on()

    def _go_on(self) -> list[Sent]:
        least = self.seen.least
        through = (least - self.begun.epoch.base + 1) // self.begun.rows if least < END else self.through
        if through <= self.through:
            return []
        self.through = through
        return [(channel, Go(self.begun.round, through + self.window)) for channel in range(self.channels)]

    @property
    def whole(self) -> bool:
        return len(self.done) == self.channels

    def check(self) -> Passed:
        """What was counted. Raises what went wrong: errors as an engine that runs stage by stage would meet them, then
        the failure that the reference would meet."""
        troubles = [trouble for done in self.done for trouble in done.troubles]
        if troubles:
            raise min(troubles, key=lambda trouble: trouble.place).error
        passed = Passed([failure for done in self.done for failure in done.failures])
        if (failure := first_failure(passed.failures)) is not None:
            raise failure
        for done in self.done:
            passed.counts.add(done.counts)
        return passed

    def sinks(self) -> dict[int, Frame | None]:
        """What each sink wire carried. In order already: then merging is putting one behind the other."""
        found: dict[int, Frame | None] = {}
        for wire, merger in self.mergers.items():
            items = [*self.out.get(wire, []), *merger.end()]
            frames = [item for item in items if isinstance(item, Frame)]
            found[wire] = gather(frames, ordered=not isinstance(merger, Unordered))
        return found

    def most_held(self) -> dict[str, int]:
        """By joint: the most tuples that its merger held, in any channel."""
        held: dict[str, int] = {}
        for done in self.done:
            for stage, tuples in done.most_held.items():
                name = f"stage {stage}"
                held[name] = max(held.get(name, 0), tuples)
        return held | {f"wire {wire}": merger.most_held for wire, merger in self.mergers.items()}

"""The driver's part of an epoch, as a state machine: merges the tuples of sinks and limits how far workers may read."""

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
    """One epoch in the driver. `mergers`: by sink wire. At most `window` blocks are in progress at any time, which
    bounds the tuples that wait in mergers. The first of these blocks never has to wait for another."""

    begun: Begin
    channels: int
    window: int
    mergers: Mapping[int, Merger]
    out: dict[int, list[Item]] = field(default_factory=dict)
    done: list[Done] = field(default_factory=list)
    through: int = 0  # blocks that all channels have finished
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
        return self._advance()

    def _advance(self) -> list[Sent]:
        least = self.seen.least
        through = (least - self.begun.epoch.base + 1) // self.begun.rows if least < END else self.through
        if through <= self.through:
            return []
        self.through = through
        return [(channel, Go(self.begun.round, through + self.window)) for channel in range(self.channels)]

    @property
    def complete(self) -> bool:
        return len(self.done) == self.channels

    def check(self) -> Passed:
        """The counts. Raises the first error that an engine which runs stage by stage would raise; otherwise the first
        failure in the order of the reference."""
        errors = [error for done in self.done for error in done.errors]
        if errors:
            raise min(errors, key=lambda found: found.place).error
        passed = Passed([failure for done in self.done for failure in done.failures])
        if (failure := first_failure(passed.failures)) is not None:
            raise failure
        for done in self.done:
            passed.counts.add(done.counts)
        return passed

    def sinks(self) -> dict[int, Frame | None]:
        """The tuples of each sink wire. The mergers have ordered them, so the frames are only concatenated."""
        found: dict[int, Frame | None] = {}
        for wire, merger in self.mergers.items():
            items = [*self.out.get(wire, []), *merger.end()]
            frames = [item for item in items if isinstance(item, Frame)]
            found[wire] = gather(frames, ordered=not isinstance(merger, Unordered))
        return found

    def most_held(self) -> dict[str, int]:
        """By joint: the largest number of tuples that its merger held, in any channel."""
        held: dict[str, int] = {}
        for done in self.done:
            for stage, tuples in done.most_held.items():
                name = f"stage {stage}"
                held[name] = max(held.get(name, 0), tuples)
        return held | {f"wire {wire}": merger.most_held for wire, merger in self.mergers.items()}

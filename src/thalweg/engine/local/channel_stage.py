"""One stage behind an exchange, on one channel, during one epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from thalweg.engine.core.stage_programs import Parcel, Passed, run_stateless_pe, sent
from thalweg.engine.local.buckets import Buckets, EpochBuckets
from thalweg.engine.local.messages import END, Part
from thalweg.runtime.container import Container
from thalweg.runtime.frame import Frame
from thalweg.runtime.order import merge
from thalweg.runtime.ordering.mergers import Pulse
from thalweg.runtime.ordering.wires import WiresMerger
from thalweg.runtime.program import Program

AtWork = Callable[[Program | None], None]  # told which PE runs, and None when it has


class StageRun:
    """The merger, the PE with state over slice after slice, then the PEs without.

    The final epoch is not run slice by slice: what operators say at the end comes between tuples that are on their way.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        channel: int,
        merger: WiresMerger,
        committed: Buckets,
        passed: Passed,
        end: int | None,
        at_work: AtWork,
    ) -> None:
        self.first, *self.others = programs
        self.channel, self.merger, self.passed, self.end = channel, merger, passed, end
        self.store = EpochBuckets(committed)
        self.at_work = at_work
        self.container: Container | None = None
        self.broken = False

    def arrive(self, part: Part) -> None:
        self.merger.arrive(part.sender, part.frames, Pulse(part.pulse))

    @property
    def ready(self) -> bool:
        least = self.merger.seen.least
        return self.merger.ready and (self.end is None or least == END)

    def run(self) -> tuple[list[Parcel], int]:
        """What the stage makes of all that can go, and the pulse behind it."""
        slice = self.merger.take()
        if self.broken:
            return [], slice.pulse.position
        found = [Parcel(self.channel, w, frame) for w, frame in slice.frames.items() if w in self.first.forwards]
        consumed = {w: frame for w, frame in slice.frames.items() if w in self.first.consumes}
        is_end = slice.pulse.position == END
        if consumed or (is_end and (self.container is not None or self.end is not None)):
            found += self._run_first(consumed, is_end)
        return self._run_others(found), slice.pulse.position

    def _run_first(self, consumed: Mapping[int, Frame], is_end: bool) -> list[Parcel]:
        self.at_work(self.first)
        with self.passed.counts.of_pe(self.first.name).working():
            if self.container is None:
                self.container = Container(self.first, self.store)
            if consumed or self.end is not None:
                self.container.run_part(consumed, self.end)
            if is_end:
                self.container.commit()
        self.at_work(None)
        return list(sent(self.container.taken(), self.channel, self.passed))

    def _run_others(self, parcels: list[Parcel]) -> list[Parcel]:
        return run_in_turn(self.others, parcels, self.passed, self.at_work)


def run_in_turn(programs: Sequence[Program], parcels: list[Parcel], passed: Passed, at_work: AtWork) -> list[Parcel]:
    """PEs without state, one after the other: when a process dies, it is known in which."""
    for program in programs:
        at_work(program)
        parcels = list(run_stateless_pe(program, parcels, passed))
        at_work(None)
    return parcels


def by_channel(parcels: Sequence[Parcel], channels: int) -> list[dict[int, Frame]]:
    """For each channel one frame per wire. Merged, because PEs run frame by frame: what two frames of one stretch of
    positions became may lie in any order, and mergers want a channel's tuples in theirs."""
    found: list[dict[int, list[Frame]]] = [{} for _ in range(channels)]
    for parcel in parcels:
        found[parcel.channel].setdefault(parcel.wire, []).append(parcel.frame)
    merged = ({wire: merge(frames) for wire, frames in wires.items()} for wires in found)
    return [{wire: frame for wire, frame in wires.items() if frame is not None} for wires in merged]

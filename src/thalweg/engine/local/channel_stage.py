"""One stage after an exchange, on one channel, during one epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from thalweg.engine.core.stage_programs import Parcel, Passed, run_stateless_pe, sent
from thalweg.engine.local.buckets import Buckets, EpochBuckets
from thalweg.engine.local.messages import END, Delivery
from thalweg.runtime.frame import Frame
from thalweg.runtime.merge_frames import merge
from thalweg.runtime.ordering.mergers import Pulse
from thalweg.runtime.ordering.wires import WiresMerger
from thalweg.runtime.pe import PE
from thalweg.runtime.pe_program import Output, Program
from thalweg.runtime.state import State

AtWork = Callable[[Program | None], None]  # called with the program that starts, and with None when it has finished


class StageRun:
    """The merger, then the PE with state, slice by slice, then the PEs without state.

    The final epoch is not run slice by slice: tuples that operators emit at the end may come between tuples that have
    not arrived yet.
    """

    def __init__(
        self,
        pes: Sequence[PE],
        merger: WiresMerger,
        committed: Buckets,
        passed: Passed,
        epoch: int,
        end: int | None,
        at_work: AtWork,
    ) -> None:
        self.first, *self.others = pes
        self.merger, self.passed, self.epoch, self.end = merger, passed, epoch, end
        self.store = EpochBuckets(committed)
        self.at_work = at_work
        self.state: State | None = None  # opened when there are tuples to process
        self.broken = False

    def arrive(self, part: Delivery) -> None:
        self.merger.arrive(part.sender, part.frames, Pulse(part.pulse))

    @property
    def ready(self) -> bool:
        least = self.merger.seen.least
        return self.merger.ready and (self.end is None or least == END)

    def run(self) -> tuple[list[Parcel], int]:
        """Run the stage on all tuples that the merger can release. Returns its output and the pulse after it."""
        slice = self.merger.take()
        if self.broken:
            return [], slice.pulse.position
        program, channel = self.first.program, self.first.channel
        found = [Parcel(channel, w, frame) for w, frame in slice.frames.items() if w in program.forwards]
        consumed = {w: frame for w, frame in slice.frames.items() if w in program.consumes}
        is_end = slice.pulse.position == END
        if consumed or (is_end and (self.state is not None or self.end is not None)):
            found += self._run_first(consumed, is_end)
        return run_in_turn(self.others, found, self.passed, self.at_work), slice.pulse.position

    def _run_first(self, consumed: Mapping[int, Frame], is_end: bool) -> list[Parcel]:
        pe, outputs = self.first, list[Output]()
        self.at_work(pe.program)
        with self.passed.counts.of_pe(pe.program.id).working():
            if self.state is None:
                self.state = pe.open_state(self.store, self.epoch)
            if consumed or self.end is not None:
                outputs = pe.run_merged(consumed, self.state, self.end)
            if is_end:
                self.state.commit()
        self.at_work(None)
        return [parcel for output in outputs for parcel in sent(output, pe.channel, self.passed)]


def run_in_turn(pes: Sequence[PE], parcels: list[Parcel], passed: Passed, at_work: AtWork) -> list[Parcel]:
    """Run PEs without state one after the other, so that it is known in which one a process died."""
    for pe in pes:
        at_work(pe.program)
        parcels = list(run_stateless_pe(pe, parcels, passed))
        at_work(None)
    return parcels


def by_channel(parcels: Sequence[Parcel], channels: int) -> list[dict[int, Frame]]:
    """For each channel one frame per wire. The frames are merged because mergers need a channel's tuples in order, but
    PEs run frame by frame: the outputs of two frames may have overlapping positions."""
    found: list[dict[int, list[Frame]]] = [{} for _ in range(channels)]
    for parcel in parcels:
        found[parcel.channel].setdefault(parcel.wire, []).append(parcel.frame)
    merged = ({wire: merge(frames) for wire, frames in wires.items()} for wires in found)
    return [{wire: frame for wire, frame in wires.items() if frame is not None} for wires in merged]

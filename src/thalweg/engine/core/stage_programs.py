"""How the PEs of a stage are run in every engine; only transport and state storage differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from thalweg.engine.inputs.beacon_reader import BeaconError
from thalweg.engine.inputs.readers import InputReader, read_piece
from thalweg.engine.storage.log import Piece
from thalweg.errors import TupleError
from thalweg.ir.operators import Feedback, Source
from thalweg.runtime.frame import Frame, decode, encode
from thalweg.runtime.merge_frames import merge
from thalweg.runtime.pe import PE
from thalweg.runtime.pe_counts import Counts
from thalweg.runtime.pe_program import Failure, Output
from thalweg.runtime.state import BucketStore
from thalweg.runtime.turn import Turn


@dataclass(frozen=True, slots=True)
class Parcel:
    """A frame in transit, with its channel and wire. A PE that only forwards it does not decode it."""

    channel: int
    wire: int
    content: Frame | bytes

    @property
    def frame(self) -> Frame:
        return self.content if isinstance(self.content, Frame) else decode(self.content)

    @property
    def sealed(self) -> bytes:
        return encode(self.content) if isinstance(self.content, Frame) else self.content


@dataclass(slots=True)
class Passed:
    """Failures and counts of a task, which are sent next to its parcels."""

    failures: list[Failure] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)


def run_source_pe(
    pe: PE, readers: Mapping[str, InputReader], pieces: Sequence[Piece], passed: Passed
) -> Iterator[Parcel]:
    """Run the first PE of stage 0 over the pieces that one task reads."""
    spent = passed.counts.of_pe(pe.program.id)
    try:
        for piece in pieces:
            source = piece.chunk.source
            operator = pe.program.operators[source]
            assert isinstance(operator, Source)
            origin = operator.origin_of(piece.chunk.split)
            read = iter(read_piece(readers[source], piece, pe.program.frame_rows))
            while True:
                with spent.working():
                    if (found := next(read, None)) is None:
                        break
                    turn = Turn({} if found.tuples is None else {source: _from_origin(found.tuples, origin)})
                    if found.letters is not None:
                        turn.put_letters(source, _from_origin(found.letters, origin))
                    pe.run(turn)
                yield from sent(turn.output, pe.channel, passed)
                if found.left_out:
                    passed.counts.skip(source, found.left_out)
    except BeaconError as error:
        passed.failures.append(error.failure)


def _from_origin(frame: Frame, origin: int) -> Frame:
    """Tuples have the number of their origin in their order keys if event time depends on it."""
    return frame.with_sub(origin) if origin else frame


def run_fed(pe: PE, fed: Mapping[str, Frame], base: int, passed: Passed) -> Iterator[Parcel]:
    """Run the first PE of stage 0 over the tuples that the previous epoch fed back; they precede the epoch's own."""
    before = 0
    for name, frame in reversed(list(fed.items())):
        before += len(frame)
        with passed.counts.of_pe(pe.program.id).working():
            positions = np.arange(base - before, base - before + len(frame))
            operator = pe.program.operators[name]
            assert isinstance(operator, Feedback)
            came_back = _from_origin(Frame(positions, (), frame.columns), operator.origin)
            output = pe.run(Turn({name: came_back}))
        yield from sent(output, pe.channel, passed)


def run_stateless_pe(pe: PE, parcels: Iterable[Parcel], passed: Passed) -> Iterator[Parcel]:
    """Run a PE without state over the parcels of a channel, one at a time: it does not depend on their order."""
    program = pe.program
    spent = passed.counts.of_pe(program.id)
    for parcel in parcels:
        if parcel.wire in program.consumes:
            with spent.working():
                output = pe.run(Turn({parcel.wire: parcel.frame}))
            yield from sent(output, parcel.channel, passed)
        if parcel.wire in program.forwards:
            yield parcel


def run_stateful_pe(
    pe: PE, parcels: Iterable[Parcel], store: BucketStore, passed: Passed, epoch: int, end: int | None = None
) -> Iterator[Parcel]:
    """Run the PE with state after an exchange over all parcels of its channel in one epoch, merged by their order keys.
    `epoch`: its number; `end`: in the final epoch, the position of the end of the input."""
    program = pe.program
    arrived: dict[int, list[Frame]] = {}
    spent = passed.counts.of_pe(program.id)
    for parcel in parcels:
        if parcel.wire in program.consumes:
            with spent.working():
                arrived.setdefault(parcel.wire, []).append(parcel.frame)
        if parcel.wire in program.forwards:
            yield parcel
    outputs: list[Output] = []
    with spent.working():
        merged = {wire: frame for wire, frames in arrived.items() if (frame := merge(frames)) is not None}
        if merged or end is not None:
            state = pe.open_state(store, epoch)
            outputs = pe.run_merged(merged, state, end)
            state.commit()
    for output in outputs:
        yield from sent(output, pe.channel, passed)


def sent(output: Output, channel: int, passed: Passed) -> Iterator[Parcel]:
    """The output of a PE's turn as parcels; its failures and counts are added to `passed`."""
    passed.failures += output.failures
    passed.counts.add(output.counts)
    for wire, to, frame in output.frames:
        yield Parcel(channel if to is None else to, wire, frame)


def first_failure(failures: Sequence[Failure]) -> TupleError | None:
    """The earliest failure in the order of the reference, so that every engine reports the same one."""
    if not failures:
        return None
    first = min(failures)
    error = TupleError(first.message, operator=first.operator, where=first.where, at=first.at, found=first.row)
    error.add_note(f"where it was raised:\n{first.traceback}")
    return error

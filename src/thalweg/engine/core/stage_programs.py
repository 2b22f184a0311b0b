"""What every engine does with the programs of a stage; only transport and state differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from thalweg.engine.inputs.beacon import BeaconError
from thalweg.engine.inputs.readers import InputReader, read_piece
from thalweg.engine.storage.log import Piece
from thalweg.errors import TupleError, redacted
from thalweg.runtime.container import Container
from thalweg.runtime.frame import Frame, decode, encode
from thalweg.runtime.pe_counts import Counts
from thalweg.runtime.program import Failure, Output, Program
from thalweg.runtime.state import BucketStore


@dataclass(frozen=True, slots=True)
class Parcel:
    """A frame on its way: its channel and its wire. Whoever only passes it on leaves it sealed."""

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
    """Failures found on the way, and what was counted; they travel beside the parcels."""

    failures: list[Failure] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)


def run_source_pe(
    program: Program, readers: dict[str, InputReader], pieces: Sequence[Piece], channel: int, passed: Passed
) -> Iterator[Parcel]:
    """The first PE of stage 0, over the pieces that one task reads."""
    spent = passed.counts.of_pe(program.name)
    try:
        for piece in pieces:
            source = piece.chunk.source
            read = iter(read_piece(readers[source], piece, program.frame_rows))
            while True:
                with spent.working():
                    if (found := next(read, None)) is None:
                        break
                    container = Container(program)
                    if found.letters is not None:
                        container.put_letters(source, found.letters)
                    container.run_sources({} if found.tuples is None else {source: found.tuples})
                yield from sent(container.output, channel, passed)
                if found.left_out:
                    passed.counts.skip(source, found.left_out)
    except BeaconError as error:
        passed.failures.append(error.failure)


def run_fed(program: Program, fed: Mapping[str, Frame], base: int, channel: int, passed: Passed) -> Iterator[Parcel]:
    """The first PE of stage 0, over what the epoch before fed back. It comes before the epoch's own tuples."""
    before = 0
    for name, frame in reversed(list(fed.items())):
        before += len(frame)
        with passed.counts.of_pe(program.name).working():
            container = Container(program)
            positions = np.arange(base - before, base - before + len(frame))
            container.run_sources({name: Frame(positions, (), frame.columns)})
        yield from sent(container.output, channel, passed)


def run_stateless_pe(program: Program, parcels: Iterable[Parcel], passed: Passed) -> Iterator[Parcel]:
    """A PE without state, over the parcels of a channel, each by itself."""
    spent = passed.counts.of_pe(program.name)
    for parcel in parcels:
        if parcel.wire in program.consumes:
            with spent.working():
                container = Container(program)
                container.run_frame(parcel.wire, parcel.frame)
            yield from sent(container.output, parcel.channel, passed)
        if parcel.wire in program.forwards:
            yield parcel


def run_stateful_pe(
    program: Program,
    channel: int,
    parcels: Iterable[Parcel],
    store: BucketStore,
    passed: Passed,
    end: int | None = None,
) -> Iterator[Parcel]:
    """The PE with state behind an exchange, over all parcels of one channel in one epoch. `end`: where the end is."""
    arrived: dict[int, list[Frame]] = {}
    spent = passed.counts.of_pe(program.name)
    for parcel in parcels:
        if parcel.wire in program.consumes:
            with spent.working():
                arrived.setdefault(parcel.wire, []).append(parcel.frame)
        if parcel.wire in program.forwards:
            yield parcel
    with spent.working():
        container = Container(program, store)
        container.run_epoch(arrived, end)
    yield from sent(container.output, channel, passed)


def sent(output: Output, channel: int, passed: Passed) -> Iterator[Parcel]:
    """What a PE made, as parcels; what it says beside them goes to `passed`."""
    passed.failures += output.failures
    passed.counts.add(output.counts)
    for wire, to, frame in output.frames:
        yield Parcel(channel if to is None else to, wire, frame)


def first_failure(failures: Sequence[Failure]) -> TupleError | None:
    """The failure that the reference would have met."""
    if not failures:
        return None
    first = min(failures)
    error = TupleError(first.message, operator=first.operator, where=first.where, at=first.at, found=first.row)
    error.add_note(redacted(f"where it was raised:\n{first.traceback}"))
    return error

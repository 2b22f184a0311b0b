"""A running PE: the generated code of one program, for one channel, in one worker. The same in every engine.

    pe = PE(program, channel, resources)      lives as long as its worker serves the program and the channel
    state = pe.open_state(store, epoch)       of one epoch
    output = pe.run(Turn(frames, state))      one pass of frames through all segments

A PE holds nothing that belongs to a frame or an epoch: that is in the turn, so segments can run several turns at a
time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from thalweg.errors import not_enough_memory
from thalweg.runtime.brackets import Stack
from thalweg.runtime.frame import Frame
from thalweg.runtime.frame_operators import FrameOperators
from thalweg.runtime.generated_code import generated
from thalweg.runtime.helper_modules import check_helpers
from thalweg.runtime.merge_frames import slices
from thalweg.runtime.pe_program import Output, Program
from thalweg.runtime.resources import Resources
from thalweg.runtime.state import BucketStore, State
from thalweg.runtime.state_tables import TableMaker
from thalweg.runtime.turn import Turn


class PE(FrameOperators):
    """One program on one channel. `resources`: what the operators of its worker created in `setup`."""

    def __init__(self, program: Program, channel: int, resources: Resources) -> None:
        super().__init__(program, resources)
        for name, helpers in program.helpers.items():
            check_helpers(program.operators[name], helpers)
        self.channel = channel
        self._code = generated(program)
        self.segments = self._code.segments
        self._tables = TableMaker(program, resources)

    def open_state(self, store: BucketStore, epoch: int) -> State:
        """The state of one epoch, read from the store as keys appear."""
        return State(store, self.program.buckets, self._tables.make(), epoch)

    def run(self, turn: Turn, stack: Stack | None = None) -> Output:
        """Run all segments in sequence. With a stack: in their form with brackets."""
        try:
            return self._run(turn, stack)
        except MemoryError as error:
            operators = [o for o in self.program.operators.values() if o.inputs] or [*self.program.operators.values()]
            raise not_enough_memory(error, [o.name for o in operators], operators[0].where) from error

    def _run(self, turn: Turn, stack: Stack | None) -> Output:
        streams: tuple[Any, ...] = ()
        if stack is None:
            for segment in self.segments:
                streams = segment(self, turn, *streams)
            return turn.output
        try:
            for segment in self._code.bracketed:
                streams = segment(self, turn, stack, *streams)
        finally:
            stack.clear()
        return turn.output

    def run_merged(self, merged: Mapping[int, Frame], state: State, end: int | None = None) -> list[Output]:
        """Run a PE with state over a merged frame of each wire that has tuples: those of an epoch, or of a range of
        its positions."""
        return [self.run(turn) for turn in self.turns(merged, state, end)]

    def turns(self, merged: Mapping[int, Frame], state: State, end: int | None) -> Iterator[Turn]:
        """The turns of an epoch. Tuples emitted at the end may be ordered between tuples of the final epoch, so that
        epoch is one turn; any other is cut into slices."""
        frames = list(merged.values())
        pieces = slices(frames, self.program.frame_rows) if end is None else [frames]
        for piece in pieces:
            yield Turn({w: f for w, f in zip(merged, piece, strict=True) if len(f)}, state, end)

    def close(self) -> None:
        """Release the resources that its operators created in `setup`."""
        self.resources.close(self.program.operators)

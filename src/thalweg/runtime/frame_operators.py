"""The methods that generated code calls: one for each kind of operator.

An operator runs as a kernel; if the kernel cannot compute Python's result for a frame, it raises `Fallback`, and the
operator takes the row path for that frame, starting from the unchanged state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg.ir.logic import Logic, fresh
from thalweg.ir.operators import EventTime, FlatMap, Join, Map, MapBatches, Pace, Process, Punctor, RandomSplit
from thalweg.ir.user_tuples import unpack
from thalweg.runtime import batches, join
from thalweg.runtime import event_time_marks as marks
from thalweg.runtime import row_functions as rows
from thalweg.runtime import row_loops as loops
from thalweg.runtime.columns import Array, Column
from thalweg.runtime.failed_tuples import record_failure
from thalweg.runtime.frame import Frame
from thalweg.runtime.kernels import Fallback
from thalweg.runtime.logic_operator import Ports, ProcessRun
from thalweg.runtime.merge_frames import merge
from thalweg.runtime.pe_program import Program
from thalweg.runtime.resources import Resources
from thalweg.runtime.row_path import at_rows, some
from thalweg.runtime.seeded_random import chances
from thalweg.runtime.senders import sender
from thalweg.runtime.turn import Turn
from thalweg.runtime.vectorized import Columns, VectorFunction
from thalweg.runtime.window_operators import WindowOperators

ChainKernel = Callable[[Columns, int, dict[str, int]], tuple[Array | None, Columns]]


class FrameOperators(WindowOperators):
    """A method for each kind of operator, over the frames of one turn. A frame is None when it has no tuple."""

    FELL_BACK = object()

    def __init__(self, program: Program, resources: Resources) -> None:
        super().__init__(program, resources)
        self._senders = {wire: sender(route, program.buckets) for wire, route in program.routes.items()}

    def branch(self, frame: Frame | None, index: int) -> Frame | None:
        """The frame as one branch of a fan-out whose branches are merged again."""
        return None if frame is None else frame.with_sub(index)

    def count(self, turn: Turn, name: str, made: Frame | Sequence[Frame | None] | None) -> None:
        """Count the tuples that an operator emitted: one frame, or a frame for each of its output ports."""
        if isinstance(made, Frame):
            turn.output.counts.send(name, 0, len(made))
        elif made is not None:
            for port, frame in enumerate(made):
                if frame is not None:
                    turn.output.counts.send(name, port, len(frame))

    def chain(
        self, turn: Turn, names: Sequence[str], frame: Frame | None, kernel: ChainKernel
    ) -> Frame | object | None:
        """Several maps and filters in one kernel; FELL_BACK if it cannot process this frame."""
        if frame is None:
            return None
        seen: dict[str, int] = {}  # how many tuples each filter let through
        try:
            kept, columns = kernel(frame.columns, len(frame), seen)
        except Fallback:
            return self.FELL_BACK
        tuples, send = len(frame), turn.output.counts.send
        for name in names:
            tuples = seen.get(name, tuples)
            send(name, 0, tuples)
        left = frame.with_columns({})
        return some((left if kept is None else left.take(kept)).with_columns(columns))

    def filter(
        self, turn: Turn, name: str, frame: Frame | None, predicate: VectorFunction | None, live: Sequence[str]
    ) -> Frame | None:
        if frame is None:
            return None
        found = self._vector(name, predicate, frame)
        kept = np.zeros(len(frame), np.bool_)
        if len(found.rows):
            kept[found.rows] = found.result
        if len(found.rest):
            function, given, rest = self._function(name), self.program.input_types[name][0], at_rows(frame, found.rest)
            truths, at = self._looped(
                turn,
                name,
                frame,
                found,
                lambda failed, stops: loops.filter_rows(function, rest, given, failed, stops=stops),
            )
            kept[found.rest[at]] = truths
        return some(frame.select(live).where(kept))

    def map(
        self, turn: Turn, name: str, frame: Frame | None, fields: VectorFunction | None, live: Sequence[str]
    ) -> Frame | None:
        if frame is None:
            return None
        found = self._vector(name, fields, frame)
        if not len(found.rest):
            return frame.with_columns({n: found.result[n] for n in live})
        operator = self.program.operators[name]
        assert isinstance(operator, Map)
        function, given, into = self._function(name), self.program.input_types[name][0], operator.outputs[0]
        rest = at_rows(frame, found.rest)
        mapped, at = self._looped(
            turn,
            name,
            frame,
            found,
            lambda failed, stops: loops.map_rows(function, rest, given, into, failed, stops=stops),
        )
        if len(found.rows):
            mapped, at = found.merged({n: found.result[n] for n in live}, mapped, at)
        return some(at_rows(frame.with_columns({}), at).with_columns(mapped).select(live))

    def flat_map(self, turn: Turn, name: str, frame: Frame | None, live: Sequence[str]) -> Frame | None:
        if frame is None:
            return None
        operator = self.program.operators[name]
        assert isinstance(operator, FlatMap)
        into = operator.outputs[0]
        emitted, at = self._rows(turn, name, frame, lambda result: [unpack(item, into) for item in result])
        counts = np.array([len(items) for items in emitted], np.int64)
        if not counts.sum():
            return None
        parents = np.repeat(at, counts)
        numbers = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)
        columns = rows.columns_of([item for items in emitted for item in items], into)
        return frame.with_columns({}).take(parents).with_columns(columns).with_sub(numbers).select(live)

    def split(
        self, turn: Turn, name: str, frame: Frame | None, ports: VectorFunction | None, lives: Sequence[Sequence[str]]
    ) -> list[Frame | None]:
        if frame is None:
            return [None] * len(lives)
        found = self._vector(name, ports, frame)
        numbers = np.full(len(frame), -1, np.int64)
        if len(found.rows):
            numbers[found.rows] = found.result
        if len(found.rest):
            given, at = self._rows(turn, name, frame, lambda port: _port(port, len(lives)), found)
            numbers[found.rest[at]] = given
        return [some(frame.select(live).where(numbers == port)) for port, live in enumerate(lives)]

    def union(self, live: Sequence[str], width: int, *frames: Frame | None) -> Frame | None:
        # An input may carry more attributes than the others, for a different consumer. Its order key is padded to the
        # width of the stream even if this channel received nothing from the wider inputs: other channels did.
        return merge([frame.select(live).padded(width) for frame in frames if frame is not None])

    def join(self, turn: Turn, name: str, left: Frame | None, right: Frame | None, live: Sequence[str]) -> Frame | None:
        operator = self.program.operators[name]
        assert isinstance(operator, Join)
        assert turn.state is not None
        joined = join.join_frame(operator, turn.state, left, right)
        return None if joined is None else joined.select(live)

    def random_split(
        self, turn: Turn, name: str, frame: Frame | None, lives: Sequence[Sequence[str]]
    ) -> list[Frame | None]:
        operator = self.program.operators[name]
        assert isinstance(operator, RandomSplit)
        if frame is None:
            return [None] * len(lives)
        drawn = chances(operator.seed, frame)
        numbers = np.searchsorted(np.array(operator.bounds[:-1]), drawn, side="right")
        return [some(frame.select(live).where(numbers == port)) for port, live in enumerate(lives)]

    def pace(self, turn: Turn, name: str, frame: Frame | None, live: Sequence[str]) -> Frame | None:
        operator = self.program.operators[name]
        assert isinstance(operator, Pace)
        if frame is None:
            return None
        wait_s = operator.delay_s + (len(frame) / operator.rate_per_s if operator.rate_per_s else 0.0)
        time.sleep(wait_s)
        return frame.select(live)

    def map_batches(self, turn: Turn, name: str, frame: Frame | None, live: Sequence[str]) -> Frame | None:
        operator = self.program.operators[name]
        assert isinstance(operator, MapBatches)
        if frame is None:
            return None
        try:
            columns = batches.apply(operator, frame, self.program.input_types[name][0])
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # only single rows show which tuple failed
            columns, at = self._batch_rows(turn, operator, frame, error)
            frame = at_rows(frame.with_columns({}), at)
        return some(frame.with_columns({n: columns[n] for n in live}))

    def _batch_rows(
        self, turn: Turn, operator: MapBatches, frame: Frame, whole: BaseException
    ) -> tuple[dict[str, Column], Array]:
        """The results for the rows on which the function does not fail."""
        tuple_type, count = self.program.input_types[operator.name][0], len(frame)
        with self._failures(turn, operator.name, frame) as failures:
            slices = batches.Slices(operator, frame, tuple_type, failures.add_all)
            slices.split(np.arange(count), whole)
        at = slices.rows
        if len(at) == count:  # it fails only on several rows together: not a function of single rows
            self._fail(turn, operator.name, frame, 0, whole)
        return slices.columns() if len(at) else rows.columns_of([], operator.outputs[0]), at

    def event_time(
        self, turn: Turn, name: str, frame: Frame | None, lives: Sequence[Sequence[str]]
    ) -> list[Frame | None]:
        operator = self.program.operators[name]
        assert isinstance(operator, EventTime)
        if frame is None:
            return [None, None]
        times = marks.time_values(frame.columns[operator.attribute])
        if operator.by_origin:
            origins = frame.sub(0)
            at, values = marks.steps_of_origins(times, origins, operator.lateness, operator.step)
            columns: Columns = {"time": values, "origin": origins[at]}
        else:
            at, values = marks.steps(times, operator.lateness, operator.step)
            columns = {"time": values}
        made = frame.with_columns({}).take(at).with_columns(columns).with_sub(0)
        return [frame.select(lives[0]).with_sub(1), some(made.select(lives[1]))]

    def punctor(
        self,
        turn: Turn,
        name: str,
        frame: Frame | None,
        predicate: VectorFunction | None,
        lives: Sequence[Sequence[str]],
    ) -> list[Frame | None]:
        operator = self.program.operators[name]
        assert isinstance(operator, Punctor)
        if frame is None:
            return [None, None]
        found = self._vector(name, predicate, frame)
        mask = np.zeros(len(frame), np.bool_)
        if len(found.rows):
            mask[found.rows] = found.result
        if len(found.rest):
            truths, at = self._rows(turn, name, frame, bool, found)
            mask[found.rest[at]] = truths
            passing = np.sort(np.concatenate([found.rows, found.rest[at]]))
            mask, frame = mask[passing], at_rows(frame, passing)
        marked = np.flatnonzero(mask)
        made = frame.with_columns({}).take(marked).with_columns({"time": np.zeros(len(marked), np.int64)})
        passed = frame.select(lives[0]).with_sub(1)
        return [some(passed), some(made.with_sub(0 if operator.before else 2).select(lives[1]))]

    def process(
        self, turn: Turn, name: str, lives: Sequence[Sequence[str]], *frames: Frame | None
    ) -> list[Frame | None]:
        operator = self.program.operators[name]
        assert isinstance(operator, Process)
        ports = Ports(frames, self.program.input_types[name], self.program.widths[name])
        lone = None if operator.by is not None else self._lone(operator)
        run = ProcessRun(operator, ports, turn.state, lone)
        end = None if turn.end is None or operator.by is None else turn.end + self.program.ends[name]
        found = run.run(end)
        if run.skipped:
            turn.output.counts.skip(name, run.skipped)
        for failed in run.failures:
            record_failure(self.program, turn, operator, failed.order_key, failed.error, failed.shown)
        return [None if f is None else f.select(live) for f, live in zip(found, lives, strict=True)]

    def _lone(self, operator: Process) -> Logic:
        """The object of an operator without state: a new one for each turn, with the worker's resource."""
        logic = fresh(operator.logic)
        logic.resource = self.resources.of(operator)
        return logic

    def emit(self, turn: Turn, wire: int, frame: Frame | None) -> None:
        """Send a frame out of the PE."""
        if frame is None:
            return
        frame = frame.select(self.program.wire_columns[wire])
        send = self._senders[wire]
        if isinstance(send, tuple):
            turn.output.frames += [(wire, channel, frame) for channel in send]
        else:
            turn.output.frames += [(wire, channel, part) for channel, part in send(frame)]


def _port(port: Any, count: int) -> int:
    if type(port) is not int or not 0 <= port < count:
        raise ValueError(f"expected a port in 0..{count - 1}, found {port!r}")
    return port

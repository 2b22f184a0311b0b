"""The PE container: runs the generated code of one PE over frames. The same in every engine.

An operator runs as a kernel; where the kernel cannot give Python's answer for a frame it raises `Fallback`, and the
operator takes the row path for that frame, from the state as it was before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from thalweg.ir.logic import Logic, fresh
from thalweg.ir.operators import (
    EventTime,
    FlatMap,
    Join,
    Map,
    MapBatches,
    Pace,
    Process,
    Punctor,
    RandomSplit,
)
from thalweg.ir.plan import Route
from thalweg.ir.user_tuples import unpack
from thalweg.runtime import batches, join
from thalweg.runtime import event_time_marks as marks
from thalweg.runtime import row_functions as rows
from thalweg.runtime import row_loops as loops
from thalweg.runtime.aggregate_operator import Aggregating
from thalweg.runtime.columns import Array, Column, concat, to_list
from thalweg.runtime.frame import Frame
from thalweg.runtime.kernels import Fallback
from thalweg.runtime.keys import buckets_of, channels_of, keys_of
from thalweg.runtime.logic_operator import Ports, ProcessRun
from thalweg.runtime.order import merge, slices
from thalweg.runtime.ordering.splitters import Router, by_block
from thalweg.runtime.program import Output, Program, compile_program
from thalweg.runtime.records import resource_of
from thalweg.runtime.row_path import Columns, VectorFunction, at_rows, some
from thalweg.runtime.seeded_random import chances
from thalweg.runtime.state import BucketStore, State
from thalweg.runtime.state_tables import tables_of

ChainKernel = Callable[[Columns, int, dict[str, int]], tuple[Array | None, Columns]]


IN_TURN = 1_024  # consecutive positions that stay together where tuples are dealt out in turn


class Container(Aggregating):
    """One PE at work on one channel in one epoch."""

    FELL_BACK = object()

    def __init__(self, program: Program, store: BucketStore | None = None) -> None:
        super().__init__(program, State(store, program.buckets, tables_of(program)) if store is not None else None)
        self._run = compile_program(program)
        self.lone: dict[str, Logic] = {}  # of operators without state

    def run_sources(self, frames: Mapping[str, Frame]) -> None:
        """One frame per source."""
        with np.errstate(all="ignore"):
            self._run(self, frames)

    def run_frame(self, wire: int, frame: Frame) -> None:
        """One arriving frame, for a PE without state: order between frames does not matter to it."""
        with np.errstate(all="ignore"):
            self._run(self, {wire: frame})

    def run_epoch(self, arrived: Mapping[int, Sequence[Frame]], end: int | None = None) -> None:
        """All frames of an epoch, for a PE with state: merged into the order of their keys, then cut into slices.

        `end`: the first position of the final epoch, in which operators say what is still to be said.
        """
        merged = {wire: merge(frames) for wire, frames in arrived.items()}
        present = {wire: frame for wire, frame in merged.items() if frame is not None}
        if present or end is not None:
            self.run_part(present, end)
            self.commit()

    def run_part(self, present: Mapping[int, Frame], end: int | None = None) -> None:
        """A merged frame of each wire that has tuples: those of an epoch, or of a stretch of its positions. What is
        still to be said at the end may come between tuples of the final epoch, so that is not cut into slices."""
        frames = list(present.values())
        self.end = end
        with np.errstate(all="ignore"):
            for piece in slices(frames, self.program.frame_rows) if end is None else [frames]:
                self._run(self, {w: f for w, f in zip(present, piece, strict=True) if len(f)})

    def taken(self) -> Output:
        """What was made since the last call."""
        made, self.output = self.output, Output()
        return made

    def commit(self) -> None:
        """The epoch is over: its state goes to the store."""
        assert self.state is not None
        self.state.commit()

    # What generated code calls. A frame is None when it has no tuple.

    def branch(self, frame: Frame | None, index: int) -> Frame | None:
        """The frame as one branch of a fan-out whose branches meet again."""
        return None if frame is None else frame.with_sub(index)

    def count(self, name: str, made: Frame | Sequence[Frame | None] | None) -> None:
        """Count what an operator made: a frame, or one for each of its output ports."""
        for port, frame in enumerate(made if isinstance(made, list) else (made,)):
            if frame is not None:
                self.output.counts.send(name, port, len(frame))

    def chain(self, names: Sequence[str], frame: Frame | None, kernel: ChainKernel) -> Frame | object | None:
        """Several maps and filters in one kernel; FELL_BACK where it cannot do this frame."""
        if frame is None:
            return None
        seen: dict[str, int] = {}  # how many tuples each filter let through
        try:
            kept, columns = kernel(frame.columns, len(frame), seen)
        except Fallback:
            return self.FELL_BACK
        tuples = len(frame)
        for name in names:
            tuples = seen.get(name, tuples)
            self.output.counts.send(name, 0, tuples)
        left = frame.with_columns({})
        return some((left if kept is None else left.take(kept)).with_columns(columns))

    def filter(
        self, name: str, frame: Frame | None, predicate: VectorFunction | None, live: Sequence[str]
    ) -> Frame | None:
        if frame is None:
            return None
        mask = self._vector(predicate, frame)
        if mask is not None:
            kept = np.asarray(mask) if isinstance(mask, np.ndarray) else np.full(len(frame), mask)
            return some(frame.select(live).where(kept))
        function, given = self._function(name), self.program.input_types[name][0]
        truths, at = self._looped(name, frame, lambda part: loops.filter_rows(function, part, given))
        kept = np.zeros(len(frame), np.bool_)
        kept[at] = np.concatenate([np.array(part, np.bool_) for part in truths])
        return some(frame.select(live).where(kept))

    def map(self, name: str, frame: Frame | None, fields: VectorFunction | None, live: Sequence[str]) -> Frame | None:
        if frame is None:
            return None
        columns = self._vector(fields, frame)
        if columns is not None:
            return frame.with_columns({n: columns[n] for n in live})
        operator = self.program.operators[name]
        assert isinstance(operator, Map)
        function, given, into = self._function(name), self.program.input_types[name][0], operator.outputs[0]
        parts, at = self._looped(name, frame, lambda part: loops.map_rows(function, part, given, into))
        mapped = {n: concat([part[n] for part in parts]) for n in into.names}
        return some(at_rows(frame, at).with_columns(mapped).select(live))

    def flat_map(self, name: str, frame: Frame | None, live: Sequence[str]) -> Frame | None:
        if frame is None:
            return None
        operator = self.program.operators[name]
        assert isinstance(operator, FlatMap)
        into = operator.outputs[0]
        emitted, at = self._rows(name, frame, lambda result: [unpack(item, into) for item in result])
        counts = np.array([len(items) for items in emitted], np.int64)
        if not counts.sum():
            return None
        parents = np.repeat(at, counts)
        numbers = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)
        columns = rows.columns_of([item for items in emitted for item in items], into)
        return frame.with_columns({}).take(parents).with_columns(columns).with_sub(numbers).select(live)

    def split(
        self, name: str, frame: Frame | None, ports: VectorFunction | None, lives: Sequence[Sequence[str]]
    ) -> list[Frame | None]:
        if frame is None:
            return [None] * len(lives)
        numbers = self._vector(ports, frame)
        if numbers is None:
            found, at = self._rows(name, frame, lambda port: _port(port, len(lives)))
            numbers = np.full(len(frame), -1, np.int64)
            numbers[at] = found
        return [some(frame.select(live).where(numbers == port)) for port, live in enumerate(lives)]

    def union(self, live: Sequence[str], width: int, *frames: Frame | None) -> Frame | None:
        # An input may carry more attributes than the others, for another consumer. Its order key is made as wide as
        # the stream's even where this channel got nothing from the wider inputs: other channels did.
        return merge([frame.select(live).padded(width) for frame in frames if frame is not None])

    def join(self, name: str, left: Frame | None, right: Frame | None, live: Sequence[str]) -> Frame | None:
        operator = self.program.operators[name]
        assert isinstance(operator, Join)
        assert self.state is not None
        joined = join.join_frame(operator, self.state, left, right)
        return None if joined is None else joined.select(live)

    def random_split(self, name: str, frame: Frame | None, lives: Sequence[Sequence[str]]) -> list[Frame | None]:
        operator = self.program.operators[name]
        assert isinstance(operator, RandomSplit)
        if frame is None:
            return [None] * len(lives)
        drawn = chances(operator.seed, frame)
        numbers = np.searchsorted(np.array(operator.bounds[:-1]), drawn, side="right")
        return [some(frame.select(live).where(numbers == port)) for port, live in enumerate(lives)]

    def pace(self, name: str, frame: Frame | None, live: Sequence[str]) -> Frame | None:
        operator = self.program.operators[name]
        assert isinstance(operator, Pace)
        if frame is None:
            return None
        wait_s = operator.delay_s + (len(frame) / operator.rate_per_s if operator.rate_per_s else 0.0)
        time.sleep(wait_s)
        return frame.select(live)

    def map_batches(self, name: str, frame: Frame | None, live: Sequence[str]) -> Frame | None:
        operator = self.program.operators[name]
        assert isinstance(operator, MapBatches)
        if frame is None:
            return None
        try:
            columns = batches.apply(operator, frame, self.program.input_types[name][0])
        except Exception as error:  # which tuple it was, only single rows can tell
            columns, at = self._batch_rows(operator, frame, error)
            frame = at_rows(frame, at)
        return some(frame.with_columns({n: columns[n] for n in live}))

    def _batch_rows(self, operator: MapBatches, frame: Frame, whole: Exception) -> tuple[dict[str, Column], Array]:
        tuple_type = self.program.input_types[operator.name][0]

        def step(index: int) -> tuple[Any, ...]:
            one = batches.apply(operator, frame.window(index, index + 1), tuple_type)
            return tuple(to_list(column)[0] for column in one.values())

        values, at = self._each(operator.name, frame, range(len(frame)), step)
        if len(at) == len(frame):  # it fails only on many rows at once: not a function of single rows
            self._fail(operator.name, frame, 0, whole)
        return rows.columns_of(values, operator.outputs[0]), at

    def event_time(self, name: str, frame: Frame | None, lives: Sequence[Sequence[str]]) -> list[Frame | None]:
        operator = self.program.operators[name]
        assert isinstance(operator, EventTime)
        if frame is None:
            return [None, None]
        times = marks.time_values(frame.columns[operator.attribute])
        at, values = marks.steps(times, operator.lateness, operator.step)
        made = frame.with_columns({}).take(at).with_columns({"time": values}).with_sub(0)
        return [frame.select(lives[0]).with_sub(1), some(made.select(lives[1]))]

    def punctor(
        self, name: str, frame: Frame | None, predicate: VectorFunction | None, lives: Sequence[Sequence[str]]
    ) -> list[Frame | None]:
        operator = self.program.operators[name]
        assert isinstance(operator, Punctor)
        if frame is None:
            return [None, None]
        mask = self._vector(predicate, frame)
        if mask is None:
            truths, at = self._rows(name, frame, bool)
            mask, frame = np.array(truths, np.bool_), at_rows(frame, at)
        marked = np.flatnonzero(np.broadcast_to(mask, len(frame)))
        made = frame.with_columns({}).take(marked).with_columns({"time": np.zeros(len(marked), np.int64)})
        passed = frame.select(lives[0]).with_sub(1)
        return [some(passed), some(made.with_sub(0 if operator.before else 2).select(lives[1]))]

    def process(self, name: str, lives: Sequence[Sequence[str]], *frames: Frame | None) -> list[Frame | None]:
        operator = self.program.operators[name]
        assert isinstance(operator, Process)
        ports = Ports(frames, self.program.input_types[name], self.program.widths[name])
        lone = None if operator.by is not None else self._lone(operator)
        run = ProcessRun(operator, ports, self.state, lone)
        end = None if self.end is None or operator.by is None else self.end + self.program.ends[name]
        found = run.run(end)
        if run.skipped:
            self.output.counts.skip(name, run.skipped)
        for failed in run.failures:
            self._failed(operator, failed.order_key, failed.error, failed.shown)
        return [None if f is None else f.select(live) for f, live in zip(found, lives, strict=True)]

    def _lone(self, operator: Process) -> Logic:
        """The object of an operator without state."""
        if operator.name not in self.lone:
            self.lone[operator.name] = fresh(operator.logic)
            self.lone[operator.name].resource = resource_of(self.program, operator)
        return self.lone[operator.name]

    def emit(self, wire: int, frame: Frame | None) -> None:
        """Send a frame on its way: to the channel of each tuple's key, or to wherever this PE is."""
        if frame is None:
            return
        frame = frame.select(self.program.wire_columns[wire])
        route = self.program.routes[wire]
        if route.key is None and route.degree:
            self.output.frames += [(wire, channel, frame) for channel in range(route.degree)]
        elif route.key is None:
            self.output.frames.append((wire, None, frame))
        elif route.degree == 1:
            self.output.frames.append((wire, 0, frame))
        else:
            chosen = self._by_key(route) if route.key else by_block(route.degree, IN_TURN)
            router = Router(route.degree, chosen, period=None)  # pulses come from those who read, at each block
            self.output.frames += [(wire, channel, part) for channel, part in router.spread(frame)]

    def _by_key(self, route: Route) -> Callable[[Frame], Array]:
        def channels(frame: Frame) -> Array:
            keys = keys_of([frame.columns[n] for n in route.key or ()], len(frame))
            return channels_of(buckets_of(keys.distinct, self.program.buckets), route)[keys.codes]

        return channels


def _port(port: Any, count: int) -> int:
    if type(port) is not int or not 0 <= port < count:
        raise ValueError(f"expected a port in 0..{count - 1}, found {port!r}")
    return port

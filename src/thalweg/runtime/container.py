"""The PE container: runs the generated code of one PE over frames. The same in every engine.

An operator runs as a kernel; where the kernel cannot give Python's answer for a frame it raises `Fallback`, and the
operator takes the row path for that frame, from the state as it was before. A tuple that fails is recorded, not
raised: the engine reports the failure at the least position, which may lie on another channel.
"""

from __future__ import annotations

import linecache
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thalweg.errors import Where
from thalweg.ir.logic import Logic, fresh
from thalweg.ir.operators import (
    DEAD_LETTER,
    Aggregate,
    EventTime,
    FlatMap,
    Join,
    Map,
    MapBatches,
    Operator,
    Pace,
    Process,
    Punctor,
    RandomSplit,
    fold_name,
    rank_width,
)
from thalweg.ir.plan import Route
from thalweg.ir.rows import unpack
from thalweg.ir.types import AttributeType, TupleType
from thalweg.runtime import aggregate, batches, join, loops, marks, rows
from thalweg.runtime.aggregate import Groups
from thalweg.runtime.chance import chances
from thalweg.runtime.columns import Array, Column, concat, take, to_list
from thalweg.runtime.counts import Counts
from thalweg.runtime.folds import group_order
from thalweg.runtime.frame import Frame, Sub, join_frames
from thalweg.runtime.kernels import Fallback
from thalweg.runtime.keys import buckets_of, channels_of, keys_of
from thalweg.runtime.order import merge, slices
from thalweg.runtime.pickles import type_table
from thalweg.runtime.process import Ports, ProcessRun
from thalweg.runtime.ranks import hash_of, key_rank
from thalweg.runtime.records import ObjectTable, resource_of
from thalweg.runtime.state import BucketStore, State, Stored

Columns = Mapping[str, Column]
VectorFunction = Callable[[Columns, int], Any]
ChainKernel = Callable[[Columns, int, dict[str, int]], tuple[Array | None, Columns]]


@dataclass(frozen=True)
class Program:
    """A compiled PE, as it travels to its worker. The fingerprint names its content."""

    name: str
    source: str
    operators: Mapping[str, Operator]
    input_types: Mapping[str, tuple[TupleType, ...]]
    ranks: Mapping[str, int]
    ends: Mapping[str, int]  # the place of each operator's end among those of all operators
    widths: Mapping[str, int]  # of the order keys that arrive at an operator with several ports
    tables: Mapping[str, tuple[tuple[str, AttributeType], ...]]
    consumes: frozenset[int]
    forwards: frozenset[int]
    routes: Mapping[int, Route]
    wire_columns: Mapping[int, tuple[str, ...]]
    buckets: int
    frame_rows: int
    fingerprint: str

    @property
    def stateful(self) -> bool:
        return any(operator.key is not None for operator in self.operators.values())


@dataclass(frozen=True, slots=True, order=True)
class Failure:
    """A tuple on which a user's function failed. Failures sort in the order in which the reference would meet them."""

    order_key: tuple[int, ...]
    rank: int
    operator: str = field(compare=False)
    where: Where = field(compare=False)
    message: str = field(compare=False)
    row: str = field(compare=False)


@dataclass(slots=True)
class Output:
    """What a PE sends on: (wire, channel, frame); channel None: where it is."""

    frames: list[tuple[int, int | None, Frame]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)


IN_TURN = 1_024  # consecutive positions that stay together where tuples are dealt out in turn

_compiled: dict[str, Callable[..., None]] = {}


def compile_program(program: Program) -> Callable[..., None]:
    """The `run` function of the generated module, compiled once per process."""
    if program.fingerprint not in _compiled:
        file = f"<thalweg {program.name} {program.fingerprint}>"
        linecache.cache[file] = (len(program.source), None, program.source.splitlines(keepends=True), file)
        module: dict[str, Any] = {"__name__": f"thalweg_generated_{program.fingerprint}"}
        exec(compile(program.source, file, "exec"), module)
        _compiled[program.fingerprint] = module["run"]
    return _compiled[program.fingerprint]


class Container:
    """One PE at work on one channel in one epoch."""

    FELL_BACK = object()

    def __init__(self, program: Program, store: BucketStore | None = None) -> None:
        self.program = program
        self._run = compile_program(program)
        self.output = Output()
        self.state = State(store, program.buckets, self._tables()) if store is not None else None
        self.end: int | None = None  # the position of the end, while it is processed
        self._letters: dict[str, list[Frame]] = {}

    def _tables(self) -> dict[str, Stored]:
        made: dict[str, Stored] = {}
        for name, operator in self.program.operators.items():
            if isinstance(operator, Aggregate):
                (tuple_type,) = self.program.input_types[name]
                made[name] = aggregate.make_table(operator, [tuple_type.kind(n) for n in operator.window.by])
            elif isinstance(operator, Join):
                made[name] = join.make_table(self.program.tables[name])
            elif isinstance(operator, Process) and operator.by is not None:
                inner = getattr(operator.logic, "inner_types", ())  # of the operators in a loop
                types = type_table([*self.program.input_types[name], *operator.outputs, *inner])
                made[name] = ObjectTable(operator, types, self._resource(operator))
        return made

    def _resource(self, operator: Process) -> Any:
        return resource_of(self.program.fingerprint, operator.name, operator.logic)

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
        return _some((left if kept is None else left.take(kept)).with_columns(columns))

    def filter(
        self, name: str, frame: Frame | None, predicate: VectorFunction | None, live: Sequence[str]
    ) -> Frame | None:
        if frame is None:
            return None
        mask = self._vector(predicate, frame)
        if mask is not None:
            kept = np.asarray(mask) if isinstance(mask, np.ndarray) else np.full(len(frame), mask)
            return _some(frame.select(live).where(kept))
        function, given = self._function(name), self.program.input_types[name][0]
        truths, at = self._looped(name, frame, lambda part: loops.filter_rows(function, part, given))
        kept = np.zeros(len(frame), np.bool_)
        kept[at] = np.concatenate([np.array(part, np.bool_) for part in truths])
        return _some(frame.select(live).where(kept))

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
        return _some(_at(frame, at).with_columns(mapped).select(live))

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
        return [_some(frame.select(live).where(numbers == port)) for port, live in enumerate(lives)]

    def union(self, live: Sequence[str], width: int, *frames: Frame | None) -> Frame | None:
        # An input may carry more attributes than the others, for another consumer. Its order key is made as wide as
        # the stream's even where this channel got nothing from the wider inputs: other channels did.
        return merge([frame.select(live).padded(width) for frame in frames if frame is not None])

    def aggregate(
        self,
        name: str,
        frame: Frame | None,
        arguments: Callable[[Columns, int], list[Column | None]],
        fields: VectorFunction,
        live: Sequence[str],
    ) -> Frame | None:
        operator = self.program.operators[name]
        assert isinstance(operator, Aggregate)
        emitted = None if frame is None else self._aggregate(operator, frame, arguments, fields, live)
        if emitted is not None and (width := rank_width(operator)):
            emitted = emitted.padded(len(emitted.subs) + width)
        if self.end is None or not operator.acts_at_end:
            return emitted
        closed = self._close_aggregate(operator, live)
        return merge([f for f in (emitted, closed) if f is not None])

    def _aggregate(
        self,
        operator: Aggregate,
        frame: Frame,
        arguments: Callable[[Columns, int], list[Column | None]],
        fields: VectorFunction,
        live: Sequence[str],
    ) -> Frame | None:
        assert self.state is not None
        key_values = [frame.columns[n] for n in operator.window.by]
        keys = keys_of(key_values, len(frame))
        groups = Groups(operator, self.state, keys, key_values)
        try:
            folds = aggregate.fold_frame(operator, groups, arguments(frame.columns, len(frame)))
        except Fallback:
            return self._aggregate_rows(operator, frame, keys.codes, groups, live)
        shown = aggregate.emitting(operator, groups)
        place = groups.order if shown is None else groups.order[shown]
        back = np.argsort(place, kind="stable") if shown is not None else _inverse(place)
        source = back if shown is None else shown[back]
        at = None if shown is None else place[back]  # which input tuples emit; None: all of them
        emitted = frame.with_columns({}) if at is None else frame.with_columns({}).take(at)
        if not len(emitted):
            return None
        in_order = {n: take(column, source) for n, column in folds.items()}
        try:
            columns = fields(in_order, len(emitted))
        except Fallback:
            columns, kept = self._field_rows(operator, frame if at is None else frame.take(at), in_order)
            emitted = _at(emitted, kept)
        return _some(emitted.with_columns({n: columns[n] for n in live}))

    def _close_aggregate(self, operator: Aggregate, live: Sequence[str]) -> Frame | None:
        """What the blocks still hold at the end."""
        assert self.state is not None
        assert self.end is not None
        (tuple_type,) = self.program.input_types[operator.name]
        kinds = [tuple_type.kind(n) for n in operator.window.by]
        keys, folds = aggregate.at_end(operator, self.state)
        ranked = sorted(
            ((0, *key_rank(key, hash_of(key, kinds) if key else 0)), index) for index, key in enumerate(keys)
        )
        position = self.end + self.program.ends[operator.name]
        empty = (0,) * self.program.widths[operator.name]
        values: list[tuple[Any, ...]] = []
        ranks: list[tuple[int, ...]] = []
        for rank, index in ranked:
            try:
                values.append(aggregate.row_fields(operator.fields.fields, folds[index]))
                ranks.append(rank)
            except Exception as error:
                if not self._failed(operator, (position, *empty, *rank), error, "the end"):
                    break
        if not values:
            return None
        subs: tuple[Sub, ...] = (*empty, *(np.array(column, np.int64) for column in zip(*ranks, strict=True)))
        columns = rows.columns_of(values, operator.outputs[0])
        return Frame(np.full(len(values), position, np.int64), subs, columns).select(live)

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
        return [_some(frame.select(live).where(numbers == port)) for port, live in enumerate(lives)]

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
            frame = _at(frame, at)
        return _some(frame.with_columns({n: columns[n] for n in live}))

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
        return [frame.select(lives[0]).with_sub(1), _some(made.select(lives[1]))]

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
            mask, frame = np.array(truths, np.bool_), _at(frame, at)
        marked = np.flatnonzero(np.broadcast_to(mask, len(frame)))
        made = frame.with_columns({}).take(marked).with_columns({"time": np.zeros(len(marked), np.int64)})
        passed = frame.select(lives[0]).with_sub(1)
        return [_some(passed), _some(made.with_sub(0 if operator.before else 2).select(lives[1]))]

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
        logic = fresh(operator.logic)
        logic.resource = self._resource(operator)
        return logic

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
        elif not route.key:
            self._spread(wire, frame, frame.position // IN_TURN % route.degree, route.degree)
        else:
            self._emit_by_key(wire, frame, route)

    def _emit_by_key(self, wire: int, frame: Frame, route: Route) -> None:
        keys = keys_of([frame.columns[n] for n in route.key or ()], len(frame))
        channels = channels_of(buckets_of(keys.distinct, self.program.buckets), route)[keys.codes]
        self._spread(wire, frame, channels, route.degree)

    def _spread(self, wire: int, frame: Frame, channels: Array, degree: int) -> None:
        order, starts, lengths = group_order(channels, degree)
        spread = frame.take(order)
        for channel, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
            if length:
                self.output.frames.append((wire, channel, spread.window(start, start + length)))

    # The row path.

    def _vector(self, function: VectorFunction | None, frame: Frame) -> Any:
        if function is None:
            return None
        try:
            return function(frame.columns, len(frame))
        except Fallback:
            return None

    def _function(self, name: str) -> Callable[[Any], Any]:
        operator: Any = self.program.operators[name]
        function: Callable[[Any], Any] = operator.function.callable
        return function

    def _looped(self, name: str, frame: Frame, loop: Callable[[Frame], loops.Looped]) -> tuple[list[Any], Array]:
        """What a loop makes of the frame's tuples, part by part, and the rows that gave it. A loop ends at the first
        tuple that fails; where the operator's policy is to go on without it, another one starts behind it."""
        parts: list[Any] = []
        kept: list[Array] = []
        start, going = 0, True
        while going:
            part, done, error = loop(frame.window(start, len(frame)) if start else frame)
            parts.append(part)
            kept.append(np.arange(start, start + done))
            start += done + 1
            going = error is not None and self._fail(name, frame, start - 1, error) and start < len(frame)
        return parts, np.concatenate(kept)

    def _rows(self, name: str, frame: Frame, convert: Callable[[Any], Any]) -> tuple[list[Any], Array]:
        """The converted results of the operator's function, and the rows that gave them."""
        function = self._function(name)
        return self._each(
            name, frame, rows.rows(frame, self.program.input_types[name][0]), lambda row: convert(function(row))
        )

    def _each(
        self, name: str, frame: Frame, items: Iterable[Any], step: Callable[[Any], Any]
    ) -> tuple[list[Any], Array]:
        """The results of a step on each item, and the rows that gave them: failed tuples are left out, and unless the
        operator's policy is to go on without them, all tuples behind the first that failed."""
        results: list[Any] = []
        failed: list[int] = []
        for index, item in enumerate(items):
            try:
                results.append(step(item))
            except Exception as error:  # whatever a user's function raises belongs to its tuple
                failed.append(index)
                if not self._fail(name, frame, index, error):
                    break
        if not failed:
            return results, np.arange(len(results))
        return results, np.delete(np.arange(len(results) + len(failed)), failed)

    def _fail(self, name: str, frame: Frame, index: int, error: Exception) -> bool:
        """Do with a failed tuple what the operator's policy says; whether to go on."""
        operator = self.program.operators[name]
        row = frame.window(index, index + 1)
        (shown,) = rows.rows(row, self.program.input_types[name][0])
        if operator.on_error == "dead_letter":
            text = f"{type(error).__name__}: {error}"
            columns = rows.columns_of([(name, text, repr(shown))], DEAD_LETTER)
            self._letters.setdefault(name, []).append(row.with_columns(columns))
        return self._failed(operator, frame.order_key(index), error, shown)

    def _failed(self, operator: Operator, order_key: tuple[int, ...], error: Exception, shown: Any) -> bool:
        if operator.on_error != "fail":
            if operator.on_error == "skip":
                self.output.counts.skip(operator.name)
            return True
        text = shown if isinstance(shown, str) else repr(shown)
        message, rank = f"{type(error).__name__}: {error}", self.program.ranks[operator.name]
        self.output.failures.append(Failure(order_key, rank, operator.name, operator.where, message, text))
        return False

    def put_letters(self, name: str, letters: Frame) -> None:
        """What a source read in place of tuples."""
        self._letters.setdefault(name, []).append(letters)

    def dead_letters(self, name: str, width: int) -> Frame | None:
        """The tuples on which an operator failed, as its last output port gives them."""
        found = self._letters.pop(name, [])
        return join_frames([f.padded(width) for f in found]) if found else None

    def _aggregate_rows(
        self, operator: Aggregate, frame: Frame, codes: Array, groups: Groups, live: Sequence[str]
    ) -> Frame | None:
        folds = aggregate.RowFolds(operator, groups)
        items = zip(codes.tolist(), rows.rows(frame, self.program.input_types[operator.name][0]), strict=True)

        def step(item: tuple[int, Any]) -> tuple[Any, ...] | None:
            group, row = item
            values = folds.step(group, row)
            return aggregate.row_fields(operator.fields.fields, values) if folds.emits(group) else None

        results, at = self._each(operator.name, frame, items, step)
        folds.store()
        emitted = [i for i, result in enumerate(results) if result is not None]
        columns = rows.columns_of([results[i] for i in emitted], operator.outputs[0])
        return _some(frame.with_columns({}).take(at[np.array(emitted, np.int64)]).with_columns(columns).select(live))

    def _field_rows(self, operator: Aggregate, emitting: Frame, folds: Columns) -> tuple[dict[str, Column], Array]:
        """The output fields row by row, when their kernel could not do them, and the rows that have them."""
        values, at = self._each(
            operator.name,
            emitting,
            rows.rows(emitting.with_columns(folds), _fold_type(operator)),
            lambda row: aggregate.row_fields(operator.fields.fields, {n: getattr(row, n) for n in folds}),
        )
        return rows.columns_of(values, operator.outputs[0]), at


def _fold_type(operator: Aggregate) -> TupleType:
    return TupleType(operator.name, tuple((fold_name(i), fold.type) for i, fold in enumerate(operator.folds)))


def _at(frame: Frame, at: Array) -> Frame:
    """These rows of the frame, which are in most cases all of them."""
    return frame if len(at) == len(frame) else frame.take(at)


def _some(frame: Frame) -> Frame | None:
    return frame if len(frame) else None


def _inverse(order: Array) -> Array:
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return back


def _port(port: Any, count: int) -> int:
    if type(port) is not int or not 0 <= port < count:
        raise ValueError(f"expected a port in 0..{count - 1}, found {port!r}")
    return port

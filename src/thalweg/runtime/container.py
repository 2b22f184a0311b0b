"""The PE container: runs the generated code of one PE over frames. The same in every engine.

An operator runs as a kernel; where the kernel cannot give Python's answer for a frame it raises `Fallback`, and the
operator takes the row path for that frame, from the state as it was before. A tuple that fails is recorded, not
raised: the engine reports the failure at the least position, which may lie on another channel.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thalweg.errors import Where
from thalweg.ir.operators import Aggregate, FlatMap, Join, Map, Operator, fold_name
from thalweg.ir.plan import Route
from thalweg.ir.types import AttributeType, TupleType
from thalweg.runtime import aggregate, join, loops, rows
from thalweg.runtime.aggregate import Groups
from thalweg.runtime.columns import Array, Column, take
from thalweg.runtime.folds import group_order
from thalweg.runtime.frame import Frame
from thalweg.runtime.kernels import Fallback
from thalweg.runtime.keys import buckets_of, keys_of
from thalweg.runtime.order import merge, slices
from thalweg.runtime.state import BucketStore, State, Table

Columns = Mapping[str, Column]
VectorFunction = Callable[[Columns, int], Any]
ChainKernel = Callable[[Columns, int], tuple[Array | None, Columns]]


@dataclass(frozen=True)
class Program:
    """A compiled PE, as it travels to its worker. The fingerprint names its content."""

    name: str
    source: str
    operators: Mapping[str, Operator]
    input_types: Mapping[str, TupleType]
    ranks: Mapping[str, int]
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

    def _tables(self) -> dict[str, Table]:
        made: dict[str, Table] = {}
        for name, operator in self.program.operators.items():
            if isinstance(operator, Aggregate):
                made[name] = aggregate.make_table(operator)
            elif isinstance(operator, Join):
                made[name] = join.make_table(self.program.tables[name])
        return made

    def run_sources(self, frames: Mapping[str, Frame]) -> None:
        """One frame per source."""
        with np.errstate(all="ignore"):
            self._run(self, frames)

    def run_frame(self, wire: int, frame: Frame) -> None:
        """One arriving frame, for a PE without state: order between frames does not matter to it."""
        with np.errstate(all="ignore"):
            self._run(self, {wire: frame})

    def run_epoch(self, arrived: Mapping[int, Sequence[Frame]]) -> None:
        """All frames of an epoch, for a PE with state: merged into the order of their keys, then cut into slices."""
        merged = {wire: merge(frames) for wire, frames in arrived.items()}
        present = {wire: frame for wire, frame in merged.items() if frame is not None}
        if not present:
            return
        with np.errstate(all="ignore"):
            for piece in slices(list(present.values()), self.program.frame_rows):
                self._run(self, {w: f for w, f in zip(present, piece, strict=True) if len(f)})
        assert self.state is not None
        self.state.commit()

    # What generated code calls. A frame is None when it has no tuple.

    def branch(self, frame: Frame | None, index: int) -> Frame | None:
        """The frame as one branch of a fan-out whose branches meet again."""
        return None if frame is None else frame.with_sub(index)

    def chain(self, frame: Frame | None, kernel: ChainKernel) -> Frame | object | None:
        """Several maps and filters in one kernel; FELL_BACK where it cannot do this frame."""
        if frame is None:
            return None
        try:
            kept, columns = kernel(frame.columns, len(frame))
        except Fallback:
            return self.FELL_BACK
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
        function = self._function(name)
        truths, error = loops.filter_rows(function, frame, self.program.input_types[name])
        if error is not None:
            self._fail(name, frame, len(truths), error)
        return _some(frame.select(live).where(np.array(truths + [False] * (len(frame) - len(truths)), np.bool_)))

    def map(self, name: str, frame: Frame | None, fields: VectorFunction | None, live: Sequence[str]) -> Frame | None:
        if frame is None:
            return None
        columns = self._vector(fields, frame)
        if columns is not None:
            return frame.with_columns({n: columns[n] for n in live})
        operator = self.program.operators[name]
        assert isinstance(operator, Map)
        mapped = loops.map_rows(self._function(name), frame, self.program.input_types[name], operator.outputs[0])
        if mapped.error is not None:
            self._fail(name, frame, mapped.rows, mapped.error)
        return _some(frame.window(0, mapped.rows).with_columns(mapped.columns).select(live))

    def flat_map(self, name: str, frame: Frame | None, live: Sequence[str]) -> Frame | None:
        if frame is None:
            return None
        operator = self.program.operators[name]
        assert isinstance(operator, FlatMap)
        into = operator.outputs[0]
        emitted = self._rows(name, frame, lambda result: [rows.unpack(item, into) for item in result])
        counts = np.array([len(items) for items in emitted], np.int64)
        if not counts.sum():
            return None
        parents = np.repeat(np.arange(len(counts)), counts)
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
            found = self._rows(name, frame, lambda port: _port(port, len(lives)))
            numbers = np.array(found + [-1] * (len(frame) - len(found)), np.int64)
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
        if frame is None:
            return None
        operator = self.program.operators[name]
        assert isinstance(operator, Aggregate)
        assert self.state is not None
        keys = keys_of([frame.columns[n] for n in operator.window.by], len(frame))
        groups = Groups(operator, self.state, keys)
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
            columns = self._field_rows(operator, frame if at is None else frame.take(at), in_order)
        cut = min((len(column) for column in columns.values()), default=len(emitted))
        return _some(emitted.window(0, cut).with_columns({n: columns[n] for n in live}))

    def join(self, name: str, left: Frame | None, right: Frame | None, live: Sequence[str]) -> Frame | None:
        operator = self.program.operators[name]
        assert isinstance(operator, Join)
        assert self.state is not None
        joined = join.join_frame(operator, self.state, left, right)
        return None if joined is None else joined.select(live)

    def emit(self, wire: int, frame: Frame | None) -> None:
        """Send a frame on its way: to the channel of each tuple's key, or to wherever this PE is."""
        if frame is None:
            return
        frame = frame.select(self.program.wire_columns[wire])
        route = self.program.routes[wire]
        if route.key is None:
            self.output.frames.append((wire, None, frame))
        elif not route.key:
            self.output.frames.append((wire, 0, frame))
        else:
            self._emit_by_key(wire, frame, route)

    def _emit_by_key(self, wire: int, frame: Frame, route: Route) -> None:
        keys = keys_of([frame.columns[n] for n in route.key or ()], len(frame))
        channels = (buckets_of(keys.distinct, self.program.buckets) % route.degree)[keys.codes]
        order, starts, lengths = group_order(channels, route.degree)
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

    def _rows(self, name: str, frame: Frame, convert: Callable[[Any], Any]) -> list[Any]:
        """The converted results of the operator's function, up to the first tuple that fails."""
        function = self._function(name)
        return self._each(
            name, frame, rows.rows(frame, self.program.input_types[name]), lambda row: convert(function(row))
        )

    def _each(self, name: str, frame: Frame, items: Iterable[Any], step: Callable[[Any], Any]) -> list[Any]:
        results: list[Any] = []
        for index, item in enumerate(items):
            try:
                results.append(step(item))
            except Exception as error:  # whatever a user's function raises belongs to its tuple
                self._fail(name, frame, index, error)
                break
        return results

    def _fail(self, name: str, frame: Frame, index: int, error: Exception) -> None:
        where = self.program.operators[name].where
        message = f"{type(error).__name__}: {error}"
        (row,) = rows.rows(frame.window(index, index + 1), self.program.input_types[name])
        key, rank = frame.order_key(index), self.program.ranks[name]
        self.output.failures.append(Failure(key, rank, name, where, message, repr(row)))

    def _aggregate_rows(
        self, operator: Aggregate, frame: Frame, codes: Array, groups: Groups, live: Sequence[str]
    ) -> Frame | None:
        folds = aggregate.RowFolds(operator, groups)
        emitted: list[int] = []
        items = zip(codes.tolist(), rows.rows(frame, self.program.input_types[operator.name]), strict=True)

        def step(item: tuple[int, Any]) -> tuple[Any, ...] | None:
            group, row = item
            values = folds.step(group, row)
            return aggregate.row_fields(operator.fields.fields, values) if folds.emits(group) else None

        results = self._each(operator.name, frame, items, step)
        folds.store()
        emitted = [i for i, result in enumerate(results) if result is not None]
        columns = rows.columns_of([results[i] for i in emitted], operator.outputs[0])
        return _some(frame.with_columns({}).take(np.array(emitted, np.int64)).with_columns(columns).select(live))

    def _field_rows(self, operator: Aggregate, emitting: Frame, folds: Columns) -> dict[str, Column]:
        """The output fields row by row, when their kernel could not do them; cut before the first that fails."""
        values = self._each(
            operator.name,
            emitting,
            rows.rows(emitting.with_columns(folds), _fold_type(operator)),
            lambda row: aggregate.row_fields(operator.fields.fields, {n: getattr(row, n) for n in folds}),
        )
        return rows.columns_of(values, operator.outputs[0])


def _fold_type(operator: Aggregate) -> TupleType:
    return TupleType(operator.name, tuple((fold_name(i), fold.type) for i, fold in enumerate(operator.folds)))


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

"""Run an operator written in Python over the frames of all its ports, tuple by tuple in the order of positions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thalweg.errors import summary
from thalweg.ir.logic import Logic, acts_at_end, acts_on_marks
from thalweg.ir.operators import NO_TIME, Process, rank_width
from thalweg.ir.submissions import Submissions
from thalweg.ir.types import TupleType
from thalweg.runtime.columns import Array
from thalweg.runtime.frame import Frame, join_frames
from thalweg.runtime.key_ranks import LAST_RANK
from thalweg.runtime.keys import keys_of, stable_hash
from thalweg.runtime.merge_frames import sort_order
from thalweg.runtime.records import KeyRecord, ObjectTable
from thalweg.runtime.row_functions import columns_of, rows
from thalweg.runtime.state import State


@dataclass(frozen=True, slots=True)
class FailedEvent:
    """An event on which user code failed."""

    order_key: tuple[int, ...]
    error: BaseException
    shown: str


@dataclass(slots=True)
class _Emitted:
    """The tuples of one output port: for each the event that caused it, its rank among keys, its number, its values."""

    events: list[int] = field(default_factory=list)
    ranks: list[tuple[int, ...]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    values: list[tuple[Any, ...]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ports:
    """The input: a frame per port (including the port of marks), the tuple types, and the declared width."""

    frames: Sequence[Frame | None]
    types: Sequence[TupleType]
    width: int


class ProcessRun:
    """One operator over one slice of an epoch."""

    def __init__(self, operator: Process, ports: Ports, state: State | None, lone: Logic | None) -> None:
        self.operator, self.ports = operator, ports
        self.state, self.lone = state, lone
        self.failures: list[FailedEvent] = []
        self.skipped = 0
        self.now: int | None = None
        if state is not None:
            self.now = state.epoch if operator.makes_marks else state.times().get(operator.name)
        self.table = None if state is None or operator.by is None else state.tables[operator.name]
        self.emitted = [_Emitted() for _ in operator.outputs]
        self.no_rank = (0,) * rank_width(operator)

    def run(self, end: int | None) -> list[Frame | None]:
        """The frame of each output port. `end`: the position of the end, if this is the end."""
        present = [(port, f) for port, f in enumerate(self.ports.frames) if f is not None and len(f)]
        order = self._merged([f for _, f in present])
        self.order, self.end = order, end
        if self._take(self._events(present, order)) and end is not None and acts_at_end(self.operator.logic):
            self._at_end(len(order[1]) if order else 0)
        return [self._frame(port, order, end) for port in range(len(self.operator.outputs))]

    def _merged(self, frames: Sequence[Frame]) -> tuple[Frame, Array] | None:
        """All rows concatenated, without their attributes, and the order in which they are processed."""
        if not frames:
            return None
        joined = join_frames([f.padded(self.ports.width).with_columns({}) for f in frames])
        return joined, np.arange(len(joined)) if len(frames) == 1 else sort_order(joined)

    def _events(
        self, present: Sequence[tuple[int, Frame]], order: tuple[Frame, Array] | None
    ) -> Iterator[tuple[int, Any, KeyRecord | None]]:
        """(port, tuple, record of its key), in order; a mark comes with its order key instead of a tuple."""
        if order is None:
            return
        streams: list[Iterator[tuple[int, Any, KeyRecord | None]]] = [self._port(port, f) for port, f in present]
        if len(streams) == 1:
            yield from streams[0]
            return
        sizes = [len(f) for _, f in present]
        which = np.repeat(np.arange(len(sizes)), sizes)[order[1]]
        for index in which.tolist():  # each frame is sorted, so its rows come in order
            yield next(streams[index])

    def _port(self, port: int, frame: Frame) -> Iterator[tuple[int, Any, KeyRecord | None]]:
        if port == self.operator.mark_port:
            keys: Iterable[Any] = (frame.order_key(row) for row in range(len(frame)))
            times = frame.columns["time"].tolist()  # type: ignore[union-attr]
            return ((port, mark, None) for mark in zip(times, keys, strict=True))
        made = rows(frame, self.ports.types[port])
        if self.table is None:
            return ((port, row, None) for row in made)
        records = self._records(port, frame)
        return ((port, row, record) for row, record in zip(made, records, strict=True))

    def _records(self, port: int, frame: Frame) -> Iterator[KeyRecord]:
        assert self.state is not None
        assert isinstance(self.table, ObjectTable)
        by = self.operator.port_key(port) or ()
        keys = keys_of([frame.columns[n] for n in by], len(frame))
        buckets = self.state.touch(self.operator.name, keys, writes=True)
        first = np.full(len(keys.distinct), len(frame), np.int64)
        np.minimum.at(first, keys.codes, np.arange(len(frame)))
        shown = frame.with_columns({n: frame.columns[n] for n in by}).take(first)
        known = [
            (bucket, key, tuple(getattr(row, n) for n in by), key_hash)
            for key, row, bucket, key_hash in zip(
                keys.distinct.to_pylist(),
                rows(shown, self.ports.types[port]),
                buckets.tolist(),
                stable_hash(keys.distinct).view(np.int64).tolist(),
                strict=True,
            )
        ]
        # Looked up when the tuple is processed: a new key must not act on marks before its first tuple.
        table = self.table
        return (table.find(*known[code]) for code in keys.codes.tolist())

    def _take(self, events: Iterator[tuple[int, Any, KeyRecord | None]]) -> bool:
        """Process all events, up to the first failure that stops the operator; returns whether there was none."""
        operator, no_rank = self.operator, self.no_rank
        last_mark: Any = None
        for number, (port, item, record) in enumerate(events):
            if port == operator.mark_port:
                time, key = item
                if key == last_mark:
                    continue  # the same mark, from another channel
                last_mark = key
                if operator.timed and time <= (NO_TIME if self.now is None else self.now):
                    self._not_advanced(number)
                    continue
                if acts_on_marks(operator.logic) and not self._at_mark(number, time):
                    return False
                self._passed(number, time)
                continue
            logic = record.logic if record is not None else self.lone
            assert logic is not None
            submitted = Submissions(operator.result_type)
            logic._submitted, logic.now = submitted, self._shown_now(self.now)
            try:
                logic.process(item, port)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # any error of user code is attributed to its tuple
                if not self._failed(number, no_rank, error, item):
                    return False
                continue
            finally:
                if record is not None:
                    self._objects.called(record)
            for count, (p, _, values) in enumerate(submitted):
                out = self.emitted[p]
                out.events.append(number)
                out.ranks.append(no_rank)
                out.numbers.append(count)
                out.values.append(values)
        return True

    @property
    def _objects(self) -> ObjectTable:
        assert isinstance(self.table, ObjectTable)
        return self.table

    def _at_mark(self, number: int, time: int) -> bool:
        """Let the keys act that have something due at this time."""
        assert self.state is not None
        assert self._objects.due is not None
        self.state.load_all(self.operator.name)
        return self._act(number, self._objects.due.take(time), time)

    def _at_end(self, number: int) -> bool:
        """Let every key act."""
        assert self.state is not None
        self.state.load_all(self.operator.name)
        return self._act(number, list(self._objects.all()), None)

    def _act(self, number: int, records: Sequence[KeyRecord], time: int | None) -> bool:
        """Let these keys act at a mark, or at the end (`time` None)."""
        assert self.state is not None
        found: list[tuple[tuple[int, ...], int, int, tuple[Any, ...]]] = []
        now = self._shown_now(self.now if time is None else time)
        for record in records:
            self.state.dirty.add(record.bucket)
            submitted = Submissions(self.operator.result_type)
            record.logic._submitted, record.logic.now = submitted, now
            try:
                record.logic.at_end() if time is None else record.logic.on_mark(time)
                results = [
                    ((rank, *record.rank), count, p, values) for count, (p, rank, values) in enumerate(submitted)
                ]
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                what = "the end" if time is None else f"the mark {time}"
                if not self._failed(number, (0, *record.rank), error, what):
                    return False
                continue
            finally:
                self._objects.called(record)
            found += results
        for rank, count, p, values in sorted(found, key=lambda item: item[:2]):
            out = self.emitted[p]
            out.events.append(number)
            out.ranks.append(rank)
            out.numbers.append(count)
            out.values.append(values)
        return True

    def _shown_now(self, time: int | None) -> int | None:
        """What `self.now` is at a time, or, where marks are made, in an epoch: at a punctuation it is None."""
        return time if self.operator.timed or self.operator.makes_marks else None

    def _not_advanced(self, number: int) -> None:
        """Event time does not go back. The first mark of an epoch is forwarded all the same: it shows that the stream
        is not idle."""
        assert self.state is not None
        if self.operator.name not in self.state.marked:
            self._forward(number, NO_TIME if self.now is None else self.now)

    def _passed(self, number: int, time: int) -> None:
        """All keys have acted: store the event time and forward the mark."""
        assert self.state is not None
        self.now = self.state.times()[self.operator.name] = time
        self._forward(number, time)

    def _forward(self, number: int, time: int) -> None:
        assert self.state is not None
        self.state.marked.add(self.operator.name)
        port = self.operator.mark_output
        assert port is not None
        out = self.emitted[port]
        out.events.append(number)
        out.ranks.append((LAST_RANK, *self.no_rank[1:]) if self.no_rank else ())
        out.numbers.append(0)
        out.values.append((time,))

    def _failed(self, number: int, rank: tuple[int, ...], error: BaseException, event: Any) -> bool:
        """Apply the operator's policy to a failed event, a tuple or the text of another one; returns whether to
        continue."""
        port = self.operator.dead_port
        if port is None and self.operator.on_error == "skip":
            self.skipped += 1
            return True
        shown = event if isinstance(event, str) else repr(event)
        if port is None:
            at = self._positions(np.array([number]), self.order, self.end)
            self.failures.append(FailedEvent((*at.order_key(0), *rank, 0), error, shown))
            return False
        out = self.emitted[port]
        out.events.append(number)
        out.ranks.append(rank)
        out.numbers.append(0)
        out.values.append((self.operator.name, summary(error), shown))
        return True

    def _frame(self, port: int, order: tuple[Frame, Array] | None, end: int | None) -> Frame | None:
        out = self.emitted[port]
        if not out.events:
            return None
        events = np.array(out.events, np.int64)
        frame = self._positions(events, order, end)
        subs = tuple(np.array(column, np.int64) for column in zip(*out.ranks, strict=True))
        numbers = np.array(out.numbers, np.int64)
        columns = columns_of(out.values, self.operator.outputs[port])
        return Frame(frame.position, (*frame.subs, *subs, numbers), columns)

    def _positions(self, events: Array, order: tuple[Frame, Array] | None, end: int | None) -> Frame:
        """The position of each emitted tuple's event; the end is a separate event after all others."""
        count = 0 if order is None else len(order[1])
        whole = Frame(np.full(1, end or 0, np.int64), (), {}).padded(self.ports.width)
        if order is not None:
            whole = join_frames([order[0].take(order[1]), whole])
        return whole.take(np.minimum(events, count))

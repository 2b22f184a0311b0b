"""The reference: one tuple at a time from the log, depth first, operators in declaration order.

Slow and obviously correct. It has its own windows and folds (`reference_windows.py`); it shares the definition of equal
keys with the kernels, and it runs the same code of other operators written in Python. It computes the order key of each
tuple and checks that its own order agrees with these keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from thalweg.analysis.liveness import live_attributes
from thalweg.analysis.order_keys import order_layout
from thalweg.engine.inputs.feedback import until_nothing_is_fed
from thalweg.engine.inputs.readers import InputReader, readers
from thalweg.engine.inputs.tolerant_files import TolerantReader
from thalweg.engine.storage.log import Epoch, Piece
from thalweg.errors import InternalError, TupleError
from thalweg.ir.canonical_form import canonical
from thalweg.ir.completeness import complete
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.logic import Logic, Submitted, acts_on_marks, fresh
from thalweg.ir.operators import (
    BAD_RECORD,
    DEAD_LETTER,
    OPERATORS,
    Aggregate,
    Feedback,
    Join,
    MapBatches,
    Operator,
    Process,
    Sink,
    Source,
    StreamRef,
    Union,
    rank_width,
)
from thalweg.ir.types import INT64_MIN, TupleType
from thalweg.ir.user_tracebacks import raised_in
from thalweg.ir.user_tuples import row_maker, unpack
from thalweg.ir.values import carried
from thalweg.library.window_aggregate import WindowAggregate, make_config
from thalweg.runtime import batches
from thalweg.runtime.columns import from_values, to_list
from thalweg.runtime.frame import Frame
from thalweg.runtime.key_ranks import LAST_RANK, hash_of, key_rank
from thalweg.runtime.pe_counts import Counts
from thalweg.runtime.row_functions import rows
from thalweg.verify.reference_per_tuple import PER_TUPLE, Emitted, OrderKey, make_mark, make_row
from thalweg.verify.reference_windows import ReferenceWindow, reference_window

Answer = dict[str, list[tuple[Any, ...]]]


class Reference:
    """Computes the answer for a log. After a tuple failed, `answer` holds the output up to the last complete epoch."""

    def __init__(self, graph: LogicalGraph) -> None:
        self.graph = graph
        self.layout = order_layout(graph)
        self.state: dict[str, dict[tuple[Any, ...], Any]] = {o.name: {} for o in graph.stateful}
        self.lone = {o.name: self._fresh(o) for o in graph.operators if isinstance(o, Process) and o.by is None}
        self.answer: Answer = {sink.name: [] for sink in graph.sinks}
        self.open: Answer = {}
        self.counts, self.counting = Counts(), Counts()  # of all complete epochs, and of the current one
        self.fed: dict[str, list[Any]] = {loop.name: [] for loop in graph.loops}
        self.last_key: dict[str, OrderKey] = {}
        self.now: dict[str, int] = {}  # the event time at each operator that receives marks
        self.live = live_attributes(graph)

    def run(self, log: Iterable[Epoch]) -> Answer:
        live = live_attributes(self.graph, by_rows=True)
        inputs = readers(self.graph, {s.name: live[s.output] for s in self.graph.sources})
        for epoch in until_nothing_is_fed(log, lambda: any(self.fed.values())):
            self.open, self.counting = {name: [] for name in self.answer}, Counts()
            self.last_key = {}
            self._feed(epoch.base)
            for piece in epoch.pieces():
                reader = inputs[piece.chunk.source]
                for position, port, row in _in_order(reader, piece):
                    self._deliver(StreamRef(piece.chunk.source, port), row, (position,))
            if epoch.final:
                self._end(epoch.base)
            for name, emitted in self.open.items():
                self.answer[name] += emitted
            self.counts.add(self.counting)
        return self.answer

    def _feed(self, base: int) -> None:
        """Deliver the tuples that the previous epoch fed back; they come first."""
        fed, self.fed = self.fed, {loop.name: [] for loop in self.graph.loops}
        position = base - sum(map(len, fed.values()))
        for name, came_back in fed.items():
            for row in came_back:
                self._deliver(StreamRef(name), row, (position,))
                position += 1

    def _end(self, base: int) -> None:
        """Deliver the output at the end of the input, operator by operator, each at a position of its own."""
        for index, operator in enumerate(self.graph.operators):
            if operator.acts_at_end:
                widths = [self.layout.port_width(operator, port) for port in range(len(operator.inputs))]
                key = (base + index, *(0,) * max(widths))
                self._send(operator, self._close(operator, key))

    def _close(self, operator: Operator, key: OrderKey) -> Emitted:
        return _CLOSE[type(operator)](self, operator, key)

    def _send(self, operator: Operator, emitted: Emitted) -> None:
        for port, row, key in emitted:
            self._deliver(StreamRef(operator.name, port), row, key)

    def _deliver(self, stream: StreamRef, row: Any, key: OrderKey) -> None:
        self.counting.send(stream.operator, stream.port, 1)
        for operator, port in self.graph.consumers[stream]:
            branch = self.layout.branch.get((operator.name, port))
            at = key if branch is None else (*key, branch)
            try:
                emitted = self._process(operator, port, row, at)
            except Exception as error:  # any exception of a user's function is an error of its tuple
                shown = _as_type(self.graph.type_of(stream), row, self.live[stream])
                emitted = self._failed(operator, at, error, repr(shown))
            self._send(operator, emitted)

    def _failed(self, operator: Operator, key: OrderKey, error: Exception, shown: str) -> Emitted:
        """Apply the operator's error policy to a failed tuple."""
        text = f"{type(error).__name__}: {error}"
        if operator.on_error == "fail":
            at = raised_in(error)
            raise TupleError(text, operator=operator.name, where=operator.where, at=at, found=shown) from error
        if operator.dead_port is None:
            self.counting.skip(operator.name)
            return []
        letter = row_maker(DEAD_LETTER, DEAD_LETTER.names)(operator.name, text, shown)
        return [(operator.dead_port, letter, self._wide(operator, key))]

    def _wide(self, operator: Operator, key: OrderKey) -> OrderKey:
        """The order key, padded to the width of the keys of the operator's output."""
        return key + (0,) * (self.layout.width[operator.output] + 1 - len(key))

    def _process(self, operator: Operator, port: int, row: Any, key: OrderKey) -> Emitted:
        if type(operator) in PER_TUPLE:
            return PER_TUPLE[type(operator)](operator, row, key)
        return _TAKE[type(operator)](self, operator, port, row, key)

    def _union(self, operator: Union, port: int, row: Any, key: OrderKey) -> Emitted:
        return [(0, _as_type(operator.outputs[0], row, operator.outputs[0].names), self._wide(operator, key))]

    def _map_batches(self, operator: MapBatches, port: int, row: Any, key: OrderKey) -> Emitted:
        tuple_type = self.graph.type_of(operator.inputs[0])
        columns = {n: from_values([carried(getattr(row, n))], kind) for n, kind in tuple_type.attributes}
        made = batches.apply(operator, Frame(_ONE, (), columns), tuple_type)
        return [(0, make_row(operator, tuple(to_list(column)[0] for column in made.values())), key)]

    def _running(self, operator: Aggregate, port: int, row: Any, key: OrderKey) -> Emitted:
        values = self._aggregate(operator, row)
        return [] if values is None else [(0, make_row(operator, values), self._wide(operator, key))]

    def _joined(self, operator: Join, port: int, row: Any, key: OrderKey) -> Emitted:
        return [(0, joined, key) for joined in self._join(operator, port, row)]

    def _in_python(self, operator: Process, port: int, row: Any, key: OrderKey) -> Emitted:
        padded = key + (0,) * (self._port_width(operator) + 1 - len(key))
        if port == operator.mark_port:
            return self._on_mark(operator, padded, row.time)
        return self._take(operator, port, row, padded)

    def _port_width(self, operator: Operator) -> int:
        return max(self.layout.port_width(operator, port) for port in range(len(operator.inputs)))

    def _sink(self, sink: Sink, port: int, row: Any, key: OrderKey) -> Emitted:
        if self.last_key.get(sink.name, ()) >= key:
            raise InternalError(f"sink {sink.name}: {key} does not come after {self.last_key[sink.name]}")
        self.last_key[sink.name] = key
        if sink.endpoint.feeds is not None:
            self.fed[sink.endpoint.feeds].append(row)
        names = self.graph.type_of(sink.inputs[0]).names
        self.open[sink.name].append(tuple(carried(getattr(row, name)) for name in names))
        return []

    # Aggregates and joins.

    def _aggregate(self, operator: Aggregate, row: Any) -> tuple[Any, ...] | None:
        """State of a key: its window, and its own values."""
        table, key = self.state[operator.name], _key(row, operator.window.by)
        if key not in table:
            own = tuple(carried(getattr(row, n)) for n in operator.window.by)
            config = make_config(operator.window, operator.folds, operator.fields)
            table[key] = reference_window(config), own
        window, _ = table[key]
        found = _submitted(window, lambda: window.process(row, 0))
        return tuple(found[0].values()) if found else None

    def _close_aggregate(self, operator: Aggregate, key: OrderKey) -> Emitted:
        """The windows that are still open at the end."""
        tuple_type = self.graph.type_of(operator.inputs[0])
        kinds = [tuple_type.kind(n) for n in operator.window.by]
        windows = [((*key, 0, *_rank(own, kinds)), window) for window, own in self.state[operator.name].values()]
        emitted: Emitted = []
        for at, window in sorted(windows, key=lambda item: item[0]):
            try:
                found = _submitted(window, window.at_end)
                emitted += [(0, make_row(operator, tuple(values.values())), at) for values in found]
            except Exception as error:
                emitted += self._failed(operator, at, error, "the end")
        return emitted

    def _join(self, operator: Join, port: int, row: Any) -> list[Any]:
        table, key = self.state[operator.name], _key(row, operator.on)
        if port == 1:
            table[key] = row
            return []
        if key not in table:
            return []
        output = operator.outputs[0]
        left = self.graph.type_of(operator.inputs[0])
        sides: Mapping[bool, Any] = {True: row, False: table[key]}
        names = [n for n in output.names if hasattr(sides[left.get(n) is not None], n)]
        values = [getattr(sides[left.get(n) is not None], n) for n in names]
        return [row_maker(output, names)(*values)]

    # Operators written in Python. State of a key: its object, and its rank among the keys.

    def _fresh(self, operator: Process) -> Logic:
        if isinstance(operator.logic, WindowAggregate):
            return reference_window(operator.logic.config)
        logic = fresh(operator.logic)
        logic.resource = operator.logic.setup()
        return logic

    def _take(self, operator: Process, port: int, row: Any, key: OrderKey) -> Emitted:
        if operator.by is None:
            logic = self.lone[operator.name]
        else:
            by = operator.by[port]
            own = tuple(carried(getattr(row, n)) for n in by)
            kinds = [self.graph.type_of(operator.inputs[port]).kind(n) for n in by]
            table = self.state[operator.name]
            logic, _ = table.setdefault(_key(row, by), (self._fresh(operator), _rank(own, kinds)))
        submitted: list[Submitted] = []
        logic._submitted = submitted
        logic.now = self.now.get(operator.name)
        logic.process(row, port)
        results = [(p, unpack(value, operator.result_type(p))) for p, _, value in submitted]
        no_rank = (0,) * rank_width(operator)
        return [(p, make_row(operator, v, p), (*key, *no_rank, i)) for i, (p, v) in enumerate(results)]

    def _on_mark(self, operator: Process, key: OrderKey, time: int) -> Emitted:
        if operator.timed and time <= self.now.get(operator.name, time - 1):
            return []  # event time never decreases
        emitted = self._all_keys(operator, key, time) if acts_on_marks(operator.logic) else []
        self.now[operator.name] = time
        assert operator.mark_output is not None
        width = rank_width(operator)
        last = (LAST_RANK, *(0,) * (width - 1)) if width else ()
        return [*emitted, (operator.mark_output, make_mark(time), (*key, *last, 0))]

    def _all_keys(self, operator: Process, key: OrderKey, time: int | None) -> Emitted:
        """The output of all keys at a mark, or at the end (no time)."""
        emitted: Emitted = []
        for name in list(self.state[operator.name]):
            logic, rank = self.state[operator.name][name]
            due = getattr(logic, "due", INT64_MIN)
            if time is not None and (due is None or time < due):
                continue
            submitted: list[Submitted] = []
            logic._submitted = submitted
            try:
                logic.at_end() if time is None else logic.on_mark(time)
                results = [(p, r, unpack(value, operator.result_type(p))) for p, r, value in submitted]
            except Exception as error:
                what = "the end" if time is None else f"the mark {time}"
                emitted += [
                    (p, letter, (*key, 0, *rank, 0)) for p, letter, _ in self._failed(operator, key, error, what)
                ]
                continue
            if getattr(logic, "is_empty", False):
                del self.state[operator.name][name]
            emitted += [
                (p, make_row(operator, values, p), (*key, r, *rank, i)) for i, (p, r, values) in enumerate(results)
            ]
        return sorted(emitted, key=lambda item: item[2])


# The output of the other kinds of operators for a tuple, and the output of operators at the end.
_TAKE: Mapping[type[Operator], Callable[[Reference, Any, int, Any, OrderKey], Emitted]] = complete(
    {
        Sink: Reference._sink,
        Union: Reference._union,
        MapBatches: Reference._map_batches,
        Aggregate: Reference._running,
        Join: Reference._joined,
        Process: Reference._in_python,
    },
    OPERATORS.values(),
    "the reference",
    but=(Source, Feedback, *PER_TUPLE),
)
_CLOSE: Mapping[type[Operator], Callable[[Reference, Any, OrderKey], Emitted]] = complete(
    {
        Aggregate: Reference._close_aggregate,
        Process: lambda reference, operator, key: reference._all_keys(operator, key, None),
    },
    [kind for kind in OPERATORS.values() if isinstance(kind.acts_at_end, property)],
    "the end of the input in the reference",
)
_ONE = np.zeros(1, np.int64)


def _in_order(reader: InputReader, piece: Piece) -> Iterator[tuple[int, int, Any]]:
    """Position, output port and tuple: the tuples that were read, and dead letters for invalid rows."""
    if isinstance(reader, TolerantReader):
        found = list(reader.read(piece, 4096))
        letters = [row for one in found for row in _rows(one.letters, BAD_RECORD, 1)]
        tuples = [row for one in found for row in _rows(one.tuples, reader.tuple_type, 0)]
        yield from sorted([*tuples, *letters], key=lambda row: row[0])
        return
    for frame in reader.frames(piece, 4096):
        yield from _rows(frame, reader.tuple_type, 0)


def _rows(frame: Frame | None, tuple_type: TupleType, port: int) -> Iterator[tuple[int, int, Any]]:
    if frame is not None:
        yield from ((p, port, row) for p, row in zip(frame.position.tolist(), rows(frame, tuple_type), strict=True))


def _submitted(window: ReferenceWindow, act: Callable[[], None]) -> list[dict[str, Any]]:
    """The results that a window submits."""
    submitted: list[Submitted] = []
    window._submitted = submitted
    act()
    return [values for _, _, values in submitted]


def _rank(values: tuple[Any, ...], kinds: list[Any]) -> tuple[int, ...]:
    return key_rank(values, hash_of(values, kinds)) if values else ()


def _as_type(tuple_type: TupleType, row: Any, names: Iterable[str]) -> Any:
    """The tuple with those of these attributes that were read; attributes that no operator reads are missing."""
    present = [name for name in names if hasattr(row, name)]
    return row_maker(tuple_type, present)(*(getattr(row, name) for name in present))


def _key(row: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    """A dict key: for int, float and str the value itself, with one key for all NaNs; otherwise the canonical form."""
    return tuple(_equal_as(getattr(row, n)) for n in names)


def _equal_as(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value
    return value if isinstance(value, int | str) else canonical(carried(value))

"""The reference: one tuple at a time from the log, depth first, operators in declaration order.

Slow and obviously correct. It shares no operator code with the engines: `reference_definitions.py` has a definition of
every operator of the library. It computes the order key of each tuple and checks that its own order agrees with these
keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from thalweg.analysis.liveness import live_attributes
from thalweg.engine.inputs.feedback import until_nothing_is_fed
from thalweg.engine.inputs.readers import readers
from thalweg.engine.storage.log import Epoch
from thalweg.errors import InternalError, ResourceError, TupleError, summary
from thalweg.ir.completeness import complete
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import (
    DEAD_LETTER,
    OPERATORS,
    Aggregate,
    Entry,
    Feedback,
    Join,
    MapBatches,
    Operator,
    Process,
    Sink,
    Source,
    StreamRef,
    Union,
)
from thalweg.ir.user_tracebacks import raised_in
from thalweg.ir.user_tuples import row_maker
from thalweg.ir.values import carried
from thalweg.runtime.pe_counts import Counts
from thalweg.verify.reference_batches import batch_of_one
from thalweg.verify.reference_input import tuples_in_order
from thalweg.verify.reference_per_tuple import PER_TUPLE, Emitted, OrderKey, as_type, make_row, own_row
from thalweg.verify.reference_stateful import StatefulOperators

Answer = dict[str, list[tuple[Any, ...]]]


class Reference(StatefulOperators):
    """Computes the answer for a log. After a tuple failed, `answer` holds the output up to the last complete epoch."""

    def __init__(self, graph: LogicalGraph) -> None:
        super().__init__(graph)
        self.answer: Answer = {sink.name: [] for sink in graph.sinks}
        self.open: Answer = {}
        self.counts, self.counting = Counts(), Counts()  # of all complete epochs, and of the current one
        self.fed: dict[str, list[Any]] = {loop.name: [] for loop in graph.loops}
        self.last_key: dict[str, OrderKey] = {}
        self.live = live_attributes(graph)

    def run(self, log: Iterable[Epoch]) -> Answer:
        live = live_attributes(self.graph, by_rows=True)
        inputs = readers(self.graph, {s.name: live[s.output] for s in self.graph.sources})
        for epoch in until_nothing_is_fed(log, lambda: any(self.fed.values())):
            self.open, self.counting = {name: [] for name in self.answer}, Counts()
            self.last_key = {}
            self.epoch = epoch.number
            self.forwarded = set()
            self._feed(epoch.base)
            for piece in epoch.pieces():
                source, split = piece.chunk.source, piece.chunk.split
                for key, port, row in tuples_in_order(inputs[source], piece):
                    self._deliver(StreamRef(source, port), row, (*key, *self._origin(source, split)))
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
                self._deliver(StreamRef(name), row, (position, *self._origin(name, 0)))
                position += 1

    def _origin(self, name: str, split: int) -> tuple[int, ...]:
        """Where event times depend on where a tuple comes from, its order key has the number of that place. Readers of
        spools with splits return it with the tuple."""
        entry = self.graph.by_name[name]
        assert isinstance(entry, Entry)
        if entry.finds_splits:
            return ()
        return (entry.origin + (split if entry.origins > 1 else 0),) if entry.origin else ()

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
            own = self.graph.input_types(operator)[port]
            given = own_row(own, row) if operator.own_types else row
            try:
                emitted = self._process(operator, port, given, at)
            except (ResourceError, TupleError, KeyboardInterrupt):  # not of this tuple: of `setup`, or at a mark
                raise
            except BaseException as error:  # any exception of a user's function is an error of its tuple
                shown = as_type(own, given, self.live[stream])
                emitted = self._failed(operator, at, error, repr(shown))
            self._send(operator, emitted)

    def _failed(self, operator: Operator, key: OrderKey, error: BaseException, shown: str) -> Emitted:
        """Apply the operator's error policy to a failed tuple."""
        text = summary(error)
        if operator.on_error == "fail":
            at = raised_in(error)
            raise TupleError(text, operator=operator.name, where=operator.where, at=at, found=shown) from error
        if operator.dead_port is None:
            self.counting.skip(operator.name)
            return []
        letter = row_maker(DEAD_LETTER, DEAD_LETTER.names)(operator.name, text, shown)
        return [(operator.dead_port, letter, self._wide(operator, key))]

    def _process(self, operator: Operator, port: int, row: Any, key: OrderKey) -> Emitted:
        if type(operator) in PER_TUPLE:
            return PER_TUPLE[type(operator)](operator, row, key)
        return _TAKE[type(operator)](self, operator, port, row, key)

    def _union(self, operator: Union, port: int, row: Any, key: OrderKey) -> Emitted:
        return [(0, as_type(operator.outputs[0], row, operator.outputs[0].names), self._wide(operator, key))]

    def _map_batches(self, operator: MapBatches, port: int, row: Any, key: OrderKey) -> Emitted:
        made = batch_of_one(operator, row, self.graph.input_types(operator)[0])
        return [(0, make_row(operator, made), key)]

    def _sink(self, sink: Sink, port: int, row: Any, key: OrderKey) -> Emitted:
        if self.last_key.get(sink.name, ()) >= key:
            raise InternalError(f"sink {sink.name}: {key} does not come after {self.last_key[sink.name]}")
        self.last_key[sink.name] = key
        if sink.endpoint.feeds is not None:
            looped = self.graph.type_of(StreamRef(sink.endpoint.feeds))
            self.fed[sink.endpoint.feeds].append(as_type(looped, row, looped.names))
        names = self.graph.type_of(sink.inputs[0]).names
        self.open[sink.name].append(tuple(carried(getattr(row, name)) for name in names))
        return []


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

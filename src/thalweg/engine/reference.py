"""The reference: one tuple at a time from the log, depth first, operators in declaration order.

Slow and obviously right. It shares nothing with the kernels but the definition of a window's fold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from thalweg.analysis.liveness import live_attributes
from thalweg.engine.inputs import readers
from thalweg.engine.log import Epoch
from thalweg.errors import TupleError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import (
    Aggregate,
    Filter,
    FlatMap,
    Join,
    Map,
    Operator,
    Sink,
    Sliding,
    Split,
    StreamRef,
    Union,
    fold_name,
)
from thalweg.ir.types import TupleType, conform
from thalweg.runtime.aggregate import row_fields
from thalweg.runtime.rows import row_maker, rows, unpack
from thalweg.runtime.scalar import STEPS, fold_window

Answer = dict[str, list[tuple[Any, ...]]]


class Reference:
    """The answer for a log. After a tuple failed, `answer` holds the output up to the last whole epoch."""

    def __init__(self, graph: LogicalGraph) -> None:
        self.graph = graph
        self.state: dict[str, dict[tuple[Any, ...], Any]] = {o.name: {} for o in graph.stateful}
        self.answer: Answer = {sink.name: [] for sink in graph.sinks}
        self.open: Answer = {}
        self.live = live_attributes(graph)

    def run(self, log: Iterable[Epoch]) -> Answer:
        live = live_attributes(self.graph, by_rows=True)
        inputs = readers(self.graph, {s.name: live[s.output] for s in self.graph.sources})
        for epoch in log:
            self.open = {name: [] for name in self.answer}
            for piece in epoch.pieces():
                reader = inputs[piece.chunk.source]
                for frame in reader.frames(piece, 4096):
                    for row in rows(frame, reader.tuple_type):
                        self._deliver(StreamRef(piece.chunk.source), row)
            for name, emitted in self.open.items():
                self.answer[name] += emitted
        return self.answer

    def _deliver(self, stream: StreamRef, row: Any) -> None:
        for operator, port in self.graph.consumers[stream]:
            try:
                emitted = self._process(operator, port, row)
            except Exception as error:  # whatever a user's function raises belongs to its tuple
                shown = _as_type(self.graph.type_of(stream), row, self.live[stream])
                raise TupleError(
                    f"{type(error).__name__}: {error}", operator=operator.name, where=operator.where, found=repr(shown)
                ) from error
            for out_port, result in emitted:
                self._deliver(StreamRef(operator.name, out_port), result)

    def _process(self, operator: Operator, port: int, row: Any) -> list[tuple[int, Any]]:
        match operator:
            case Sink():
                names = self.graph.type_of(operator.inputs[0]).names
                self.open[operator.name].append(tuple(getattr(row, name) for name in names))
                return []
            case Map(function=function):
                return [(0, self._make(operator, unpack(function.callable(row), operator.outputs[0])))]
            case Filter(function=function):
                return [(0, row)] if function.callable(row) else []
            case FlatMap(function=function):
                results = [unpack(item, operator.outputs[0]) for item in function.callable(row)]
                return [(0, self._make(operator, values)) for values in results]
            case Split(function=function):
                chosen = function.callable(row)
                if type(chosen) is not int or not 0 <= chosen < len(operator.outputs):
                    raise ValueError(f"expected a port in 0..{len(operator.outputs) - 1}, found {chosen!r}")
                return [(chosen, row)]
            case Union():
                return [(0, _as_type(operator.outputs[0], row, operator.outputs[0].names))]
            case Aggregate():
                values = self._aggregate(operator, row)
                return [] if values is None else [(0, self._make(operator, values))]
            case Join():
                return self._join(operator, port, row)
        raise AssertionError(operator)

    def _make(self, operator: Operator, values: tuple[Any, ...]) -> Any:
        output = operator.outputs[0]
        return row_maker(output, output.names)(*values)

    def _aggregate(self, operator: Aggregate, row: Any) -> tuple[Any, ...] | None:
        """State of a key: its count, and for each fold the window's values (sliding) or the folded value (running)."""
        table, key = self.state[operator.name], _key(row, operator.window.by)
        count, held = table.get(key, (0, [None] * len(operator.folds)))
        arguments = [None if f.argument is None else conform(f.argument.callable(row), f.type) for f in operator.folds]
        count += 1
        folds: dict[str, Any] = {}
        kept: list[Any] = []
        for i, (fold, argument, old) in enumerate(zip(operator.folds, arguments, held, strict=True)):
            if isinstance(operator.window, Sliding):
                size = operator.window.count
                values = [*(old or ()), argument][-size:]
                kept.append(values)
                folds[fold_name(i)] = (
                    len(values) if fold.kind == "count" else fold_window(fold.kind, values, max(0, count - size), size)
                )
            else:
                value = argument if count == 1 else None if argument is None else STEPS[fold.kind](old, argument)
                kept.append(value)
                folds[fold_name(i)] = count if fold.kind == "count" else value
        table[key] = count, kept
        slide = operator.window.slide if isinstance(operator.window, Sliding) else 1
        return row_fields(operator.fields.fields, folds) if count % slide == 0 else None

    def _join(self, operator: Join, port: int, row: Any) -> list[tuple[int, Any]]:
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
        return [(0, row_maker(output, names)(*values))]


def _as_type(tuple_type: TupleType, row: Any, names: Iterable[str]) -> Any:
    """The tuple with those of these attributes that were read; what nothing reads is in no file's row."""
    present = [name for name in names if hasattr(row, name)]
    return row_maker(tuple_type, present)(*(getattr(row, name) for name in present))


def _key(row: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    """Python's own equality of dict keys, with all NaNs made one key."""
    return tuple("nan" if isinstance(v, float) and math.isnan(v) else v for v in (getattr(row, n) for n in names))

"""Operators with state in the reference: aggregates, joins, and operators written in Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from thalweg.analysis.order_keys import order_layout
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.logic import Submitted, acts_on_marks, wakes_at
from thalweg.ir.operators import NO_TIME, Aggregate, Join, Operator, Process, rank_width
from thalweg.ir.submissions import Submissions
from thalweg.ir.user_tuples import row_maker
from thalweg.ir.values import carried
from thalweg.verify.reference_definitions import check_definition, new_object, new_window
from thalweg.verify.reference_keys import LAST_RANK, key_of, rank_of
from thalweg.verify.reference_per_tuple import Emitted, OrderKey, make_mark, make_row
from thalweg.verify.reference_windows import Fields, ReferenceWindow


class StatefulOperators(ABC):
    """What operators keep for each key, and what they emit for a tuple, at a mark and at the end."""

    def __init__(self, graph: LogicalGraph) -> None:
        self.graph = graph
        self.layout = order_layout(graph)
        self.state: dict[str, dict[tuple[Any, ...], Any]] = {o.name: {} for o in graph.stateful}
        processes = [o for o in graph.operators if isinstance(o, Process)]
        for process in processes:
            check_definition(process)
        self.lone = {o.name: new_object(o) for o in processes if o.by is None}
        self.now: dict[str, int] = {}  # the event time at each operator that receives marks
        self.epoch = 0
        self.forwarded: set[str] = set()  # the operators that have forwarded a mark in this epoch

    @abstractmethod
    def _failed(self, operator: Operator, key: OrderKey, error: BaseException, shown: str) -> Emitted:
        """Apply the operator's error policy to a failed tuple."""

    def _wide(self, operator: Operator, key: OrderKey) -> OrderKey:
        """The order key, padded to the width of the keys of the operator's output."""
        return key + (0,) * (self.layout.width[operator.output] + 1 - len(key))

    # Aggregates and joins.

    def _running(self, operator: Aggregate, port: int, row: Any, key: OrderKey) -> Emitted:
        values = self._aggregate(operator, row)
        return [] if values is None else [(0, make_row(operator, values), self._wide(operator, key))]

    def _joined(self, operator: Join, port: int, row: Any, key: OrderKey) -> Emitted:
        return [(0, joined, key) for joined in self._join(operator, port, row)]

    def _aggregate(self, operator: Aggregate, row: Any) -> tuple[Any, ...] | None:
        """State of a key: its window, and its own values."""
        table, key = self.state[operator.name], key_of(row, operator.window.by)
        if key not in table:
            own = tuple(carried(getattr(row, n)) for n in operator.window.by)
            table[key] = new_window(operator.window, Fields(operator.folds, operator.fields)), own
        window, _ = table[key]
        found = _submitted(window, lambda: window.process(row, 0))
        return tuple(found[0].values()) if found else None

    def _close_aggregate(self, operator: Aggregate, key: OrderKey) -> Emitted:
        """The windows that are still open at the end."""
        tuple_type = self.graph.type_of(operator.inputs[0])
        kinds = [tuple_type.kind(n) for n in operator.window.by]
        windows = [((*key, 0, *rank_of(own, kinds)), window) for window, own in self.state[operator.name].values()]
        emitted: Emitted = []
        for at, window in sorted(windows, key=lambda item: item[0]):
            try:
                found = _submitted(window, window.at_end)
                emitted += [(0, make_row(operator, tuple(values.values())), at) for values in found]
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                emitted += self._failed(operator, at, error, "the end")
        return emitted

    def _join(self, operator: Join, port: int, row: Any) -> list[Any]:
        table, key = self.state[operator.name], key_of(row, operator.on)
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

    def _in_python(self, operator: Process, port: int, row: Any, key: OrderKey) -> Emitted:
        padded = key + (0,) * (self._port_width(operator) + 1 - len(key))
        if port == operator.mark_port:
            return self._on_mark(operator, padded, row.time)
        return self._take(operator, port, row, padded)

    def _port_width(self, operator: Operator) -> int:
        return max(self.layout.port_width(operator, port) for port in range(len(operator.inputs)))

    def _take(self, operator: Process, port: int, row: Any, key: OrderKey) -> Emitted:
        if operator.by is None:
            logic = self.lone[operator.name]
        else:
            by = operator.by[port]
            own = tuple(carried(getattr(row, n)) for n in by)
            kinds = [self.graph.type_of(operator.inputs[port]).kind(n) for n in by]
            table, found = self.state[operator.name], key_of(row, by)
            if found not in table:
                table[found] = new_object(operator), rank_of(own, kinds)
            logic, _ = table[found]
        submitted = Submissions(operator.result_type)
        logic._submitted = submitted
        if operator.makes_marks:
            logic.now = self.epoch
        else:
            logic.now = self.now.get(operator.name) if operator.timed else None
        try:
            logic.process(row, port)
        finally:
            if operator.by is not None and logic._forgotten:
                del self.state[operator.name][key_of(row, operator.by[port])]
        no_rank = (0,) * rank_width(operator)
        return [(p, make_row(operator, v, p), (*key, *no_rank, i)) for i, (p, _, v) in enumerate(submitted)]

    def _on_mark(self, operator: Process, key: OrderKey, time: int) -> Emitted:
        emitted: Emitted = []
        if operator.timed and time <= self.now.get(operator.name, NO_TIME):
            # Event time never decreases; but the first mark of an epoch shows that the stream is not idle.
            if operator.name in self.forwarded:
                return []
        else:
            emitted = self._all_keys(operator, key, time) if acts_on_marks(operator.logic) else []
            self.now[operator.name] = time
        self.forwarded.add(operator.name)
        assert operator.mark_output is not None
        width = rank_width(operator)
        last = (LAST_RANK, *(0,) * (width - 1)) if width else ()
        mark = make_mark(self.now.get(operator.name, NO_TIME))
        return [*emitted, (operator.mark_output, mark, (*key, *last, 0))]

    def _all_keys(self, operator: Process, key: OrderKey, time: int | None) -> Emitted:
        """The output of all keys at a mark, or at the end (no time), in the order of the keys."""
        emitted: Emitted = []
        for logic, rank in sorted(self.state[operator.name].values(), key=lambda item: item[1]):
            if time is not None and time < wakes_at(logic):
                continue
            submitted = Submissions(operator.result_type)
            logic._submitted = submitted
            logic.now = (self.now.get(operator.name) if time is None else time) if operator.timed else None
            try:
                logic.at_end() if time is None else logic.on_mark(time)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                what = "the end" if time is None else f"the mark {time}"
                emitted += [
                    (p, letter, (*key, 0, *rank, 0)) for p, letter, _ in self._failed(operator, key, error, what)
                ]
                continue
            emitted += [
                (p, make_row(operator, values, p), (*key, r, *rank, i)) for i, (p, r, values) in enumerate(submitted)
            ]
        held = self.state[operator.name].items()
        self.state[operator.name] = {own: (logic, rank) for own, (logic, rank) in held if not logic._forgotten}
        return sorted(emitted, key=lambda item: item[2])


def _submitted(window: ReferenceWindow, act: Callable[[], None]) -> list[dict[str, Any]]:
    """The results that a window submits."""
    submitted: list[Submitted] = []
    window._submitted = submitted
    act()
    return [values for _, _, values in submitted]

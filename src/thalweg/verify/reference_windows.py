"""Windows and folds in the reference: computed from lists of a window's values, without the code of the engines.

A window's values are in *runs*. The values of a run are folded from the oldest to the newest, then the runs are folded
from the oldest to the newest. A running or tumbling window is one run; a window in event time, or between punctuations,
has a run for each pane. The panes of a window in event time are not in order of arrival: folds that depend on the order
are folded in order of arrival, as if the window were one run. A sliding window is the end of one block, folded from its
newest value back to its oldest, and the start of the next. The first block starts with the first tuple; a new one
starts with the tuple that pushes the first tuple of the current block out of the window.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from thalweg.ir.expr import Record, evaluate
from thalweg.ir.folds import Fold
from thalweg.ir.logic import Logic
from thalweg.ir.times import to_time
from thalweg.ir.types import INT, conform
from thalweg.library.fold_spec import Definition
from thalweg.library.folds import FOLDS
from thalweg.verify.reference_order import difference

_TUPLES = Definition(lambda values, fold: values)  # for functions of a window's tuples
_BOUND = Definition(lambda zones, fold: zones[0])  # the start or the end of a window, in the zone of its oldest tuple


@dataclass(frozen=True, slots=True)
class Fields:
    """The result of a window: fields, computed from folds."""

    folds: tuple[Fold, ...]
    fields: Record


@dataclass(frozen=True, slots=True)
class Function:
    """The results of a window: what a function returns for its tuples."""

    function: Callable[[list[Any]], Iterable[Any]]


class Run:
    """The values of each fold and, for folds that work in steps, the value that they are folded into."""

    def __init__(self, definitions: Sequence[Definition]) -> None:
        self.definitions = definitions
        self.rows: list[list[Any]] = []
        self.folded: list[Any] = []

    def add(self, row: list[Any]) -> None:
        """Add a tuple; if a step fails, the run is unchanged."""
        folded = [
            new if not self.rows or d.step is None else d.step(old, new)
            for d, old, new in zip(self.definitions, self.folded or row, row, strict=True)
        ]
        self.rows.append(row)
        self.folded = folded


class ReferenceWindow(Logic):
    """Base class: the values that the folds take from a tuple, and the result of a window."""

    def __init__(self, gives: Fields | Function) -> None:
        self.gives = gives

    def definitions(self) -> list[Definition]:
        if isinstance(self.gives, Function):
            return [_TUPLES]
        return [FOLDS[fold.kind].definition or _BOUND for fold in self.gives.folds]

    def taken(self, row: Any) -> list[Any]:
        if isinstance(self.gives, Function):
            return [row]
        return [d.take(self.value(fold, row)) for d, fold in zip(self.definitions(), self.gives.folds, strict=True)]

    def value(self, fold: Fold, row: Any) -> Any:
        return fold.value_of(row)

    def emit(self, runs: Sequence[Run]) -> None:
        """The result of a window of these runs, the oldest first; an empty window has none."""
        filled = [run for run in runs if run.rows]
        if not filled:
            return
        found = [
            [row[i] for run in filled for row in run.rows]
            if d.step is None
            else reduce(d.step, [run.folded[i] for run in filled])
            for i, d in enumerate(self.definitions())
        ]
        self.result(found)

    def result(self, found: Sequence[Any], start: int = 0, end: int = 0) -> None:
        """Submit the window's result; `found` has the values of each fold, or the value that they are folded into."""
        gives = self.gives
        if isinstance(gives, Function):
            for row in gives.function(list(found[0])):
                self.submit(row, rank=end)
            return
        folds: dict[str, Any] = {}
        for i, (fold, values) in enumerate(zip(gives.folds, found, strict=True)):
            definition = FOLDS[fold.kind].definition
            if definition is None:
                bound = {"window_start": start, "window_end": end}[fold.kind]
                folds[f"fold{i}"] = bound if fold.type is INT else _moment(bound, values[0])
            else:
                folds[f"fold{i}"] = definition.value(values, fold)
        self.submit({name: conform(evaluate(e, folds), e.type) for name, e in gives.fields.fields}, rank=end)


def _moment(microseconds: int, zone: dt.tzinfo | None) -> dt.datetime:
    """Since 1970. Without a zone, the datetime is in UTC and has no zone."""
    if zone is None:
        return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=microseconds)
    return (dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=microseconds)).astimezone(zone)


class RunningReference(ReferenceWindow):
    def __init__(self, gives: Fields | Function) -> None:
        super().__init__(gives)
        self.run: Run | None = None

    def process(self, t: Any, port: int) -> None:
        row = self.taken(t)
        self.run = self.run or Run(self.definitions())
        self.run.add(row)
        self.emit([self.run])


class TumblingReference(ReferenceWindow):
    """Of `count` tuples, or of the tuples whose attribute `on` is at most `delta` above that of the first."""

    def __init__(self, gives: Fields | Function, *, count: int | None = None, delta: Any = None, on: str = "") -> None:
        super().__init__(gives)
        self.count, self.delta, self.on = count, delta, on
        self.run: Run | None = None
        self.first: Any = None

    def process(self, t: Any, port: int) -> None:
        row, at = self.taken(t), getattr(t, self.on) if self.on else None
        if self.on and self.run is not None and difference(at, self.first) > self.delta:
            self._close()
        if self.run is None:
            self.run, self.first = Run(self.definitions()), at
        self.run.add(row)
        if len(self.run.rows) == self.count:
            self._close()

    def _close(self) -> None:
        assert self.run is not None
        run, self.run = self.run, None
        self.emit([run])

    def at_end(self) -> None:
        if self.run is not None:
            self._close()


class SlidingReference(ReferenceWindow):
    """The last `count` tuples, or those whose attribute `on` is at most `delta` below that of the newest."""

    def __init__(
        self, gives: Fields | Function, slide: int, *, count: int | None = None, delta: Any = None, on: str = ""
    ) -> None:
        super().__init__(gives)
        self.slide, self.count, self.delta, self.on = slide, count, delta, on
        self.held: list[tuple[Any, list[Any]]] = []  # for each tuple in the window: its attribute `on`, and its values
        self.border = 0  # the index in `held` where the newer block starts
        self.came = 0

    def process(self, t: Any, port: int) -> None:
        row, at = self.taken(t), getattr(t, self.on) if self.on else None
        gone = int(len(self.held) == self.count)
        while self.on and gone < len(self.held) and difference(at, self.held[gone][0]) > self.delta:
            gone += 1
        held = [*self.held[gone:], (at, row)]
        border = self.border - gone if gone <= self.border else len(held) - 1
        found = self._folded([row for _, row in held], border)
        self.held, self.border, self.came = held, border, self.came + 1
        if self.came % self.slide == 0:
            self.result(found)

    def _folded(self, rows: list[list[Any]], border: int) -> list[Any]:
        found: list[Any] = []
        for i, d in enumerate(self.definitions()):
            values = [row[i] for row in rows]
            if d.step is not None:
                step = d.step
                older = [reduce(lambda newer, value: step(value, newer), values[:border][::-1])] if border else []
                values = reduce(step, [*older, reduce(step, values[border:])])
            found.append(values)
        return found


class PunctuatedReference(ReferenceWindow):
    """The last `stretches` sections between punctuations."""

    def __init__(self, gives: Fields | Function, stretches: int) -> None:
        super().__init__(gives)
        self.stretches = stretches
        self.runs: list[Run] = []  # the last one is open

    def process(self, t: Any, port: int) -> None:
        row = self.taken(t)
        self.runs = self.runs or [Run(self.definitions())]
        self.runs[-1].add(row)

    def on_mark(self, time: int) -> None:
        runs = self.runs
        self.runs = [*runs, Run(self.definitions())][-self.stretches :]
        self.emit(runs)

    def at_end(self) -> None:
        if self.runs and self.runs[-1].rows:
            self.emit(self.runs)


class EventTimeReference(ReferenceWindow):
    """A window is closed by the first mark that reaches its end; tuples for which all windows are closed are late."""

    def __init__(self, gives: Fields | Function, size: int, step: int, on: str, of_ends: bool) -> None:
        super().__init__(gives)
        self.size, self.step, self.on = size, step, on
        self.before = 1 if of_ends else 0  # the last instant of a window is before its end
        self.panes: dict[int, Run] = {}  # by their start
        self.arrived: list[tuple[int, list[Any]]] = []  # pane and values of each tuple, in order of arrival
        self.passed = -math.inf  # windows that end here or before are closed

    def process(self, t: Any, port: int) -> None:
        at = to_time(getattr(t, self.on)) - self.before
        row = self.taken(t)
        self.passed = -math.inf if self.now is None else self.now
        if max(self._ends(at)) <= self.passed:
            self.submit(t, 1)
            return
        size = math.gcd(self.size, self.step)
        start = at // size * size
        pane = self.panes.get(start) or Run(self.definitions())
        pane.add(row)
        self.panes[start] = pane
        self.arrived.append((start, row))

    def value(self, fold: Fold, row: Any) -> Any:
        is_bound = FOLDS[fold.kind].definition is None
        return getattr(getattr(row, self.on), "tzinfo", None) if is_bound else fold.value_of(row)

    def _ends(self, time: int) -> list[int]:
        """The ends of the windows over a time: windows start at multiples of the step."""
        newest = time // self.step * self.step
        return [start + self.size for start in range(newest, time - self.size, -self.step)]

    def on_mark(self, time: int) -> None:
        self._close(time)

    def at_end(self) -> None:
        self._close(math.inf)

    def _close(self, time: float) -> None:
        size, panes, arrived = self.size, dict(sorted(self.panes.items())), self.arrived
        ends = sorted({end for start in panes for end in self._ends(start) if self.passed < end <= time})
        self.passed = time
        self.panes = {start: run for start, run in panes.items() if max(self._ends(start)) > time}
        self.arrived = [(start, row) for start, row in arrived if start in self.panes]
        for end in ends:
            runs = [run for start, run in panes.items() if end - size <= start < end]
            rows = [row for start, row in arrived if end - size <= start < end]
            self.result(self._folded(runs, rows), end - size, end)

    def _folded(self, runs: Sequence[Run], rows: Sequence[list[Any]]) -> list[Any]:
        """Of a window: its panes in order of time, and its tuples in order of arrival."""
        found: list[Any] = []
        for i, d in enumerate(self.definitions()):
            values = [row[i] for row in rows]
            if d.step is None:
                found.append(values)
            elif self._depends_on_order(i):
                found.append(reduce(d.step, values))
            else:
                found.append(reduce(d.step, [run.folded[i] for run in runs]))
        return found

    def _depends_on_order(self, index: int) -> bool:
        return isinstance(self.gives, Fields) and FOLDS[self.gives.folds[index].kind].by_arrival is not None

"""Aggregates over all kinds of windows, tuple by tuple. What kernels can do is left to them (`runtime.aggregate`)."""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, ClassVar

from thalweg.ir.expr import Record, evaluate
from thalweg.ir.library_logic import LibraryLogic
from thalweg.ir.operator_model import AT_MOST_ONE, MANY, NONE, ONE, Bounds, Copies, Model, fold_reads, key_folds, same
from thalweg.ir.operators import Fold, Process, fold_name
from thalweg.ir.times import from_time, to_time
from thalweg.ir.types import TupleType, conform
from thalweg.ir.user_code import UserCode, fold_code
from thalweg.library.folds import MONOIDS, Element, Monoid, TwoStacks, above, distinct, fold_all, quantile
from thalweg.library.windows import WindowSpec

AT_MARKS: tuple[Bounds, str] = (NONE, "a window gives results when a mark closes it")


@dataclass(frozen=True, slots=True)
class Config:
    """What an aggregate computes; not part of its state."""

    window: WindowSpec
    folds: tuple[Fold, ...]
    fields: Record
    monoids: tuple[Monoid | None, ...]  # None: a function of all values
    late: bool = False  # whether there is an output port for late tuples

    @property
    def combined(self) -> tuple[Monoid, ...]:
        return tuple(m for m in self.monoids if m is not None)


def make_config(window: WindowSpec, folds: tuple[Fold, ...], fields: Record, *, late: bool) -> Config:
    return Config(window, folds, fields, tuple(MONOIDS.get(fold.kind) for fold in folds), late)


class Pane:
    """The tuples of one stretch: an element per fold that combines, a list of values per fold that does not."""

    __slots__ = ("elements", "lists")

    def __init__(self) -> None:
        self.elements: tuple[Element, ...] | None = None
        self.lists: tuple[list[Any], ...] = ()

    def __getstate__(self) -> Any:
        return self.elements, self.lists

    def __setstate__(self, state: Any) -> None:
        self.elements, self.lists = state


class WindowAggregate(LibraryLogic):
    """Base of the aggregates: arguments, results, fields."""

    config: Config
    gives_many: ClassVar[bool] = False  # whether a window may have any number of results

    def settings(self) -> str:
        config = self.config
        return f"{config.window} {'; '.join(fold.fingerprint() for fold in config.folds)}"

    @abstractmethod
    def results(self) -> tuple[Bounds, str]:
        """For how many windows one tuple makes it give results, and why."""

    def known(self, operator: Process, inputs: tuple[TupleType, ...]) -> Model:
        windows, why = self.results()
        results = MANY if self.gives_many and windows != NONE else windows
        late = operator.results - 1  # a port for late tuples, where the window is in event time
        counts = (results, *((AT_MOST_ONE,) * late))
        copies = ((self.copies(),), *(((same(inputs[0], inputs[0]),),) * late))
        return Model(why, counts, copies, (self.reads(),))

    def copies(self) -> Copies:
        return key_folds(self.config.folds, self.config.fields, self.config.window.by)

    def reads(self) -> frozenset[str] | None:
        window = self.config.window
        return fold_reads(self.config.folds, (*window.by, *((window.on,) if window.on else ())))

    def code(self, operator: Process, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return fold_code(self.config.folds, inputs[0], operator.where)

    @property
    def has_late(self) -> bool:
        return self.config.late

    @property
    def time_lengths(self) -> tuple[int, ...]:
        window = self.config.window
        return (window.size, window.step) if window.timed else ()

    def values(self, row: Any) -> list[Any]:
        """The argument of each fold."""
        return [fold.value_of(row) for fold in self.config.folds]

    def elements(self, values: Sequence[Any]) -> tuple[Element, ...]:
        return tuple(m.start(v) for m, v in zip(self.config.monoids, values, strict=True) if m is not None)

    def add(self, pane: Pane, values: Sequence[Any]) -> None:
        elements = self.elements(values)
        lists = [v for m, v in zip(self.config.monoids, values, strict=True) if m is None]
        if pane.elements is None:
            pane.elements, pane.lists = elements, tuple([v] for v in lists)
            return
        pane.elements = fold_all([pane.elements, elements], self.config.combined)
        for held, value in zip(pane.lists, lists, strict=True):
            held.append(value)

    def emit(self, panes: Sequence[Pane], *, rank: int = 0, start: int = 0, end: int = 0) -> None:
        """The result of a window that consists of these panes."""
        filled = [pane for pane in panes if pane.elements is not None]
        if not filled:
            return
        elements = fold_all([p.elements for p in filled if p.elements is not None], self.config.combined)
        lists = [[v for p in filled for v in p.lists[i]] for i in range(len(filled[0].lists))]
        self.emit_folded(elements, lists, rank=rank, start=start, end=end)

    def emit_folded(
        self,
        elements: Sequence[Element],
        lists: Sequence[Sequence[Any]],
        *,
        rank: int = 0,
        start: int = 0,
        end: int = 0,
    ) -> None:
        combined, whole = iter(elements), iter(lists)
        folds: dict[str, Any] = {}
        for index, (fold, monoid) in enumerate(zip(self.config.folds, self.config.monoids, strict=True)):
            if fold.kind in ("window_start", "window_end"):
                next(whole)
                value = from_time(start if fold.kind == "window_start" else end, fold.type)
            elif monoid is not None:
                value = monoid.finish(next(combined))
            else:
                value = _whole(fold, next(whole))
            folds[fold_name(index)] = value
        fields = self.config.fields.fields
        self.submit({name: conform(evaluate(expr, folds), expr.type) for name, expr in fields}, rank=rank)


def _whole(fold: Fold, values: Sequence[Any]) -> Any:
    match fold.kind:
        case "quantile":
            assert fold.parameter is not None
            return quantile(values, fold.parameter)
        case "distinct":
            return distinct(values)
        case "collect":
            return list(values)
        case "apply":
            assert fold.function is not None
            return conform(fold.function(list(values)), fold.type)
    raise AssertionError(fold.kind)


class RunningAggregate(WindowAggregate):
    """All tuples of the key so far."""

    def __init__(self) -> None:
        self.pane = Pane()

    def results(self) -> tuple[Bounds, str]:
        return ONE, "a running window gives a result for each tuple"

    def process(self, t: Any, port: int) -> None:
        self.add(self.pane, self.values(t))
        self.emit([self.pane])


class TumblingAggregate(WindowAggregate):
    """Blocks of a number of tuples, or of tuples whose attribute is at most a delta above that of the first."""

    def __init__(self) -> None:
        self.pane = Pane()
        self.count = 0
        self.first: Any = None

    def results(self) -> tuple[Bounds, str]:
        return AT_MOST_ONE, "a tumbling window gives a result when it closes"

    @property
    def is_empty(self) -> bool:
        return self.count == 0

    def process(self, t: Any, port: int) -> None:
        window, values = self.config.window, self.values(t)
        if window.delta is not None:
            at = getattr(t, window.on)
            if self.count and above(at, self.first) > window.delta:
                self._close()
            if not self.count:
                self.first = at
        self.add(self.pane, values)
        self.count += 1
        if self.count == window.count:
            self._close()

    def _close(self) -> None:
        pane, self.pane, self.count, self.first = self.pane, Pane(), 0, None
        self.emit([pane])

    def at_end(self) -> None:
        if self.count:
            self._close()


class SlidingAggregate(WindowAggregate):
    """The last tuples, by number or by how far their attribute lies below the newest one's."""

    def __init__(self) -> None:
        self.queue = TwoStacks()
        self.lists: deque[tuple[Any, ...]] = deque()
        self.places: deque[Any] = deque()
        self.count = 0

    def results(self) -> tuple[Bounds, str]:
        return ONE if self.config.window.slide == 1 else AT_MOST_ONE, "a sliding window gives a result at each slide"

    def process(self, t: Any, port: int) -> None:
        window, values = self.config.window, self.values(t)
        at = None if window.delta is None else getattr(t, window.on)
        gone = self._gone(at)
        # Whatever can fail comes first: a tuple that fails leaves the window as it was.
        folded = self.queue.slide(gone, self.elements(values), self.config.combined)
        self.lists.append(tuple(v for m, v in zip(self.config.monoids, values, strict=True) if m is None))
        if window.delta is not None:
            self.places.append(at)
        for held in (self.lists, self.places):
            for _ in range(gone if held else 0):
                held.popleft()
        self.count += 1
        if self.count % window.slide == 0:
            lists = list(zip(*self.lists, strict=True)) if self.lists[0] else []
            self.emit_folded(folded, lists)

    def _gone(self, at: Any) -> int:
        """How many of the oldest tuples a new one pushes out of the window."""
        window = self.config.window
        if window.delta is None:
            return int(len(self.queue) == window.count)
        return sum(1 for _ in takewhile(lambda place: above(at, place) > window.delta, self.places))


class PunctuatedAggregate(WindowAggregate):
    """The tuples between punctuations: the last `count` such stretches, seen at each punctuation."""

    def __init__(self) -> None:
        self.panes = [Pane()]

    def results(self) -> tuple[Bounds, str]:
        return AT_MARKS

    @property
    def is_empty(self) -> bool:
        return all(pane.elements is None for pane in self.panes)

    def process(self, t: Any, port: int) -> None:
        self.add(self.panes[-1], self.values(t))

    def on_mark(self, time: int) -> None:
        panes = self.panes
        self.panes = [*panes, Pane()][-(self.config.window.punctuations or 1) :]
        self.emit(panes)

    def at_end(self) -> None:
        if self.panes[-1].elements is not None:
            self.emit(self.panes)


class EventTimeAggregate(WindowAggregate):
    """Windows in event time, closed when the event time has passed their end; what comes too late goes to port 1."""

    version = 2  # since 2 panes are in the order of their time

    def __init__(self) -> None:
        self.panes: dict[int, Pane] = {}  # by their start, the oldest first
        self.closed: int | None = None  # windows that end here or before are closed

    def results(self) -> tuple[Bounds, str]:
        return AT_MARKS

    def upgrade(self, attributes: dict[str, Any], version: int) -> dict[str, Any]:
        return attributes | {"panes": dict(sorted(attributes["panes"].items()))}

    @property
    def is_empty(self) -> bool:
        return not self.panes

    @property
    def due(self) -> int | None:
        """The end of the next window that has tuples."""
        return self._next_end(next(iter(self.panes))) if self.panes else None

    def _pane_size(self) -> int:
        window = self.config.window
        return math.gcd(window.size, window.step)

    def _next_end(self, pane: int) -> int:
        """The end of the first window over this pane that is not yet closed."""
        window = self.config.window
        first = -(-(pane + self._pane_size() - window.size) // window.step) * window.step + window.size
        if self.closed is not None and first <= self.closed:
            first += ((self.closed - first) // window.step + 1) * window.step
        return first

    def _last_end(self, time: int) -> int:
        """The end of the last window over this time."""
        window = self.config.window
        return time // window.step * window.step + window.size

    def process(self, t: Any, port: int) -> None:
        at = to_time(getattr(t, self.config.window.on))
        values = self.values(t)
        if self.now is not None and self._last_end(at) <= self.now:
            if self.config.late:
                self.submit(t, 1)
            return
        if self.now is not None:
            self.closed = self.now  # windows that ended before are closed, also those that had no tuple
        self.add(self._pane(at // self._pane_size() * self._pane_size()), values)

    def _pane(self, start: int) -> Pane:
        found = self.panes.get(start)
        if found is None:
            found = Pane()
            in_order = not self.panes or next(reversed(self.panes)) < start
            self.panes[start] = found
            if not in_order:
                self.panes = dict(sorted(self.panes.items()))
        return found

    def on_mark(self, time: int) -> None:
        self._close(time)

    def at_end(self) -> None:
        self._close(None)

    def _close(self, time: int | None) -> None:
        """The windows that end by then; at the end, all. None is tried again, also if the result of one fails."""
        size, step, panes = self.config.window.size, self.config.window.step, self.panes
        starts, ends = list(panes), list[int]()
        for pane in starts:
            last = self._last_end(pane) if time is None else min(self._last_end(pane), time)
            for end in range(self._next_end(pane), last + 1, step):
                self.closed = end
                ends.append(end)
        # A pane is done when the last window over it is.
        self.panes = {start: panes[start] for start in starts if not ends or self._last_end(start) > ends[-1]}
        for end in ends:
            inside = starts[bisect_left(starts, end - size) : bisect_left(starts, end)]
            self.emit([panes[start] for start in inside], rank=end, start=end - size, end=end)

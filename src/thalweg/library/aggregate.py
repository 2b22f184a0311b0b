"""Aggregates over all kinds of windows, tuple by tuple. What kernels can do is left to them (`runtime.aggregate`)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from thalweg.ir.expr import Record, evaluate
from thalweg.ir.logic import Logic
from thalweg.ir.operators import Fold, fold_name
from thalweg.ir.times import from_time, to_time
from thalweg.ir.types import conform
from thalweg.library.folds import MONOIDS, Element, Monoid, TwoStacks, above, distinct, fold_all, quantile
from thalweg.library.windows import WindowSpec


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


class WindowAggregate(Logic):
    """Base of the aggregates: arguments, results, fields."""

    config: Config
    forwards_key = False

    def settings(self) -> str:
        config = self.config
        return f"{config.window} {'; '.join(fold.fingerprint() for fold in config.folds)}"

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

    def process(self, t: Any, port: int) -> None:
        self.add(self.pane, self.values(t))
        self.emit([self.pane])


class TumblingAggregate(WindowAggregate):
    """Blocks of a number of tuples, or of tuples whose attribute is at most a delta above that of the first."""

    def __init__(self) -> None:
        self.pane = Pane()
        self.count = 0
        self.first: Any = None

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

    def process(self, t: Any, port: int) -> None:
        window, values = self.config.window, self.values(t)
        monoids = self.config.combined
        if window.delta is not None:
            at = getattr(t, window.on)
            while self.places and above(at, self.places[0]) > window.delta:
                self._forget()
            self.places.append(at)
        elif len(self.queue) == window.count:
            self._forget()
        self.queue.push(self.elements(values), monoids)
        self.lists.append(tuple(v for m, v in zip(self.config.monoids, values, strict=True) if m is None))
        self.count += 1
        if self.count % window.slide == 0:
            lists = list(zip(*self.lists, strict=True)) if self.lists[0] else []
            self.emit_folded(self.queue.fold(monoids), lists)

    def _forget(self) -> None:
        self.queue.pop(self.config.combined)
        self.lists.popleft()
        if self.places:
            self.places.popleft()


class PunctuatedAggregate(WindowAggregate):
    """The tuples between punctuations: the last `count` such stretches, seen at each punctuation."""

    def __init__(self) -> None:
        self.panes = [Pane()]

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

    def __init__(self) -> None:
        self.panes: dict[int, Pane] = {}
        self.closed: int | None = None  # windows that end here or before are closed

    @property
    def is_empty(self) -> bool:
        return not self.panes

    @property
    def due(self) -> int | None:
        """The end of the next window that has tuples."""
        return min((self._next_end(start) for start in self.panes), default=None)

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

    def process(self, t: Any, port: int) -> None:
        window = self.config.window
        at = to_time(getattr(t, window.on))
        values = self.values(t)
        last_end = at // window.step * window.step + window.size
        if self.now is not None and last_end <= self.now:
            if self.config.late:
                self.submit(t, 1)
            return
        if self.now is not None:
            self.closed = self.now  # windows that ended before are closed, also those that had no tuple
        pane = at // self._pane_size() * self._pane_size()
        self.add(self.panes.setdefault(pane, Pane()), values)

    def on_mark(self, time: int) -> None:
        while (end := self.due) is not None and end <= time:
            self._close(end)

    def at_end(self) -> None:
        while (end := self.due) is not None:
            self._close(end)

    def _close(self, end: int) -> None:
        window = self.config.window
        start = end - window.size
        self.emit([self.panes[p] for p in sorted(self.panes) if start <= p < end], rank=end, start=start, end=end)
        self.closed = end
        # A pane is done when the last window over it is.
        done = [p for p in self.panes if p // window.step * window.step + window.size <= end]
        for pane in done:
            del self.panes[pane]

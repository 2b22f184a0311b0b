"""Windows and folds in the reference: computed from lists of a window's values, without the code of the engines.

A window's values are in *runs*. The values of a run are folded from the oldest to the newest, then the runs are folded
from the oldest to the newest. A running or tumbling window is one run; a window in event time, or between punctuations,
has a run for each pane. A sliding window is the end of one block, folded from its newest value back to its oldest, and
the start of the next. The first block starts with the first tuple; a new one starts with the tuple that pushes the
first tuple of the current block out of the window.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from thalweg.errors import InternalError
from thalweg.ir.expr import evaluate
from thalweg.ir.logic import Logic
from thalweg.ir.times import from_time, to_time
from thalweg.ir.types import conform
from thalweg.ir.windows import Window
from thalweg.library.decimals import above
from thalweg.library.fold_spec import Definition, WindowBound
from thalweg.library.folds import FOLDS
from thalweg.library.window_aggregate import ApplyConfig, Config
from thalweg.library.windows import WINDOWS
from thalweg.library.windows.by_event_time import SlidingTime, TumblingTime
from thalweg.library.windows.by_punctuation import SlidingPunctuation, TumblingPunctuation
from thalweg.library.windows.running import Running
from thalweg.library.windows.sliding import Sliding, SlidingDelta
from thalweg.library.windows.tumbling import Tumbling, TumblingDelta

_TUPLES = Definition(lambda values, fold: values)  # for functions of a window's tuples
_BOUND = Definition(lambda values, fold: None)  # the value does not depend on the tuples


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

    config: Config | ApplyConfig

    def definitions(self) -> list[Definition]:
        if isinstance(self.config, ApplyConfig):
            return [_TUPLES]
        found = [FOLDS[fold.kind].definition for fold in self.config.folds]
        return [_BOUND if isinstance(d, WindowBound) else d for d in found]

    def taken(self, row: Any) -> list[Any]:
        if isinstance(self.config, ApplyConfig):
            return [row]
        values = [fold.value_of(row) for fold in self.config.folds]
        return [d.take(value) for d, value in zip(self.definitions(), values, strict=True)]

    def emit(self, runs: Sequence[Run], *, start: int = 0, end: int = 0) -> None:
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
        self.result(found, start, end)

    def result(self, found: Sequence[Any], start: int = 0, end: int = 0) -> None:
        """Submit the window's result; `found` has the values of each fold, or the value that they are folded into."""
        config = self.config
        if isinstance(config, ApplyConfig):
            for row in config.function(list(found[0])):
                self.submit(row, rank=end)
            return
        folds: dict[str, Any] = {}
        for i, (fold, values) in enumerate(zip(config.folds, found, strict=True)):
            definition = FOLDS[fold.kind].definition
            if isinstance(definition, WindowBound):
                folds[f"fold{i}"] = from_time(end if definition.end else start, fold.type)
            else:
                folds[f"fold{i}"] = definition.value(values, fold)
        self.submit({name: conform(evaluate(e, folds), e.type) for name, e in config.fields.fields}, rank=end)


class RunningReference(ReferenceWindow):
    def __init__(self) -> None:
        self.run: Run | None = None

    def process(self, t: Any, port: int) -> None:
        row = self.taken(t)
        self.run = self.run or Run(self.definitions())
        self.run.add(row)
        self.emit([self.run])


class TumblingReference(ReferenceWindow):
    def __init__(self) -> None:
        self.run: Run | None = None
        self.first: Any = None  # the attribute of the first tuple of a window by delta

    def process(self, t: Any, port: int) -> None:
        row, window = self.taken(t), self.config.window
        at = getattr(t, window.on) if isinstance(window, TumblingDelta) else None
        if isinstance(window, TumblingDelta) and self.run is not None and above(at, self.first) > window.delta:
            self._close()
        if self.run is None:
            self.run, self.first = Run(self.definitions()), at
        self.run.add(row)
        if isinstance(window, Tumbling) and len(self.run.rows) == window.count:
            self._close()

    def _close(self) -> None:
        assert self.run is not None
        run, self.run = self.run, None
        self.emit([run])

    def at_end(self) -> None:
        if self.run is not None:
            self._close()


class SlidingReference(ReferenceWindow):
    def __init__(self) -> None:
        self.held: list[tuple[Any, list[Any]]] = []  # for each tuple in the window: its attribute `on`, and its values
        self.border = 0  # the index in `held` where the newer block starts
        self.count = 0

    def process(self, t: Any, port: int) -> None:
        row, window = self.taken(t), self.config.window
        at = getattr(t, window.on) if isinstance(window, SlidingDelta) else None
        gone = 0
        if isinstance(window, SlidingDelta):
            while gone < len(self.held) and above(at, self.held[gone][0]) > window.delta:
                gone += 1
        elif len(self.held) == window.count:
            gone = 1
        held = [*self.held[gone:], (at, row)]
        border = self.border - gone if gone <= self.border else len(held) - 1
        found = self._folded([row for _, row in held], border)
        self.held, self.border, self.count = held, border, self.count + 1
        if self.count % window.slide == 0:
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
    def __init__(self) -> None:
        self.runs: list[Run] = []  # the last one is open

    def process(self, t: Any, port: int) -> None:
        row = self.taken(t)
        self.runs = self.runs or [Run(self.definitions())]
        self.runs[-1].add(row)

    def on_mark(self, time: int) -> None:
        runs = self.runs
        self.runs = [*runs, Run(self.definitions())][-self.config.window.stretches :]
        self.emit(runs)

    def at_end(self) -> None:
        if self.runs and self.runs[-1].rows:
            self.emit(self.runs)


class EventTimeReference(ReferenceWindow):
    """A window is closed by the first mark that reaches its end; tuples for which all windows are closed are late."""

    def __init__(self) -> None:
        self.panes: dict[int, Run] = {}  # by their start
        self.passed = -math.inf  # windows that end here or before are closed

    def process(self, t: Any, port: int) -> None:
        window = self.config.window
        at = to_time(getattr(t, window.on))
        row = self.taken(t)
        self.passed = -math.inf if self.now is None else self.now
        if max(self._ends(at)) <= self.passed:
            self.submit(t, 1)
            return
        size = math.gcd(window.size, window.step)
        pane = self.panes.get(at // size * size) or Run(self.definitions())
        pane.add(row)
        self.panes[at // size * size] = pane

    def _ends(self, time: int) -> list[int]:
        """The ends of the windows over a time: windows start at multiples of the step."""
        size, step = self.config.window.size, self.config.window.step
        newest = time // step * step
        return [start + size for start in range(newest, time - size, -step)]

    def on_mark(self, time: int) -> None:
        self._close(time)

    def at_end(self) -> None:
        self._close(math.inf)

    def _close(self, time: float) -> None:
        size, panes = self.config.window.size, dict(sorted(self.panes.items()))
        ends = sorted({end for start in panes for end in self._ends(start) if self.passed < end <= time})
        self.passed = time
        self.panes = {start: run for start, run in panes.items() if max(self._ends(start)) > time}
        for end in ends:
            self.emit([run for start, run in panes.items() if end - size <= start < end], start=end - size, end=end)


_REFERENCES: Mapping[type[Window], type[ReferenceWindow]] = {
    Running: RunningReference,
    Tumbling: TumblingReference,
    TumblingDelta: TumblingReference,
    Sliding: SlidingReference,
    SlidingDelta: SlidingReference,
    TumblingPunctuation: PunctuatedReference,
    SlidingPunctuation: PunctuatedReference,
    TumblingTime: EventTimeReference,
    SlidingTime: EventTimeReference,
}

for _kind in WINDOWS:
    if _kind not in _REFERENCES:
        raise InternalError(f"the window {_kind.__name__} has no reference")


def reference_window(config: Config | ApplyConfig) -> ReferenceWindow:
    """The window of a key, before its first tuple."""
    made = _REFERENCES[type(config.window)]()
    made.config, made.now = config, None
    return made

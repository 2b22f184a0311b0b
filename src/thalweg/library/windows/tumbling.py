"""Tumbling windows that are closed by tuples: by count, and by a delta of an attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thalweg.ir.windows import Window
from thalweg.library.decimals import above
from thalweg.library.window_aggregate import Applied, Pane, WindowAggregate
from thalweg.library.window_arguments import delta_on, distance_of

_RESULTS = (0, 1), "a tumbling window emits a result when it closes"


class TumblingAggregate(WindowAggregate):
    """Aggregates over blocks: a number of tuples, or tuples whose attribute is at most a delta above the first one."""

    def __init__(self) -> None:
        self.pane = Pane()
        self.count = 0
        self.first: Any = None

    @property
    def is_empty(self) -> bool:
        return self.count == 0

    def process(self, t: Any, port: int) -> None:
        window, taken = self.config.window, self.taken(t)
        if isinstance(window, TumblingDelta):
            at = getattr(t, window.on)
            if self.count and above(at, self.first) > window.delta:
                self._close()
            if not self.count:
                self.first = at
        self.add(self.pane, taken)
        self.count += 1
        if isinstance(window, Tumbling) and self.count == window.count:
            self._close()

    def _close(self) -> None:
        pane, self.pane, self.count, self.first = self.pane, Pane(), 0, None
        self.emit([pane])

    def at_end(self) -> None:
        if self.count:
            self._close()


class TumblingApply(Applied, TumblingAggregate):
    """A function of the tuples of each block."""


@dataclass(frozen=True, slots=True)
class Tumbling(Window):
    """Blocks of `count` tuples of the key; at the end of the input, the last block may have fewer."""

    count: int

    written = "window.tumbling(count=n, by=…)"
    marks = None
    acts_at_end = True
    has_kernel = True
    aggregate = TumblingAggregate
    apply = TumblingApply
    distance = None

    @property
    def results(self) -> tuple[tuple[int, int | None], str]:
        return _RESULTS

    @property
    def reads(self) -> tuple[str, ...]:
        return self.by

    def __str__(self) -> str:
        return f"tumbling(count {self.count}){self.by_text}"


@dataclass(frozen=True, slots=True)
class TumblingDelta(Window):
    """Tuples whose attribute `on` is at most `delta` above that of the first."""

    delta: Any
    on: str

    written = "window.tumbling(delta=d, on=a, by=…)"
    marks = None
    acts_at_end = True
    has_kernel = False
    aggregate = TumblingAggregate
    apply = TumblingApply

    @classmethod
    def checked(cls, by: tuple[str, ...], delta: Any, on: str) -> TumblingDelta:
        return cls(by, distance_of("tumbling window: bad delta", delta), delta_on("tumbling", on))

    @property
    def results(self) -> tuple[tuple[int, int | None], str]:
        return _RESULTS

    @property
    def reads(self) -> tuple[str, ...]:
        return (*self.by, self.on)

    @property
    def distance(self) -> tuple[str, Any] | None:
        return self.on, self.delta

    def __str__(self) -> str:
        return f"tumbling(delta {self.delta} on {self.on}){self.by_text}"

"""Windows in event time."""

from __future__ import annotations

import datetime as dt
import math
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any, ClassVar

from thalweg.ir.times import to_time
from thalweg.ir.windows import EVENT_TIME, Window
from thalweg.library.fold_spec import has_columns
from thalweg.library.folds import FOLDS
from thalweg.library.older_panes import upgraded
from thalweg.library.window_aggregate import Applied, Pane, WindowAggregate
from thalweg.library.window_arguments import Duration, bad, stretch


class EventTimeAggregate(WindowAggregate):
    """Windows in event time, closed when the event time has passed their end; late tuples go to port 1."""

    # Since version 2, panes are in the order of their time. Since version 3, the sums of std are exact, panes that
    # windows share hold numbers in order of arrival, and bounds of windows have a time zone.
    version = 3

    def __init__(self) -> None:
        self.panes: dict[int, Pane] = {}  # by their start, the oldest first
        self.closed: int | None = None  # windows that end here or before are closed
        self.arrived = 0  # the number of the next tuple in order of arrival, counted if windows share panes

    def upgrade(self, attributes: dict[str, Any], version: int) -> dict[str, Any]:
        attributes = super().upgrade(attributes, version - 1)
        panes = sorted(attributes["panes"].items())
        numbered = {start: upgraded(pane, self.config, number) for number, (start, pane) in enumerate(panes)}
        return attributes | {"panes": numbered, "arrived": len(panes)}

    @property
    def is_empty(self) -> bool:
        return not self.panes

    @property
    def due(self) -> int | None:
        """The end of the next window that has tuples."""
        return self._next_end(next(iter(self.panes))) if self.panes else None

    def settings(self) -> str:
        return f"{'columns ' if self.in_columns else ''}{super().settings()}"

    @property
    def in_columns(self) -> bool:
        """Whether a PE runs it frame by frame (`runtime/window_operators.py`), with its state in columns."""
        return all(has_columns(FOLDS[fold.kind], fold) for fold in self.config.folds)

    def _pane_size(self) -> int:
        window: TimeWindow = self.config.window
        return math.gcd(window.size, window.step)

    def _next_end(self, pane: int) -> int:
        """The end of the first window over this pane that is not yet closed."""
        window: TimeWindow = self.config.window
        first = -(-(pane + self._pane_size() - window.size) // window.step) * window.step + window.size
        if self.closed is not None and first <= self.closed:
            first += ((self.closed - first) // window.step + 1) * window.step
        return first

    def _last_end(self, time: int) -> int:
        """The end of the last window over this time."""
        window: TimeWindow = self.config.window
        return time // window.step * window.step + window.size

    def process(self, t: Any, port: int) -> None:
        window: TimeWindow = self.config.window
        at, zone = window.time_of(t), getattr(getattr(t, window.on), "tzinfo", None)
        taken = self.taken(t, number=self.arrived if window.shares_panes else None, zone=zone)
        if self.now is not None and self._last_end(at) <= self.now:
            self.submit(t, 1)
            return
        if self.now is not None:
            self.closed = self.now  # windows that ended earlier are closed, even those without tuples
        self.add(self._pane(at // self._pane_size() * self._pane_size()), taken)
        self.arrived += window.shares_panes

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
        """Close the windows that end by this time, or all at the end. None is retried, even if its result fails."""
        size, step, panes = self.config.window.size, self.config.window.step, self.panes
        starts, ends = list(panes), list[int]()
        for pane in starts:
            last = self._last_end(pane) if time is None else min(self._last_end(pane), time)
            for end in range(self._next_end(pane), last + 1, step):
                self.closed = end
                ends.append(end)
        # A pane is dropped when the last window over it is closed.
        self.panes = {start: panes[start] for start in starts if not ends or self._last_end(start) > ends[-1]}
        for end in ends:
            inside = starts[bisect_left(starts, end - size) : bisect_left(starts, end)]
            self.emit([panes[start] for start in inside], rank=end, start=end - size, end=end)


class EventTimeApply(Applied, EventTimeAggregate):
    """A function of the tuples of windows in event time."""

    in_columns = False


@dataclass(frozen=True, slots=True)
class TimeWindow(Window):
    """The fields of both kinds: `size` and `step` in the unit of the attribute `on` (microseconds for datetimes)."""

    is_family: ClassVar[bool] = True

    size: int
    step: int
    on: str
    clock: bool = field(default=False, compare=False, repr=False)  # sizes were given as timedeltas
    of_ends: bool = False  # the times are ends of other windows, which do not include them

    distance = None

    def time_of(self, t: Any) -> int:
        """The time that determines the windows of a tuple. That of a window's result is the window's last instant, so
        a minute that ends with the hour belongs to the hour."""
        time = to_time(getattr(t, self.on))
        return time - 1 if self.of_ends else time

    @property
    def shares_panes(self) -> bool:
        return self.step < self.size

    @property
    def reads(self) -> tuple[str, ...]:
        return (*self.by, self.on)

    def _text(self, kind: str) -> str:
        on = f"the end {self.on}" if self.of_ends else self.on
        return f"{kind}(event time {self.size} every {self.step} on {on}){self.by_text}"


@dataclass(frozen=True, slots=True)
class TumblingTime(TimeWindow):
    """Consecutive intervals of event time, each starting at a multiple of the size."""

    written = "window.tumbling(time=t, by=…)"
    marks = EVENT_TIME
    acts_at_end = True
    has_kernel = False
    aggregate = EventTimeAggregate
    apply = EventTimeApply

    @classmethod
    def checked(cls, by: tuple[str, ...], time: Duration, on: str) -> TumblingTime:
        size = stretch("tumbling", "time", time)
        return cls(by, size, size, on, isinstance(time, dt.timedelta))

    @property
    def results(self) -> tuple[tuple[int, int | None], str]:
        return (0, 0), "a window emits results when a mark closes it"

    def __str__(self) -> str:
        return self._text("tumbling")


@dataclass(frozen=True, slots=True)
class SlidingTime(TimeWindow):
    """The last `size` of event time, evaluated every `step`."""

    written = "window.sliding(time=t, slide=u, by=…)"
    marks = EVENT_TIME
    acts_at_end = True
    has_kernel = False
    aggregate = EventTimeAggregate
    apply = EventTimeApply

    @classmethod
    def checked(cls, by: tuple[str, ...], time: Duration, slide: Any, on: str) -> SlidingTime:
        size = stretch("sliding", "time", time)
        slide = time if slide is None else slide
        step, clock = stretch("sliding", "slide", slide), isinstance(time, dt.timedelta)
        if step > size or isinstance(slide, dt.timedelta) != clock:
            raise bad("sliding", "slide", f"at most the window's size, {time!r}, and in its unit", repr(slide))
        return cls(by, size, step, on, clock)

    @property
    def results(self) -> tuple[tuple[int, int | None], str]:
        return (0, 0), "a window emits results when a mark closes it"

    def __str__(self) -> str:
        return self._text("sliding")

"""Sliding windows that advance with the tuples: by count, and by a delta of an attribute."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from thalweg.ir.windows import Window
from thalweg.library.decimals import above
from thalweg.library.two_stacks import TwoStacks
from thalweg.library.window_aggregate import Applied, WindowAggregate
from thalweg.library.window_arguments import delta_on, distance_of, whole


class SlidingAggregate(WindowAggregate):
    """Aggregates over the last tuples, by count or by the distance of an attribute to that of the newest tuple."""

    is_empty = False  # from its first tuple on

    def __init__(self) -> None:
        self.queue = TwoStacks()
        self.lists: deque[tuple[Any, ...]] = deque()
        self.places: deque[Any] = deque()
        self.count = 0

    def process(self, t: Any, port: int) -> None:
        window = self.config.window
        elements, values = self.taken(t)
        at = getattr(t, window.on) if isinstance(window, SlidingDelta) else None
        gone = self._gone(at)
        # Everything that can fail comes first: a tuple that fails leaves the window unchanged.
        folded = self.queue.slide(gone, elements, self.config.combined)
        self.lists.append(values)
        if isinstance(window, SlidingDelta):
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
        if isinstance(window, Sliding):
            return int(len(self.queue) == window.count)
        return sum(1 for _ in takewhile(lambda place: above(at, place) > window.delta, self.places))


class SlidingApply(Applied, SlidingAggregate):
    """A function of the last tuples."""


def _results(slide: int) -> tuple[tuple[int, int | None], str]:
    return (1 if slide == 1 else 0, 1), "a sliding window emits a result at each slide"


def _slide_text(slide: int) -> str:
    return f", slide {slide}" if slide != 1 else ""


@dataclass(frozen=True, slots=True)
class Sliding(Window):
    """The last `count` tuples of the key, evaluated at every `slide`-th tuple of the key."""

    count: int
    slide: int

    written = "window.sliding(count=n, slide=1, by=…)"
    marks = None
    acts_at_end = False
    has_kernel = True
    aggregate = SlidingAggregate
    apply = SlidingApply
    distance = None

    @classmethod
    def checked(cls, by: tuple[str, ...], count: int, slide: object) -> Sliding:
        every = 1 if slide is None else whole("sliding", "slide", slide)
        return cls(by, count, every)

    @property
    def results(self) -> tuple[tuple[int, int | None], str]:
        return _results(self.slide)

    @property
    def reads(self) -> tuple[str, ...]:
        return self.by

    def __str__(self) -> str:
        return f"sliding(count {self.count}{_slide_text(self.slide)}){self.by_text}"


@dataclass(frozen=True, slots=True)
class SlidingDelta(Window):
    """The tuples from the oldest whose attribute `on` is at most `delta` below the newest one, evaluated at every
    `slide`-th tuple."""

    delta: Any
    on: str
    slide: int

    written = "window.sliding(delta=d, on=a, slide=1, by=…)"
    marks = None
    acts_at_end = False
    has_kernel = False
    aggregate = SlidingAggregate
    apply = SlidingApply

    @classmethod
    def checked(cls, by: tuple[str, ...], delta: Any, on: str, slide: object) -> SlidingDelta:
        every = 1 if slide is None else whole("sliding", "slide", slide)
        return cls(by, distance_of("sliding window: bad delta", delta), delta_on("sliding", on), every)

    @property
    def results(self) -> tuple[tuple[int, int | None], str]:
        return _results(self.slide)

    @property
    def reads(self) -> tuple[str, ...]:
        return (*self.by, self.on)

    @property
    def distance(self) -> tuple[str, Any] | None:
        return self.on, self.delta

    def __str__(self) -> str:
        return f"sliding(delta {self.delta} on {self.on}{_slide_text(self.slide)}){self.by_text}"

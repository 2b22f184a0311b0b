"""Windows that punctuation closes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thalweg.ir.windows import PUNCTUATION, Window
from thalweg.library.window_aggregate import Applied, Pane, WindowAggregate


class PunctuatedAggregate(WindowAggregate):
    """Aggregates over the last few sections between punctuations, evaluated at each punctuation."""

    def __init__(self) -> None:
        self.panes = [Pane()]

    @property
    def is_empty(self) -> bool:
        return all(pane.elements is None for pane in reversed(self.panes))

    def process(self, t: Any, port: int) -> None:
        self.add(self.panes[-1], self.taken(t))

    def on_mark(self, time: int) -> None:
        panes = self.panes
        self.panes = [*panes, Pane()][-self.config.window.stretches :]
        self.emit(panes)

    def at_end(self) -> None:
        if self.panes[-1].elements is not None:
            self.emit(self.panes)


class PunctuatedApply(Applied, PunctuatedAggregate):
    """A function of the tuples between punctuations."""


@dataclass(frozen=True, slots=True)
class TumblingPunctuation(Window):
    """From one punctuation to the next."""

    written = "window.tumbling(punctuation=True, by=…)"
    marks = PUNCTUATION
    acts_at_end = True
    has_kernel = False
    aggregate = PunctuatedAggregate
    apply = PunctuatedApply
    distance = None
    stretches = 1

    @property
    def results(self) -> tuple[tuple[int, int | None], str]:
        return (0, 0), "a window emits results when a mark closes it"

    @property
    def reads(self) -> tuple[str, ...]:
        return self.by

    def __str__(self) -> str:
        return f"tumbling(punctuation 1){self.by_text}"


@dataclass(frozen=True, slots=True)
class SlidingPunctuation(Window):
    """The last `stretches` sections between punctuations, evaluated at each punctuation."""

    stretches: int

    written = "window.sliding(punctuations=n, by=…)"
    marks = PUNCTUATION
    acts_at_end = True
    has_kernel = False
    aggregate = PunctuatedAggregate
    apply = PunctuatedApply
    distance = None

    @property
    def results(self) -> tuple[tuple[int, int | None], str]:
        return (0, 0), "a window emits results when a mark closes it"

    @property
    def reads(self) -> tuple[str, ...]:
        return self.by

    def __str__(self) -> str:
        return f"sliding(punctuation {self.stretches}){self.by_text}"

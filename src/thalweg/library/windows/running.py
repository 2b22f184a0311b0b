"""Running windows: all tuples so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thalweg.ir.windows import Window
from thalweg.library.window_aggregate import Applied, Pane, WindowAggregate


class RunningAggregate(WindowAggregate):
    """Aggregates over all tuples of the key so far."""

    is_empty = False

    def __init__(self) -> None:
        self.pane = Pane()

    def process(self, t: Any, port: int) -> None:
        self.add(self.pane, self.taken(t))
        self.emit([self.pane])


class RunningApply(Applied, RunningAggregate):
    """A function of all tuples of the key so far."""


@dataclass(frozen=True, slots=True)
class Running(Window):
    """All tuples of the key so far."""

    written = "window.running(by=…)"
    marks = None
    acts_at_end = False
    has_kernel = True
    aggregate = RunningAggregate
    apply = RunningApply
    distance = None

    @property
    def results(self) -> tuple[tuple[int, int | None], str]:
        return (1, 1), "a running window emits a result for each tuple"

    @property
    def reads(self) -> tuple[str, ...]:
        return self.by

    def __str__(self) -> str:
        return f"running{self.by_text}"

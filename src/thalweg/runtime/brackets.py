"""Brackets around the calls of a PE: which operator a thread is executing, and how much CPU time each operator took.

Generated code has a form with brackets: `stack.enter(index)` before a call, `stack.leave()` after it; the index refers
to `Program.brackets`. Without a stack, a frame runs through the plain form, so disabled brackets cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time_ns

_DEPTH = 8  # generated code nests two levels: single operators within a chain that fell back


class Stack:
    """The open brackets of a thread (its E-stack). Only that thread writes it; any thread may read it at any time.

    Its cells are allocated once. The first holds the depth; it is written last, so a reader never sees an index that
    was not entered.
    """

    __slots__ = ("_cells",)

    def __init__(self) -> None:
        self._cells = [0] * (_DEPTH + 1)

    def enter(self, index: int) -> None:
        cells = self._cells
        depth = cells[0] + 1
        cells[depth] = index
        cells[0] = depth

    def leave(self) -> None:
        self._cells[0] -= 1

    def inside(self) -> tuple[int, ...]:
        """The indices of the open brackets, the innermost last. Empty: the thread is between two calls."""
        cells = self._cells
        return tuple(cells[1 : cells[0] + 1])

    def clear(self) -> None:
        """Close all brackets, after an error that left some open."""
        self._cells[0] = 0


class Timer(Stack):
    """A stack that also attributes time to the innermost open bracket: every nanosecond goes to one bracket, or to
    `outside`, so that all of them add up to the time between the timer's start and its last reading."""

    __slots__ = ("_clock", "_read", "ns", "outside_ns")

    def __init__(self, brackets: int, clock: Callable[[], int] = thread_time_ns) -> None:
        super().__init__()
        self.ns = [0] * brackets
        self.outside_ns = 0
        self._clock, self._read = clock, clock()

    def enter(self, index: int) -> None:
        self.read()
        super().enter(index)

    def leave(self) -> None:
        self.read()
        super().leave()

    def read(self) -> None:
        """Attribute the time since the last reading."""
        now = self._clock()
        spent, self._read = now - self._read, now
        if depth := self._cells[0]:
            self.ns[self._cells[depth]] += spent
        else:
            self.outside_ns += spent

    def clear(self) -> None:
        self.read()
        super().clear()

"""The counts of an epoch: tuples by output port, skipped tuples, and how each PE spent its time.

One addition per frame and operator, none per tuple. Counts of tasks, channels and stages are added up by the engine;
the counts of a failed attempt are discarded with its output, so the sums are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter_ns, thread_time_ns
from typing import TypeVar

from thalweg.ir.pe_id import PeId

T = TypeVar("T")


@dataclass(slots=True)
class Spent:
    """A PE's time in nanoseconds: the CPU time of its thread, and the wall time that it waited for its input, for the
    receiver of its output, and for the state store."""

    cpu_ns: int = 0
    input_wait_ns: int = 0
    output_wait_ns: int = 0
    state_wait_ns: int = 0

    def add(self, other: Spent) -> None:
        self.cpu_ns += other.cpu_ns
        self.input_wait_ns += other.input_wait_ns
        self.output_wait_ns += other.output_wait_ns
        self.state_wait_ns += other.state_wait_ns

    @contextmanager
    def working(self) -> Iterator[None]:
        began = thread_time_ns()
        try:
            yield
        finally:
            self.cpu_ns += thread_time_ns() - began

    def arriving(self, items: Iterable[T]) -> Iterator[T]:
        """The items; the time until each arrives is input wait."""
        began = perf_counter_ns()
        for item in items:
            self.input_wait_ns += perf_counter_ns() - began
            yield item
            began = perf_counter_ns()
        self.input_wait_ns += perf_counter_ns() - began

    def leaving(self, items: Iterable[T]) -> Iterator[T]:
        """The items; the time until the receiver takes the next one is output wait."""
        for item in items:
            began = perf_counter_ns()
            yield item
            self.output_wait_ns += perf_counter_ns() - began


@dataclass(slots=True)
class Counts:
    """Tuples emitted at each (operator, output port), tuples that operators skipped, and each PE's time."""

    sent: dict[tuple[str, int], int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    spent: dict[PeId, Spent] = field(default_factory=dict)

    def send(self, operator: str, port: int, tuples: int) -> None:
        self.sent[operator, port] = self.sent.get((operator, port), 0) + tuples

    def skip(self, operator: str, tuples: int = 1) -> None:
        self.skipped[operator] = self.skipped.get(operator, 0) + tuples

    def of_pe(self, pe: PeId) -> Spent:
        return self.spent.setdefault(pe, Spent())

    def add(self, other: Counts) -> None:
        for stream, tuples in other.sent.items():
            self.send(*stream, tuples)
        for operator, tuples in other.skipped.items():
            self.skip(operator, tuples)
        for pe, spent in other.spent.items():
            self.of_pe(pe).add(spent)

"""Operators that combine tuples of several ports: ordered merge, barrier, pair; and the marks of several streams."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from thalweg.ir.library_logic import LibraryLogic
from thalweg.ir.operator_model import AT_MOST_ONE, MANY, Model, key_copies
from thalweg.ir.operators import Process
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import UserCode
from thalweg.library.sorting import check_comparable, ranked


@dataclass(frozen=True, slots=True)
class MeetConfig:
    """`on`: the attribute that orders a merge; `names`: the attributes that a barrier takes from each port's tuple."""

    ports: int
    on: str = ""
    names: tuple[tuple[str, ...], ...] = ()


class _Meeting(LibraryLogic):
    config: MeetConfig
    has_late = False
    users_code = None
    time_lengths = inner_types = ()

    def code(self, operator: Process, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return ()


class _Queues(_Meeting):
    makes_marks = False

    def __init__(self, ports: int) -> None:
        self.queues: list[deque[Any]] = [deque() for _ in range(ports)]

    def settings(self) -> str:
        return f"{type(self).__name__} {self.config}"

    @property
    def is_empty(self) -> bool:
        return not any(self.queues)


class MergeOrdered(_Queues):
    """Merges sorted streams: a tuple is emitted when every other port has received one that is not smaller."""

    def known(self, operator: Process, inputs: tuple[TupleType, ...]) -> Model:
        return Model("the next tuple in order is emitted", (MANY,), (({},) * len(inputs),), (None,) * len(inputs))

    def process(self, t: Any, port: int) -> None:
        self._check(getattr(t, self.config.on))
        self.queues[port].append(t)
        while all(self.queues):
            self._next()

    def at_end(self) -> None:
        while any(self.queues):
            self._next()

    def _check(self, value: Any) -> None:
        check_comparable((value,), (value,), *((getattr(queue[-1], self.config.on),) for queue in self.queues if queue))

    def _next(self) -> None:
        on = self.config.on
        heads = [(ranked(getattr(q[0], on)), port) for port, q in enumerate(self.queues) if q]
        least = min(heads, key=lambda head: head[0])
        self.submit(self.queues[least[1]].popleft())


class Barrier(_Queues):
    """Combines one tuple of each port into one tuple, when every port has one."""

    def known(self, operator: Process, inputs: tuple[TupleType, ...]) -> Model:
        copies = key_copies(operator, inputs)
        return Model("one result for one tuple of each port", (AT_MOST_ONE,), (copies,), (None,) * len(inputs))

    def process(self, t: Any, port: int) -> None:
        self.queues[port].append(t)
        if all(self.queues):
            met = [queue.popleft() for queue in self.queues]
            named = zip(self.config.names, met, strict=True)
            self.submit({n: getattr(row, n) for names, row in named for n in names})


class Pair(_Queues):
    """Emits one tuple of each port, in the order of the ports, when every port has one."""

    def known(self, operator: Process, inputs: tuple[TupleType, ...]) -> Model:
        copies = key_copies(operator, inputs)
        return Model("one tuple of each port", ((0, len(inputs)),), (copies,), (None,) * len(inputs))

    def process(self, t: Any, port: int) -> None:
        self.queues[port].append(t)
        if all(self.queues):
            for queue in self.queues:
                self.submit(queue.popleft())


class _Marks(_Meeting):
    makes_marks = True
    is_empty = False

    def known(self, operator: Process, inputs: tuple[TupleType, ...]) -> Model:
        return Model("marks of several streams", (AT_MOST_ONE,), (({},) * len(inputs),), (None,) * len(inputs))


class LeastTime(_Marks):
    """The event time of several streams together: the minimum."""

    def __init__(self) -> None:
        self.times: dict[int, int] = {}
        self.told: int | None = None

    def settings(self) -> str:
        return f"least time {self.config}"

    def process(self, t: Any, port: int) -> None:
        if port in self.times and t.time <= self.times[port]:
            return
        self.times[port] = t.time
        least = min(self.times.values())
        if len(self.times) == self.config.ports and (self.told is None or least > self.told):
            self.told = least
            self.submit({"time": least})


class EveryPunctuation(_Marks):
    """The punctuation of several streams together: the n-th arrives when the n-th of each stream has arrived."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.told = 0

    def settings(self) -> str:
        return f"every punctuation {self.config}"

    def process(self, t: Any, port: int) -> None:
        self.counts[port] = self.counts.get(port, 0) + 1
        if len(self.counts) == self.config.ports and min(self.counts.values()) > self.told:
            self.told += 1
            self.submit({"time": 0})

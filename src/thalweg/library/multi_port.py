"""Operators that combine tuples of several ports: ordered merge, barrier, pair; and the marks of several streams."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from thalweg.ir.library_logic import LibraryLogic
from thalweg.ir.operator_model import AT_MOST_ONE, MANY, Model, key_copies
from thalweg.ir.operators import NO_TIME, Process
from thalweg.ir.origins import OriginNumber, origin_parts
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
    config: Any
    has_late = False
    users_code = None
    time_lengths = inner_types = ()

    def code(self, operator: Process, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return ()


class _Queues(_Meeting):
    config: MeetConfig
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


@dataclass(frozen=True, slots=True)
class Origin:
    """One of several event times that are combined: that of an input port, or of a source or a concurrent split whose
    tuples reach one `event_time`. `idle`: for how many epochs without a mark the others wait for it. `finds_splits`: a
    source that finds its splits while it runs; each is an origin."""

    name: int | str
    idle: int | None
    finds_splits: bool = False


@dataclass(frozen=True, slots=True)
class LeastTimeConfig:
    """The origins by (port, origin of the mark)."""

    origins: Mapping[tuple[int, int], Origin]

    def __str__(self) -> str:
        names = [o.name for o in self.origins.values()]
        named = [str(name) for name in names if isinstance(name, str)]
        return f"{MeetConfig(len(names) - len(named))}{' of ' if named else ''}{', '.join(named)}"


class LeastTime(_Marks):
    """The event time of several origins together: the minimum, over those that are not idle.

    An origin is idle if its last mark, or else the first mark of any, came more than `idle` epochs ago; a split
    without a mark, if the mark with which it was found did. Every origin that has tuples in an epoch sends a mark at
    the first of them, and only then, or when its time advances, does this operator's state change: so it does not
    depend on how tuples are cut into frames.
    """

    config: LeastTimeConfig
    version = 3  # since version 2, it knows when origins were heard; since version 3, the splits of sources

    def __init__(self) -> None:
        self.times: dict[int | str, int] = {}
        self.heard: dict[int | str, int] = {}  # the epoch of the last mark, or of the mark with which it was found
        self.splits: dict[int | str, int] = {}  # how many splits of a source were found
        self.since: int | None = None  # the epoch of the first mark of any origin
        self.told: int | None = None
        self.told_in: int | None = None  # the epoch of the last mark that was emitted

    def upgrade(self, attributes: dict[str, Any], version: int) -> dict[str, Any]:
        if version < 2:
            attributes = attributes | {"heard": {}, "since": None, "told_in": None}
        return attributes | {"splits": {}}

    def settings(self) -> str:
        return f"least time {self.config}"

    def process(self, t: Any, port: int) -> None:
        epoch = self.now
        assert epoch is not None
        number = origin_parts(getattr(t, "origin", 0))
        origin = self.config.origins.get((port, number.entry))
        if origin is None:
            return  # emitted at the end of the input, when no origin has more tuples
        name = self._found(origin, number, epoch) if origin.finds_splits else origin.name
        self.heard[name] = epoch
        self.since = epoch if self.since is None else self.since
        if t.time != NO_TIME:
            self.times[name] = max(t.time, self.times.get(name, t.time))
        before = self.told
        everything = [(name, o.idle) for o in self.config.origins.values() for name in self._names(o)]
        waited = [name for name, idle in everything if not self._is_idle(name, idle, epoch)]
        if all(name in self.times for name in waited):
            least = min(self.times[name] for name in waited)
            self.told = least if before is None else max(before, least)
        if self.told != before or self.told_in != epoch:
            self.told_in = epoch
            self.submit({"time": NO_TIME if self.told is None else self.told})

    def _found(self, origin: Origin, number: OriginNumber, epoch: int) -> str:
        """The name of the split of a mark. The mark may be the first to come after other splits were found, too."""
        for split in range(self.splits.get(origin.name, 0), number.others + 1):
            self.heard[f"{origin.name}/{split}"] = epoch
            self.splits[origin.name] = split + 1
        return f"{origin.name}/{number.split}"

    def _names(self, origin: Origin) -> Iterable[int | str]:
        """The origin itself, or its splits as soon as they are known."""
        found = self.splits.get(origin.name, 0)
        return [f"{origin.name}/{split}" for split in range(found)] if found else (origin.name,)

    def _is_idle(self, name: int | str, idle: int | None, epoch: int) -> bool:
        assert self.since is not None
        return idle is not None and epoch - self.heard.get(name, self.since) > idle


class EveryPunctuation(_Marks):
    """The punctuation of several streams together: the n-th arrives when the n-th of each stream has arrived."""

    config: MeetConfig

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

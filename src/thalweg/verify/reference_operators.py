"""The library's operators in the reference: each keeps all tuples in a list and computes its output from the list.

They are written from docs/operators.md, without the code of `thalweg.library`. `reference_definitions.py` assigns them
to the classes of the library and passes the settings as plain arguments.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg.ir.canonical_form import canonical
from thalweg.ir.logic import Logic
from thalweg.ir.operators import NO_TIME
from thalweg.ir.origins import OriginNumber, origin_parts
from thalweg.ir.times import to_time
from thalweg.ir.values import carried
from thalweg.verify.reference_order import check_order, check_pair, comes_before, in_order


class Dedup(Logic):
    """The first tuple of a key and, with `within`, the next one that is more than `within` later. With `within`, a
    tuple whose time has passed is late."""

    def __init__(self, within: int | None, time: str) -> None:
        self.within, self.time = within, time
        self.passed: list[Any] = []

    def process(self, t: Any, port: int) -> None:
        if self.within is not None and self.now is not None and to_time(getattr(t, self.time)) < self.now:
            self.submit(t, 1)
        elif not self.passed or (self.within is not None and self._since(t) > self.within):
            self.passed.append(t)
            self.submit(t)

    def _since(self, t: Any) -> int:
        return to_time(getattr(t, self.time)) - to_time(getattr(self.passed[-1], self.time))


class StateFunction(Logic):
    """A user function of a tuple, the key's state and `submit`, which changes the state or returns a new one. After
    None the next tuple finds the initial state, unless the function changes the state `in_place`."""

    def __init__(self, function: Callable[[Any, Any, Callable[..., None]], Any], state: Any, in_place: bool) -> None:
        self.function, self.first, self.in_place = function, state, in_place
        self.state = copy.deepcopy(state)

    def process(self, t: Any, port: int) -> None:
        returned = self.function(t, self.state, self.submit)
        if not self.in_place:
            self.state = copy.deepcopy(self.first) if returned is None else returned
        elif returned is not None:
            self.state = returned


class SortedBuffer(Logic):
    """When more than `size` tuples are held, the first of them in order is emitted; at the end all of them are."""

    def __init__(self, size: int, attributes: Sequence[str], descending: Sequence[bool]) -> None:
        self.size, self.attributes, self.descending = size, attributes, descending
        self.held: list[Any] = []

    def process(self, t: Any, port: int) -> None:
        check_order(t, self.attributes)
        for held in self.held:
            check_pair(t, held, self.attributes)
        self.held.append(t)
        if len(self.held) > self.size:
            self._emit()

    def at_end(self) -> None:
        while self.held:
            self._emit()

    def _emit(self) -> None:
        first = in_order(self.held, self.attributes, self.descending)[0]
        self.submit(first)
        del self.held[next(i for i, t in enumerate(self.held) if t is first)]


# Streams that meet.


class Join(Logic):
    """Each tuple with the tuples of the other side that are in its window, the oldest first.

    `counts`: how many tuples are in the window of each side (None: all). With `within`, the tuples of a pair are at
    most that much event time apart, and a tuple whose time has passed is late: it is not joined and not in a window.
    A tuple that fails is not in a window either.
    """

    def __init__(
        self,
        names: tuple[Sequence[str], Sequence[str]],
        counts: tuple[int | None, int | None],
        times: tuple[str, str],
        within: int | None,
        where: Callable[[Any, Any], Any] | None,
    ) -> None:
        self.names, self.counts, self.times, self.within, self.where = names, counts, times, within, where
        self.came: tuple[list[Any], list[Any]] = ([], [])

    def process(self, t: Any, port: int) -> None:
        if self.within is not None and self.now is not None and self._time(t, port) < self.now:
            self.submit(t, 1 + port)
            return
        for other in self._window(1 - port):
            left, right = (t, other) if port == 0 else (other, t)
            if self._near(left, right) and (self.where is None or self.where(left, right)):
                sides = zip(self.names, (left, right), strict=True)
                self.submit({name: getattr(side, name) for names, side in sides for name in names})
        self.came[port].append(t)

    def _window(self, port: int) -> list[Any]:
        count, came = self.counts[port], self.came[port]
        return [t for i, t in enumerate(came) if count is None or i >= len(came) - count]

    def _near(self, left: Any, right: Any) -> bool:
        return self.within is None or abs(self._time(left, 0) - self._time(right, 1)) <= self.within

    def _time(self, t: Any, port: int) -> int:
        return to_time(getattr(t, self.times[port]))


class Lookup(Logic):
    """Each tuple with the rows of a table that have its key, in their order; without one, with `missing` if given.

    The table is grouped by the canonical form of its keys when the graph is built.
    """

    def __init__(
        self,
        on: Sequence[str],
        table: Mapping[bytes, Sequence[Mapping[str, Any]]],
        names: Sequence[str],
        missing: Mapping[str, Any] | None,
    ) -> None:
        self.on, self.table, self.names, self.missing = on, table, names, missing

    def process(self, t: Any, port: int) -> None:
        key = b"".join(canonical(carried(getattr(t, name))) for name in self.on)
        rows = [row for own, rows in self.table.items() if own == key for row in rows]
        if not rows and self.missing is not None:
            rows = [self.missing]
        for row in rows:
            self.submit({**{name: getattr(t, name) for name in self.names}, **row})


class Waiting(Logic):
    """Base class: the tuples that wait for tuples of other ports, in the order of their arrival."""

    def __init__(self, ports: int) -> None:
        self.ports = range(ports)
        self.waiting: list[tuple[int, Any]] = []

    def heads(self) -> dict[int, Any]:
        """The tuple of each port that has waited longest; ports where none waits are missing."""
        found = {port: [t for p, t in self.waiting if p == port] for port in self.ports}
        return {port: waiting[0] for port, waiting in found.items() if waiting}

    def take(self, port: int) -> Any:
        return self.waiting.pop(next(i for i, (p, _) in enumerate(self.waiting) if p == port))[1]

    def all_wait(self) -> bool:
        return len(self.heads()) == len(self.ports)


class MergeOrdered(Waiting):
    """The least of the tuples that have waited longest at their ports, while a tuple waits at every port; of equal
    tuples, that of the earlier port. At the end the ports that have no more tuples are not waited for."""

    def __init__(self, ports: int, on: str) -> None:
        super().__init__(ports)
        self.on = (on,)

    def process(self, t: Any, port: int) -> None:
        check_order(t, self.on)
        for _, other in self.waiting:
            check_pair(t, other, self.on)
        self.waiting.append((port, t))
        while self.all_wait():
            self._emit()

    def at_end(self) -> None:
        while self.waiting:
            self._emit()

    def _emit(self) -> None:
        heads = self.heads()
        least, *others = heads
        for port in others:
            if comes_before(heads[port], heads[least], self.on, (False,)):
                least = port
        self.submit(self.take(least))


class Barrier(Waiting):
    """One tuple made from one tuple of each port, as soon as a tuple waits at every port. `names`: what is taken."""

    def __init__(self, names: Sequence[Sequence[str]]) -> None:
        super().__init__(len(names))
        self.names = names

    def process(self, t: Any, port: int) -> None:
        self.waiting.append((port, t))
        if self.all_wait():
            met = [self.take(port) for port in self.ports]
            self.submit({n: getattr(row, n) for row, names in zip(met, self.names, strict=True) for n in names})


class Pair(Waiting):
    """One tuple of each port after another, as soon as a tuple waits at every port."""

    def process(self, t: Any, port: int) -> None:
        self.waiting.append((port, t))
        if self.all_wait():
            for each in self.ports:
                self.submit(self.take(each))


# The marks of several streams.


class Marks(Logic):
    """Base class: all marks that came, by port; and how often a mark was emitted."""

    def __init__(self, ports: int) -> None:
        self.came: list[list[int]] = [[] for _ in range(ports)]
        self.emitted: list[int] = []


class LeastTime(Logic):
    """The event time of several origins is the least of their event times, once each has one; it never goes back.

    `origins`: for how many epochs each is waited for, by its port and its number in the marks, and whether it is a
    source that finds its splits while it runs. Then each split is waited for, from the first mark on that was read when
    the split was known. All that came is kept.
    """

    def __init__(self, origins: Mapping[tuple[int, int], tuple[int | None, bool]]) -> None:
        self.origins = origins
        self.came: list[tuple[tuple[int, int], OriginNumber, int, int]] = []  # origin, its parts, epoch, time
        self.emitted: list[tuple[int, int]] = []  # epoch, time

    def process(self, t: Any, port: int) -> None:
        parts, epoch = origin_parts(getattr(t, "origin", 0)), self.now or 0
        if (port, parts.entry) not in self.origins:
            return
        self.came.append(((port, parts.entry), parts, epoch, t.time))
        waited = [(o, split) for o in self.origins for split in self._splits(o) if not self._is_idle(o, split, epoch)]
        times = [max(self._times(*one), default=NO_TIME) for one in waited]
        least = max([min(times), *(time for _, time in self.emitted)])
        if (epoch, least) not in self.emitted:
            self.emitted.append((epoch, least))
            self.submit({"time": least})

    def _splits(self, origin: tuple[int, int]) -> range:
        """The splits that were found. An origin without splits, or without marks so far, is like one with one split."""
        return range(max((parts.others + 1 for o, parts, _, _ in self.came if o == origin), default=1))

    def _times(self, origin: tuple[int, int], split: int) -> list[int]:
        return [time for o, parts, _, time in self.came if (o, parts.split) == (origin, split)]

    def _is_idle(self, origin: tuple[int, int], split: int, epoch: int) -> bool:
        """Whether more epochs have passed since its last mark; or, if there was none, since the first of all, or since
        the split was found."""
        idle, finds_splits = self.origins[origin]
        marks = [e for o, parts, e, _ in self.came if (o, parts.split) == (origin, split)]
        found = [e for o, parts, e, _ in self.came if finds_splits and o == origin and parts.others >= split]
        last = max([*marks, *found[:1]], default=self.came[0][2])
        return idle is not None and epoch - last > idle


class EveryPunctuation(Marks):
    """The n-th punctuation of several streams comes with the last of their n-th punctuations."""

    def process(self, t: Any, port: int) -> None:
        self.came[port].append(t.time)
        if min(map(len, self.came)) > len(self.emitted):
            self.emitted.append(0)
            self.submit({"time": 0})

"""Joins of two windowed streams, and of a stream with a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg.ir.canonical_form import canonical_key
from thalweg.ir.library_logic import LibraryLogic
from thalweg.ir.operator_model import AT_MOST_ONE, MANY, Bounds, Copies, Model, key_copies, same
from thalweg.ir.operators import Process, code_fingerprint
from thalweg.ir.times import to_time
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import TRUTH, UserCode, UserFunction
from thalweg.library.decimals import above


@dataclass(frozen=True, slots=True)
class Side:
    """The tuples that one side of a join keeps: its last `count` tuples (None: all), or those `within` a time."""

    names: tuple[str, ...]  # the attributes that go into the result
    count: int | None
    time: str = ""  # the attribute with the event time, for `within`


@dataclass(frozen=True, slots=True)
class JoinConfig:
    sides: tuple[Side, Side]
    within: int | None
    where: Callable[[Any, Any], Any] | None
    late: bool = False

    def __str__(self) -> str:
        where = "" if self.where is None else f" where {code_fingerprint(self.where)}"
        return f"{self.sides} within {self.within}{where}"


class WindowJoin(LibraryLogic):
    """Joins each tuple with the tuples that the other side keeps, in the order of their arrival."""

    config: JoinConfig
    makes_marks = False
    users_code = None  # the predicate is only a part of it
    inner_types = ()

    def __init__(self) -> None:
        self.held: tuple[list[Any], list[Any]] = ([], [])

    def settings(self) -> str:
        return str(self.config)

    def known(self, operator: Process, inputs: tuple[TupleType, ...]) -> Model:
        """Pairs have the attributes of both tuples, and the key under the names of the first side."""
        output, sides = operator.outputs[0], self.config.sides
        keys = key_copies(operator, inputs)[1]
        left = {n: n for n in sides[0].names}
        right = {n: n for n in sides[1].names if output.get(n) == inputs[1].get(n)} | dict(keys)
        back = {theirs: mine for mine, theirs in keys.items() if theirs in sides[1].names}
        pairs: tuple[Copies, Copies] = (left | back, right)
        late = [
            (same(k, k), {}) if port == 0 else ({}, same(k, k)) for port, k in enumerate(inputs[: operator.results - 1])
        ]
        counts = (MANY, *((AT_MOST_ONE,) * len(late)))
        return Model("a tuple is joined with those in the other window", counts, (pairs, *late), (None, None))

    def code(self, operator: Process, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        where = self.config.where
        parts = where.parts if isinstance(where, _Both) else () if where is None else (where,)
        return [UserFunction(function=part, where=operator.where, arguments=inputs, use=TRUTH) for part in parts]

    @property
    def has_late(self) -> bool:
        return self.config.late

    @property
    def time_lengths(self) -> tuple[int, ...]:
        return () if self.config.within is None else (self.config.within,)

    @property
    def is_empty(self) -> bool:
        return not self.held[0] and not self.held[1]

    def process(self, t: Any, port: int) -> None:
        config = self.config
        if config.within is not None and self.now is not None and self._time(t, port) < self.now:
            if config.late:
                self.submit(t, 1 + port)
            return
        for other in self.held[1 - port]:
            pair = (t, other) if port == 0 else (other, t)
            if self._matches(*pair):
                self.submit(self._joined(*pair))
        held, count = self.held[port], config.sides[port].count
        if count != 0:
            held.append(t)
        if count is not None and len(held) > count:
            del held[0]

    def _time(self, t: Any, port: int) -> int:
        return to_time(getattr(t, self.config.sides[port].time))

    def _matches(self, left: Any, right: Any) -> bool:
        config = self.config
        if config.within is not None and abs(self._time(left, 0) - self._time(right, 1)) > config.within:
            return False
        return config.where is None or bool(config.where(left, right))

    def _joined(self, left: Any, right: Any) -> dict[str, Any]:
        mine, theirs = self.config.sides
        return {n: getattr(left, n) for n in mine.names} | {n: getattr(right, n) for n in theirs.names}


class TimedWindowJoin(WindowJoin):
    """A join within an interval of event time, which allows old tuples to be dropped."""

    version = 2  # since version 2, it keeps the time of the oldest tuple

    def __init__(self) -> None:
        super().__init__()
        self.oldest: int | None = None  # no tuple that can be dropped next is older

    def upgrade(self, attributes: dict[str, Any], version: int) -> dict[str, Any]:
        return attributes | {"oldest": self._oldest(attributes["held"])}

    @property
    def due(self) -> int | None:
        assert self.config.within is not None
        return None if self.oldest is None else self.oldest + self.config.within + 1

    def _oldest(self, held: tuple[list[Any], list[Any]]) -> int | None:
        """Of a side that keeps a number of tuples, only the first can be dropped: between others, a tuple that is too
        old counts too."""
        counts = [side.count for side in self.config.sides]
        times = [self._time(t, p) for p, ts in enumerate(held) for t in (ts if counts[p] is None else ts[:1])]
        return min(times, default=None)

    def process(self, t: Any, port: int) -> None:
        super().process(t, port)
        at = self._time(t, port)
        self.oldest = at if self.oldest is None else min(self.oldest, at)

    def on_mark(self, time: int) -> None:
        """Drop the tuples that no tuple that is not late can match."""
        assert self.config.within is not None
        first = time - self.config.within
        for port, held in enumerate(self.held):
            if self.config.sides[port].count is None:
                held[:] = [t for t in held if self._time(t, port) >= first]
            while held and self._time(held[0], port) < first:
                del held[0]
        self.oldest = self._oldest(self.held)


@dataclass(frozen=True, slots=True)
class Band:
    """Whether two attributes differ by at most a distance."""

    left: str
    right: str
    distance: Any

    def __call__(self, left: Any, right: Any) -> bool:
        a, b = getattr(left, self.left), getattr(right, self.right)
        return bool(max(above(a, b), above(b, a)) <= self.distance)


class _Both:
    """Two predicates of a pair. The name of the class is part of stored fingerprints."""

    def __init__(self, first: Callable[[Any, Any], Any], second: Callable[[Any, Any], Any]) -> None:
        self.parts = first, second

    def __call__(self, left: Any, right: Any) -> Any:
        return self.parts[0](left, right) and self.parts[1](left, right)


def both(first: Callable[[Any, Any], Any], second: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A predicate of a pair that is true if both given predicates are."""
    return _Both(first, second)


@dataclass(frozen=True, slots=True)
class LookupConfig:
    """A table by canonical key, read when the graph was built, and the tuple's attributes that go into the result."""

    on: tuple[str, ...]
    table: Mapping[bytes, Sequence[Mapping[str, Any]]]
    names: tuple[str, ...]
    missing: Mapping[str, Any] | None


class Lookup(LibraryLogic):
    """Joins each tuple with the rows of a table that have its key."""

    config: LookupConfig
    makes_marks = has_late = False
    users_code = None
    time_lengths = inner_types = ()
    is_empty = False  # it has no state

    def settings(self) -> str:
        return f"lookup on {self.config.on}"

    def known(self, operator: Process, inputs: tuple[TupleType, ...]) -> Model:
        config = self.config
        most = max((len(rows) for rows in config.table.values()), default=0)
        rows: Bounds = (0, most) if config.missing is None else (1, max(1, most))
        copies = {n: n for n in config.names}
        return Model("one tuple for each row of the table with its key", (rows,), ((copies,),), (frozenset(config.on),))

    def code(self, operator: Process, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return ()

    def process(self, t: Any, port: int) -> None:
        config = self.config
        own = {n: getattr(t, n) for n in config.names}
        found = config.table.get(canonical_key(t, config.on))
        if found is None and config.missing is not None:
            found = [config.missing]
        for row in found or ():
            self.submit({**own, **row})

"""Joins of two windowed streams, and of a stream with a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg.ir.canonical import canonical_key
from thalweg.ir.logic import Logic
from thalweg.ir.operators import code_fingerprint
from thalweg.ir.times import to_time
from thalweg.library.decimals import above


@dataclass(frozen=True, slots=True)
class Side:
    """How one side of a join is remembered: its last `count` tuples (None: all), or those `within` a time."""

    names: tuple[str, ...]  # what of a tuple goes into the result
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


class WindowJoin(Logic):
    """Each tuple with the tuples that the other side remembers, in the order in which those came."""

    config: JoinConfig

    def __init__(self) -> None:
        self.held: tuple[list[Any], list[Any]] = ([], [])

    def settings(self) -> str:
        return str(self.config)

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
    """The same within a stretch of event time, which lets it forget."""

    def on_mark(self, time: int) -> None:
        """Forget the tuples that no tuple in time can match any more."""
        assert self.config.within is not None
        for port, held in enumerate(self.held):
            held[:] = [t for t in held if self._time(t, port) >= time - self.config.within]


@dataclass(frozen=True, slots=True)
class Band:
    """Two attributes that differ by no more than a distance."""

    left: str
    right: str
    distance: Any

    def __call__(self, left: Any, right: Any) -> bool:
        a, b = getattr(left, self.left), getattr(right, self.right)
        return bool(max(above(a, b), above(b, a)) <= self.distance)


@dataclass(frozen=True, slots=True)
class LookupConfig:
    """A table by canonical key, read when the graph was built, and what of a row goes into the result."""

    on: tuple[str, ...]
    table: Mapping[bytes, Sequence[Mapping[str, Any]]]
    names: tuple[str, ...]
    missing: Mapping[str, Any] | None


class Lookup(Logic):
    """Each tuple with the rows of a table that have its key."""

    config: LookupConfig

    def settings(self) -> str:
        return f"lookup on {self.config.on}"

    def process(self, t: Any, port: int) -> None:
        config = self.config
        own = {n: getattr(t, n) for n in config.names}
        found = config.table.get(canonical_key(t, config.on))
        if found is None and config.missing is not None:
            found = [config.missing]
        for row in found or ():
            self.submit({**own, **row})

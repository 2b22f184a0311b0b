"""Operators that are made in a loop and capture what the loop changes: a variable, a global, a list.

Each has a twin that captures nothing. Reference and engines run the same frozen functions, so only the twin shows that
an operator keeps the value of its own turn.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import thalweg as tw
from tests.properties.functions import Base

LIMIT = 100
LATER = 100  # what everything captured becomes after the loop: no tuple is above it
LIMITS = ((1, 3), (0, 2, 4), (-1, 1, 3))


@dataclass(frozen=True)
class Above:
    """The twin: its limit is its own."""

    limit: int

    def __call__(self, t: Any) -> bool:
        return bool(t.n > self.limit)


def build(name: str, variant: str, limits: tuple[int, ...], stream: tw.Stream) -> list[tw.Stream]:
    """A filter for each limit."""
    global LIMIT
    made: list[tw.Stream] = []
    table = [0]
    for limit in limits:
        LIMIT = table[0] = limit

        def above(n: int) -> bool:
            return n > limit

        above.limits = table  # type: ignore[attr-defined]

        class Least:
            def __get__(self, instance: object, owner: type) -> int:
                return max(limit, table[0], LIMIT)

        class Listed:
            subclasses: list[Any] = []

            def __init_subclass__(cls, *, limit: int) -> None:
                Listed.subclasses.append((cls, limit))

        class Own(Listed, limit=limit):
            least = Least()

        class Passing(tw.Operator):
            def process(self, t: Any, port: int) -> None:
                if t.n > limit and above(t.n) and t.n > Own.least and [(Own, limit)] == Listed.subclasses:
                    self.submit(t)

        variants: dict[str, Callable[[tw.Stream], tw.Stream]] = {
            "readable": lambda s: s.filter(lambda t: t.n > limit),
            "readable global": lambda s: s.filter(lambda t: t.n > LIMIT),
            "readable helper": lambda s: s.filter(lambda t: above(t.n)),
            "opaque": lambda s: s.filter(lambda t: bool(repr(t)) and t.n > limit),
            "opaque global": lambda s: s.filter(lambda t: bool(repr(t)) and t.n > LIMIT),
            "opaque helper": lambda s: s.filter(lambda t: bool(repr(t)) and above(t.n) and t.n > above.limits[0]),  # type: ignore[attr-defined]
            "list": lambda s: s.filter(functools.partial(lambda least, t: t.n > max(*least, *table), [limit])),
            "flat_map": lambda s: s.flat_map(lambda t: [t] if t.n > limit else [], Base),
            "split": lambda s: _second(*s.split(lambda t: 1 if repr(t) and t.n > limit else 0, 2)),
            "custom": lambda s: s.custom(lambda t, state, submit: submit(t) if above(t.n) else None, Base, by="k"),
            "operator": lambda s: s.custom(Passing(), Base, by="k"),
        }
        made.append(variants[variant](stream))
        LIMIT = limit = table[0] = LATER
    for number, (found, own) in enumerate(zip(made, limits, strict=True)):
        found.sink(tw.collect(), name=f"{name}.{number}.looped")
        stream.filter(Above(own)).sink(tw.collect(), name=f"{name}.{number}.twin")
    return made


def _second(first: tw.Stream, second: tw.Stream) -> tw.Stream:
    first.sink(tw.none())
    return second


VARIANTS = (
    *("readable", "readable global", "readable helper", "opaque", "opaque global", "opaque helper"),
    *("list", "flat_map", "split", "custom", "operator"),
)


def late_value(answer: Mapping[str, list[tuple[Any, ...]]]) -> str | None:
    """The first operator whose answer is not its twin's."""
    looped = {sink.removesuffix(".looped"): rows for sink, rows in answer.items() if sink.endswith(".looped")}
    return next((name for name, rows in looped.items() if repr(rows) != repr(answer[f"{name}.twin"])), None)

"""A case of the corpus, and the types of its tuples."""

# mypy: ignore-errors

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import thalweg as tw


class In(tw.Tuple):
    k: str
    a: int
    x: float
    v: list[int]
    n: int | None

    @property
    def twice(self) -> int:
        return self.a * 2

    def shout(self) -> str:
        return self.k.upper()


class Out(tw.Tuple):
    k: str
    a: int


@dataclass(frozen=True)
class Case:
    kind: str
    code: Any
    state: Any
    selectivity: Any
    reads: Any
    forwards: Any
    effects: frozenset[str]
    why: str
    by: Any

    @property
    def name(self) -> str:
        return getattr(self.code, "__name__", type(self.code).__name__)


CASES: list[Case] = []
ALL = ("k", "a", "x", "v", "n")


def case(kind, state, selectivity=None, reads=None, forwards=(), effects=(), why="", by=None, make=None):
    def add(code):
        made = make(code) if make is not None else code
        names = set(forwards.split()) if isinstance(forwards, str) else set(forwards)
        read = None if reads is None else set(reads.split()) if isinstance(reads, str) else set(reads)
        wanted = frozenset(effects.split() if isinstance(effects, str) else effects)
        CASES.append(Case(kind, made, state, selectivity, read, names, wanted, why, by))
        return code

    return add


ONE, MAYBE, MANY = (1, 1), (0, 1), (0, None)

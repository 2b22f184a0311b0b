"""Hints: the user's requests to the planner for one operator. They never change the answer, except `unordered`, which
declares that the order does not matter."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.errors import Where


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    where: Where
    parallel: bool = False
    degree: int | None = None
    key: tuple[str, ...] | None = None
    sequential: bool = False
    fuse_with: tuple[str, ...] = ()
    isolate: bool = False
    unordered: tuple[int, ...] = ()  # output ports

"""Disjoint sets that are merged step by step."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class DisjointSets(Generic[T]):
    """Each item is in a set of its own until it is joined to another."""

    def __init__(self) -> None:
        self._parents: dict[T, T] = {}

    def root(self, one: T) -> T:
        """The item that represents the set of this one."""
        while (parent := self._parents.setdefault(one, one)) != one:
            self._parents[one] = self._parents[parent]  # path halving, so that paths stay short
            one = parent
        return one

    def join(self, one: T, other: T) -> None:
        """Merge the sets of two items; the first one's root represents both."""
        self._parents[self.root(other)] = self.root(one)

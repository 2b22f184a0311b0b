"""Parallel regions: operators that are replicated together into channels, and why others are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from thalweg.ir.facts import Reason

# How a region begins and ends.
PARALLEL_SOURCE, SPLIT, SHUFFLE = "parallel source", "split", "shuffle"
MERGE, PARALLEL_SINK = "merge", "parallel sink"

# How the order of the tuples of several channels is restored.
ROUND_ROBIN, NUMBERS, NUMBERS_AND_PULSES, NONE = "round-robin", "numbers", "numbers and pulses", "none"


@dataclass(frozen=True, slots=True)
class Joint:
    """The point where tuples enter or leave a region, how their order is kept there, and why."""

    kind: str
    strategy: str
    because: str

    def __str__(self) -> str:
        return f"{self.kind}, {self.strategy}" if self.strategy != NONE else f"{self.kind}, no order"


@dataclass(frozen=True, slots=True)
class Region:
    """`key`: the attributes that route tuples into the region, by their names at the entry; None: any channel is valid.
    `keys`: for each operator that tuples are routed to, the names of the same attributes at its first port."""

    number: int
    operators: tuple[str, ...]
    key: tuple[str, ...] | None
    keys: Mapping[str, tuple[str, ...]]
    first: Joint
    last: Joint
    degree: int | None = None  # as requested by the user

    def __contains__(self, name: object) -> bool:
        return name in self.operators


@dataclass(frozen=True, slots=True)
class ChannelVerdict:
    """Whether an operator may run in several channels, and if not, why."""

    operator: str
    parallel: bool
    reason: Reason


@dataclass(frozen=True)
class Regions:
    """All regions of a graph, and a verdict for every operator."""

    rules: str
    regions: tuple[Region, ...]
    verdicts: Mapping[str, ChannelVerdict]

    def of(self, name: str) -> Region | None:
        return self._by_operator.get(name)

    @cached_property
    def _by_operator(self) -> Mapping[str, Region]:
        return {name: region for region in reversed(self.regions) for name in region.operators}

"""Plan: a graph and the decisions for each of its operators. What is derived from them is in `ir.layout`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from thalweg.ir.bucket_tables import Table
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Feedback, Operator, Source

DEFAULT_FRAME_ROWS = 262_144
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The decisions for one operator.

    `key` determines the channel of a tuple: by these attributes; with an empty key in turn; None: tuples are not
    routed, and the operator takes them where they are (a source is then read in as many tasks as the engine has).
    `degree` is the number of channels that the key selects from; None: it is still open, or there is no key.
    `table` has the channel of each bucket of keys; None: bucket % degree.
    `group`: the operators of one group are one PE; None: a separate PE. All sources share the first PE.
    """

    degree: int | None = None
    key: tuple[str, ...] | None = None
    group: int | None = None
    table: Table | None = None
    host: str | None = None
    ports: tuple[int, ...] = ()  # input ports with their own queue and thread

    def __post_init__(self) -> None:
        if self.key is None and (self.degree is not None or self.table is not None):
            raise ValueError("a degree or a table requires a key: tuples that are not routed have no choice of channel")
        if self.group is not None and self.group < 0:
            raise ValueError(f"a group must have a number of 0 or more, not {self.group}")
        if self.host is not None and not re.fullmatch(r"[^\s#=]+", self.host):
            raise ValueError(f"a host must have a name without spaces, # and =, not {self.host!r}")
        if any(port < 0 for port in self.ports) or len(set(self.ports)) < len(self.ports):
            raise ValueError(f"ports must be different numbers of 0 or more, not {self.ports}")

    @property
    def is_open(self) -> bool:
        """Whether the degree is still to be chosen."""
        return self.key is not None and self.degree is None


@dataclass(frozen=True, slots=True)
class Route:
    """How tuples are sent to channels: by key over `degree` channels, with an empty key in turn (degree 1: to channel
    0); or, without a key, to each of `degree` channels (as for marks) or, with degree 0, not at all: they stay.

    `table` has the channel of each bucket of keys; None: bucket % degree. `open`: the degree is not chosen yet."""

    key: tuple[str, ...] | None
    degree: int
    table: Table | None = None
    open: bool = False

    def __str__(self) -> str:
        over = "as many as asked for" if self.open else str(self.degree)
        if self.key is None:
            return f"to all of {over}" if self.degree or self.open else "stay"
        if self.degree == 1:
            return "to channel 0"
        how = f"by {', '.join(self.key)}" if self.key else "in turn"
        return f"{how} over {over}" + (", by its table" if self.table is not None else "")


STAY = Route(None, 0)
TO_FIRST = Route((), 1)


@dataclass(frozen=True)
class Plan:
    """A graph, a decision for each of its operators, and the numbers that hold for all of them."""

    graph: LogicalGraph
    decisions: Mapping[str, Decision]  # of every operator, by name
    buckets: int
    frame_rows: int = DEFAULT_FRAME_ROWS
    _derived: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.decisions.keys() != self.graph.by_name.keys():
            wrong = sorted(self.decisions.keys() ^ self.graph.by_name.keys())
            raise ValueError(f"a plan needs a decision for each operator of its graph; check {', '.join(wrong)}")

    def once(self, derive: Callable[[Plan], T]) -> T:
        """A value that depends on this plan alone; it is computed on first use and cached in the plan."""
        if derive not in self._derived:
            self._derived[derive] = derive(self)
        made: T = self._derived[derive]
        return made

    def decide(self, changed: Mapping[str, Decision], *, buckets: int | None = None) -> Plan:
        """The plan with these decisions replaced; the same object if nothing changes."""
        decisions = {**self.decisions, **changed}
        kept = self.buckets if buckets is None else buckets
        if (decisions, kept) == (self.decisions, self.buckets):
            return self
        return replace(self, decisions=decisions, buckets=kept)

    @cached_property
    def degrees(self) -> Mapping[str, int | None]:
        """The degrees of operators that tuples are routed to, and of sources with a number of readers; None: open."""
        return {o.name: d.degree for o in self.graph.operators if (d := self.decisions[o.name]).key is not None}

    @cached_property
    def tables(self) -> Mapping[str, Table]:
        """The channel of each bucket, by operator; for other operators it is bucket % degree."""
        return {o.name: t for o in self.graph.operators if (t := self.decisions[o.name].table) is not None}

    @cached_property
    def channels(self) -> int:
        """The number of channels of every exchange: one number, because Spark has one for all stateful stages."""
        return max([1, *(degree for degree in self.degrees.values() if degree is not None)])

    @cached_property
    def reads_in_one(self) -> bool:
        """Whether sources are read in one channel by one task; otherwise by any number of tasks."""
        return any(self.decisions[source.name].degree == 1 for source in self.graph.sources)

    @cached_property
    def is_open(self) -> bool:
        """Whether a degree is still to be chosen."""
        return any(decision.is_open for decision in self.decisions.values())

    def is_routed(self, operator: Operator) -> bool:
        """Whether tuples are routed to the operator's channels; other operators take them where they are."""
        return self.decisions[operator.name].key is not None and not isinstance(operator, Source | Feedback)

    def route_into(self, operator: Operator, port: int = 0) -> Route:
        """The route of tuples to an input port of the operator."""
        if not self.is_routed(operator):
            return STAY
        decision = self.decisions[operator.name]
        if decision.degree == 1:
            return TO_FIRST
        key = self.key_into(operator, port)
        return Route(key, decision.degree or 0, decision.table if key else None, decision.is_open)

    def key_into(self, operator: Operator, port: int) -> tuple[str, ...] | None:
        """The attributes of a port's tuples that route them; None: marks, which are sent to all channels."""
        chosen, own = self.decisions[operator.name].key or (), operator.port_key(port)
        if operator.key is None:
            return chosen
        return None if own is None else tuple(own[operator.key.index(name)] for name in chosen if name in operator.key)

    @cached_property
    def fingerprint(self) -> str:
        """A short hash of all decisions."""
        from thalweg.ir.text import print_decisions

        return hashlib.sha256(print_decisions(self).encode()).hexdigest()[:12]

"""Spread keys over channels by how often they occur."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from thalweg.analysis.facts import facts_of
from thalweg.analysis.partitioning import speaks_for_itself
from thalweg.errors import PlanError
from thalweg.ir.bucket_tables import Table, plain_table
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Operator, StreamRef
from thalweg.ir.plan import PhysicalPlan
from thalweg.optimize.fuse import groups_of, line_up

# A bucket is moved as a whole. With 64 per channel two of the heaviest keys rarely share one, and what lies beside a
# heavy key is at most some percent of a channel's share; more buckets would cost more writes per epoch for less gain.
BALANCED_BUCKETS_PER_CHANNEL = 64


@dataclass(frozen=True, slots=True)
class Loads:
    """The tuples of a sample, per bucket, at each operator whose state has a key."""

    buckets: int
    tuples: int  # that the sources gave
    at: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Balance:
    """Buckets go to channels by measured load: the heaviest first, each to the channel that has the least so far.

    before (degree 2): vwap by symbol over 2, its 4 buckets with loads 5 3 4 0 on channels 0 1 0 1: 9 and 3
    after: on channels 0 1 1 1: 5 and 7
    must not fire: where the heaviest channel would not get lighter. Nor does it part operators that could share a PE:
    those with the same key of the same stream get one table, by the sum of their loads.
    """

    name: ClassVar[str] = "balance"
    loads: Loads

    def run(self, plan: PhysicalPlan) -> PhysicalPlan:
        if plan.buckets != self.loads.buckets:
            raise PlanError(
                "loads were measured over another number of buckets",
                expected=f"{plan.buckets} buckets",
                found=str(self.loads.buckets),
            )
        tables: dict[str, Table] = {}
        for names in groups_by_key(plan):
            loads = [sum(at) for at in zip(*(self.loads.at[name] for name in names), strict=True)]
            table = lighter_table(loads, plan.degrees[names[0]])
            tables |= dict.fromkeys(names, table) if table is not None else {}
        return _assigned(plan, tables)


@dataclass(frozen=True, slots=True)
class Assign:
    """Buckets go to the channels that given tables name; a table is of whole keys.

    before: vwap by symbol over 2
    after (table 0110): vwap by symbol over 2, by its table
    must not fire: where a table does not fit the degree, the number of buckets or the operators. The tables are those
    of a checkpoint; a start with other degrees or buckets is refused for these, with its own reason.
    """

    name: ClassVar[str] = "assign"
    tables: Mapping[str, Table]

    def run(self, plan: PhysicalPlan) -> PhysicalPlan:
        keyed = {o.name for o in plan.graph.stateful if o.key and o.name not in plan.keys}
        fitting = {
            name: table
            for name, table in self.tables.items()
            if name in keyed
            and name not in plan.keys
            and len(table) == plan.buckets
            and max(table) < plan.degrees[name]
        }
        return _assigned(plan, fitting)


def _assigned(plan: PhysicalPlan, tables: Mapping[str, Table]) -> PhysicalPlan:
    if tables == plan.assignments:
        return plan
    return line_up(replace(plan, assignments=dict(tables)), groups_of(plan))


def lighter_table(loads: Sequence[int], degree: int) -> Table | None:
    """The table that spreads these loads; None: the plain one is as good."""
    plain, table = plain_table(len(loads), degree), spread(loads, degree)
    return table if heaviest(loads, table) < heaviest(loads, plain) else None


def spread(loads: Sequence[int], degree: int) -> Table:
    """The heaviest bucket first, to the channel with the least load; of equals that with the lower number.

    A bucket in which no tuple was seen stays where it would be without a table: keys that come later spread evenly.
    """
    table = list(plain_table(len(loads), degree))
    channels = [(0, channel) for channel in range(degree)]
    for bucket in sorted(range(len(loads)), key=lambda b: (-loads[b], b)):
        if loads[bucket]:
            load, table[bucket] = channels[0]
            heapq.heapreplace(channels, (load + loads[bucket], table[bucket]))
    return tuple(table)


def heaviest(loads: Sequence[int], table: Table) -> int:
    """The load of the channel that has most."""
    sums: dict[int, int] = {}
    for load, channel in zip(loads, table, strict=True):
        sums[channel] = sums.get(channel, 0) + load
    return max(sums.values(), default=0)


@dataclass(frozen=True, slots=True)
class Share:
    """What the heaviest channel of an operator gets of its tuples, without and with the plan's table."""

    operator: str
    tuples: int
    before: float
    after: float


def shares(plan: PhysicalPlan, loads: Loads) -> Iterator[Share]:
    """Of each operator that has several channels, and got tuples."""
    for name, at in loads.at.items():
        degree, tuples = plan.degrees[name], sum(at)
        if degree > 1 and tuples:
            plain = plain_table(plan.buckets, degree)
            before, after = (heaviest(at, table) / tuples for table in (plain, plan.assignments.get(name, plain)))
            yield Share(name, tuples, before, after)


def groups_by_key(plan: PhysicalPlan) -> list[list[str]]:
    """The operators with several channels, those together that may share a PE if their tables are the same: they have
    the same degree and, on some port, the same key of the same stream."""
    groups: list[tuple[set[object], list[str]]] = []
    for operator in plan.graph.stateful:
        if operator.key and plan.degrees[operator.name] > 1:
            marks: set[object] = {(plan.degrees[operator.name], *mark) for mark in _marks(plan.graph, operator)}
            names = [operator.name]
            for group in [g for g in groups if g[0] & marks]:
                groups.remove(group)
                marks |= group[0]
                names = [*group[1], *names]
            groups.append((marks, names))
    return [names for _, names in groups]


def _marks(graph: LogicalGraph, operator: Operator) -> Iterator[tuple[tuple[str, ...], StreamRef]]:
    for port, stream in enumerate(operator.inputs):
        if key := operator.port_key(port):
            for origin in _origins(graph, stream, key):
                yield key, origin


def _origins(graph: LogicalGraph, stream: StreamRef, key: tuple[str, ...]) -> Iterator[StreamRef]:
    """The streams from which these attributes come unchanged."""
    todo, seen = [stream], {stream}
    while todo:
        one = todo.pop()
        operator = graph.by_name[one.operator]
        ports = [port for port in range(len(operator.inputs)) if port != operator.mark_port]
        before = [operator.inputs[port] for port in ports]
        copies = facts_of(graph)[operator.name].forwards[one.port]
        kept = not speaks_for_itself(operator) and all(copies[port].get(n) == n for port in ports for n in key)
        if not before or not kept:
            yield one
            continue
        todo += [s for s in before if s not in seen]
        seen.update(before)

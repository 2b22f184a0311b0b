"""Spread keys over channels by how often they occur."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from thalweg.analysis.derive_facts import facts_of
from thalweg.analysis.partitioning import speaks_for_itself
from thalweg.errors import PlanError
from thalweg.ir.bucket_tables import Table, plain_table
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Operator, StreamRef
from thalweg.ir.plan import Plan
from thalweg.ir.profile import Loads
from thalweg.optimize.context import Context
from thalweg.optimize.disjoint_sets import DisjointSets

# A bucket cannot be divided. With 64 per channel, two of the heaviest keys rarely share one, and the other keys in the
# bucket of a heavy key add a few percent of a channel's share at most; more buckets would cost more writes per epoch
# for less gain.
BALANCED_BUCKETS_PER_CHANNEL = 64


@dataclass(frozen=True, slots=True)
class Balance:
    """Assign buckets to channels by measured load: the heaviest first, each to the channel with the least load so far.
    The keys of a checkpoint stay on the channels that its tables name.

    before (degree 2): vwap by symbol over 2, its 4 buckets with loads 5 3 4 0 on channels 0 1 0 1: 9 and 3
    after: on channels 0 1 1 1: 5 and 7
    must not fire: where the heaviest channel would not get lighter, or where a checkpoint's table does not fit the
    degree, the number of buckets or the operators: such a start is rejected, with a reason of its own. It must not
    separate operators that could share a PE: those with the same key of the same stream get one table, by the sum of
    their loads.
    """

    name: ClassVar[str] = "balance"

    def run(self, plan: Plan, context: Context) -> Plan:
        tables: Mapping[str, Table] = {}
        if context.held.tables:
            tables = _fitting(plan, context.held.tables)
        elif context.request.balance and context.profile is not None:
            tables = _balanced(plan, context.profile.loads)
        return plan.decide({name: replace(plan.decisions[name], table=table) for name, table in tables.items()})


def _balanced(plan: Plan, loads: Loads) -> dict[str, Table]:
    if plan.buckets != loads.buckets:
        raise PlanError(
            "loads were measured over a different number of buckets",
            expected=f"{plan.buckets} buckets",
            found=str(loads.buckets),
        )
    tables: dict[str, Table] = {}
    for names in groups_by_key(plan):
        together = [sum(at) for at in zip(*(loads.at[name] for name in names), strict=True)]
        table = lighter_table(together, _degree(plan, names[0]))
        tables |= dict.fromkeys(names, table) if table is not None else {}
    return tables


def _fitting(plan: Plan, tables: Mapping[str, Table]) -> dict[str, Table]:
    """The tables of complete keys that fit the buckets and channels of the plan."""
    whole = {o.name for o in plan.graph.stateful if o.key and plan.decisions[o.name].key == o.key}
    return {
        name: table
        for name, table in tables.items()
        if name in whole and len(table) == plan.buckets and max(table) < _degree(plan, name)
    }


def _degree(plan: Plan, name: str) -> int:
    """The degree of an operator; 0 if it is open."""
    return plan.decisions[name].degree or 0


def lighter_table(loads: Sequence[int], degree: int) -> Table | None:
    """The table that spreads these loads; None: the plain table is as good."""
    plain, table = plain_table(len(loads), degree), spread(loads, degree)
    return table if heaviest(loads, table) < heaviest(loads, plain) else None


def spread(loads: Sequence[int], degree: int) -> Table:
    """Assign the heaviest bucket first, to the channel with the least load; ties go to the lower channel number.

    A bucket without measured tuples stays where it would be without a table, so that later keys are spread evenly.
    """
    table = list(plain_table(len(loads), degree))
    channels = [(0, channel) for channel in range(degree)]
    for bucket in sorted(range(len(loads)), key=lambda b: (-loads[b], b)):
        if loads[bucket]:
            load, table[bucket] = channels[0]
            heapq.heapreplace(channels, (load + loads[bucket], table[bucket]))
    return tuple(table)


def heaviest(loads: Sequence[int], table: Table) -> int:
    """The load of the most loaded channel."""
    sums: dict[int, int] = {}
    for load, channel in zip(loads, table, strict=True):
        sums[channel] = sums.get(channel, 0) + load
    return max(sums.values(), default=0)


@dataclass(frozen=True, slots=True)
class Share:
    """The fraction of an operator's tuples that its heaviest channel gets, without and with the plan's table."""

    operator: str
    tuples: int
    before: float
    after: float


def shares(plan: Plan, loads: Loads) -> Iterator[Share]:
    """The share of each operator that has several channels and received tuples."""
    for name, at in loads.at.items():
        degree, tuples = _degree(plan, name), sum(at)
        if degree > 1 and tuples:
            plain = plain_table(plan.buckets, degree)
            before, after = (heaviest(at, table) / tuples for table in (plain, plan.tables.get(name, plain)))
            yield Share(name, tuples, before, after)


Mark = tuple[int, tuple[str, ...], StreamRef]  # a degree, a key, and a stream from which the key comes


def groups_by_key(plan: Plan) -> list[list[str]]:
    """The operators with several channels, in groups that may share a PE if their tables are the same: they have the
    same degree and, on some port, the same key of the same stream."""
    origins = _Origins(plan.graph)
    sets = DisjointSets[Mark]()
    first: dict[str, Mark] = {}
    for operator in plan.graph.stateful:
        degree = _degree(plan, operator.name)
        if operator.key and degree > 1:
            marks = [(degree, key, origin) for key, origin in origins.of(operator)]
            first[operator.name] = marks[0]
            for mark in marks[1:]:
                sets.join(marks[0], mark)
    groups: dict[Mark, list[str]] = {}
    for name, mark in first.items():
        groups.setdefault(sets.root(mark), []).append(name)
    return list(groups.values())


class _Origins:
    """The streams from which the attributes of a key come unchanged, found once for each stream and key."""

    def __init__(self, graph: LogicalGraph) -> None:
        self.graph, self.facts = graph, facts_of(graph)
        self.known: dict[tuple[StreamRef, tuple[str, ...]], frozenset[StreamRef]] = {}

    def of(self, operator: Operator) -> Iterator[tuple[tuple[str, ...], StreamRef]]:
        for port, stream in enumerate(operator.inputs):
            if key := operator.port_key(port):
                for origin in sorted(self._found(stream, key), key=str):
                    yield key, origin

    def _found(self, stream: StreamRef, key: tuple[str, ...]) -> frozenset[StreamRef]:
        waiting = [stream]
        while waiting:
            one = waiting[-1]
            before = self._before(one, key)
            missing = [s for s in before if (s, key) not in self.known]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            origins = frozenset[StreamRef]().union(*(self.known[s, key] for s in before))
            self.known[one, key] = origins if before else frozenset((one,))
        return self.known[stream, key]

    def _before(self, stream: StreamRef, key: tuple[str, ...]) -> list[StreamRef]:
        """The input streams from which this stream's key is copied; empty: the key is created here."""
        operator = self.graph.by_name[stream.operator]
        ports = [port for port in range(len(operator.inputs)) if port != operator.mark_port]
        copies = self.facts[operator.name].forwards[stream.port]
        kept = not speaks_for_itself(operator) and all(copies[port].get(n) == n for port in ports for n in key)
        return [operator.inputs[port] for port in ports] if kept else []

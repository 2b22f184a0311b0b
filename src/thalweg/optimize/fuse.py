"""Fuse operators into PEs and line the PEs up in stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Feedback, Operator, Sink, Source, StreamRef
from thalweg.ir.partitioning import output_routes
from thalweg.ir.plan import PE, STAY, PhysicalPlan, Route, Stage
from thalweg.ir.tables import Table
from thalweg.optimize.groups import read_groups


@dataclass(frozen=True, slots=True)
class Fuse:
    """Operators of one group share a PE wherever no exchange must stand between them.

    before: ticks, trades, quotes, vwap (by symbol, degree 2), join (on symbol, degree 2)
    after (one group): stage 0: pe ticks trades quotes; stage 1: pe vwap join
    after (each its own group): stage 0: pe ticks, pe trades, pe quotes; stage 1: pe vwap; stage 2: pe join
    must not fire: across an exchange. An operator with state whose key differs from the partitioning of its
    input starts a new stage, whatever its group.
    """

    name: ClassVar[str] = "fuse"
    groups: Mapping[str, str]

    @classmethod
    def all(cls, graph: LogicalGraph) -> Fuse:
        return cls({o.name: "all" for o in graph.operators})

    @classmethod
    def none(cls, graph: LogicalGraph) -> Fuse:
        return cls({o.name: o.name for o in graph.operators})

    @classmethod
    def by_name(cls, mode: str, graph: LogicalGraph) -> Fuse:
        makers = {"all": cls.all, "none": cls.none}
        return makers[mode](graph) if mode in makers else cls(read_groups(mode, graph))

    def run(self, plan: PhysicalPlan) -> PhysicalPlan:
        fused = line_up(plan.graph, self.groups, plan.degrees, plan.buckets, plan.frame_rows, plan.assignments)
        return plan if fused.stages == plan.stages else fused


def line_up(
    graph: LogicalGraph,
    groups: Mapping[str, str],
    degrees: Mapping[str, int],
    buckets: int,
    frame_rows: int,
    assignments: Mapping[str, Table] = MappingProxyType({}),
) -> PhysicalPlan:
    """The plan of these groups, degrees and tables: whoever changes one of them has to line the PEs up again."""
    line = _Line(graph, groups, degrees, buckets, frame_rows, dict(assignments))
    for operator in graph.operators:
        if not isinstance(operator, Sink):
            line.add(operator)
    return line.plan()


def groups_of(plan: PhysicalPlan) -> dict[str, str]:
    """Each operator's PE as its group."""
    return {o.name: ".".join(map(str, plan.place[o.name])) for o in plan.graph.operators}


def one_by_one(graph: LogicalGraph, frame_rows: int) -> PhysicalPlan:
    """Where the passes begin: a PE for each operator, one channel."""
    return line_up(graph, Fuse.none(graph).groups, {o.name: 1 for o in graph.stateful}, 1, frame_rows)


class _Line:
    """The plan under construction: for each stage its PEs, for each PE its operators and their groups."""

    def __init__(
        self,
        graph: LogicalGraph,
        groups: Mapping[str, str],
        degrees: Mapping[str, int],
        buckets: int,
        frame_rows: int,
        assignments: Mapping[str, Table],
    ) -> None:
        self.graph, self.groups, self.degrees = graph, groups, degrees
        self.buckets, self.frame_rows, self.assignments = buckets, frame_rows, assignments
        self.declared = {o.name: i for i, o in enumerate(graph.operators)}
        self.stages: list[list[list[str]]] = [[[s.name for s in graph.entries]]]
        self.place: dict[str, tuple[int, int]] = {s.name: (0, 0) for s in graph.entries}
        self.parts: dict[StreamRef, Route] = {
            StreamRef(s.name, port): STAY for s in graph.entries for port in range(len(s.outputs))
        }

    def plan(self) -> PhysicalPlan:
        # A source may be declared behind operators that already stand in the first PE.
        stages = tuple(
            Stage(tuple(PE(tuple(sorted(names, key=self.declared.__getitem__))) for names in stage))
            for stage in self.stages
        )
        return PhysicalPlan(self.graph, stages, self.degrees, self.buckets, self.frame_rows, self.assignments)

    def add(self, operator: Operator) -> None:
        if isinstance(operator, Source | Feedback):
            return
        stage, pe = self._stateless_place(operator) if operator.key is None else self._stateful_place(operator)
        if stage == len(self.stages):
            self.stages.append([])
        if pe == len(self.stages[stage]):
            self.stages[stage].append([])
        self.stages[stage][pe].append(operator.name)
        self.place[operator.name] = stage, pe
        self.parts |= output_routes(self.plan(), operator, self.parts)

    def _stateless_place(self, operator: Operator) -> tuple[int, int]:
        stage, earliest = max(self.place[s.operator] for s in operator.inputs)
        pes = self.stages[stage]
        for pe in range(earliest, len(pes)):
            if self._shares_group(operator, pes[pe]):
                return stage, pe
        return stage, len(pes)

    def _stateful_place(self, operator: Operator) -> tuple[int, int]:
        stage = max(self._earliest_stage(operator, port) for port in range(len(operator.inputs)))
        while stage < len(self.stages) and not self._shares_group(operator, self.stages[stage][0]):
            stage += 1  # one stage holds one PE with state: another group's must wait for the next exchange
        return stage, 0

    def _earliest_stage(self, operator: Operator, port: int) -> int:
        stream = operator.inputs[port]
        stage, pe = self.place[stream.operator]
        same_pe = stage > 0 and pe == 0 and self._shares_group(operator, self.stages[stage][0])
        kept = self.parts[stream] == self.plan().route_into(operator, port)
        return stage if same_pe and kept else stage + 1

    def _shares_group(self, operator: Operator, names: list[str]) -> bool:
        return self.groups[operator.name] in {self.groups[name] for name in names}

"""Fuse operators into PEs and line the PEs up in stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from thalweg.analysis.partitioning import output_routes
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Feedback, Operator, Sink, Source, StreamRef
from thalweg.ir.plan import PE, PhysicalPlan, Route, Stage
from thalweg.optimize.groups import read_groups


@dataclass(frozen=True, slots=True)
class Fuse:
    """Operators of one group share a PE wherever no exchange must stand between them.

    before: ticks, trades, quotes, vwap (by symbol, degree 2), join (on symbol, degree 2)
    after (one group): stage 0: pe ticks trades quotes; stage 1: pe vwap join
    after (each its own group): stage 0: pe ticks, pe trades, pe quotes; stage 1: pe vwap; stage 2: pe join
    must not fire: across an exchange. An operator whose route differs from the partitioning of its input starts a new
    stage, whatever its group.
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
        fused = line_up(plan, self.groups)
        return plan if fused.stages == plan.stages else fused


def line_up(plan: PhysicalPlan, groups: Mapping[str, str]) -> PhysicalPlan:
    """The plan with the PEs of these groups: whoever changes how tuples are spread has to line them up again."""
    line = _Line(plan, groups)
    for operator in plan.graph.operators:
        if not isinstance(operator, Sink):
            line.add(operator)
    return line.plan()


def groups_of(plan: PhysicalPlan) -> dict[str, str]:
    """Each operator's PE as its group."""
    return {o.name: ".".join(map(str, plan.place[o.name])) for o in plan.graph.operators}


def one_by_one(graph: LogicalGraph, frame_rows: int) -> PhysicalPlan:
    """Where the passes begin: a PE for each operator, one channel."""
    routed = [o.name for o in graph.operators if o.key is not None or isinstance(o, Source)]
    alone = PhysicalPlan(graph, (), dict.fromkeys(routed, 1), 1, frame_rows)
    return line_up(alone, Fuse.none(graph).groups)


class _Line:
    """The plan under construction: for each stage its PEs, for each PE its operators and their groups."""

    def __init__(self, base: PhysicalPlan, groups: Mapping[str, str]) -> None:
        self.base, self.groups = base, groups
        entries = base.graph.entries
        self.stages: list[list[list[str]]] = [[[s.name for s in entries]]]
        self.place: dict[str, tuple[int, int]] = {s.name: (0, 0) for s in entries}
        self.parts: dict[StreamRef, Route] = {}
        for entry in entries:
            self.parts |= output_routes(base, entry, self.parts)

    def plan(self) -> PhysicalPlan:
        # A source may be declared behind operators that already stand in the first PE.
        declared = self.base.graph.declared
        stages = tuple(
            Stage(tuple(PE(tuple(sorted(names, key=declared.__getitem__))) for names in stage)) for stage in self.stages
        )
        return replace(self.base, stages=stages)

    def add(self, operator: Operator) -> None:
        if isinstance(operator, Source | Feedback):
            return
        stage, pe = self._routed_place(operator) if self.base.is_routed(operator) else self._place(operator)
        if stage == len(self.stages):
            self.stages.append([])
        if pe == len(self.stages[stage]):
            self.stages[stage].append([])
        self.stages[stage][pe].append(operator.name)
        self.place[operator.name] = stage, pe
        self.parts |= output_routes(self.base, operator, self.parts)

    def _place(self, operator: Operator) -> tuple[int, int]:
        stage, earliest = max(self.place[s.operator] for s in operator.inputs)
        pes = self.stages[stage]
        for pe in range(earliest, len(pes)):
            if self._shares_group(operator, pes[pe]):
                return stage, pe
        return stage, len(pes)

    def _routed_place(self, operator: Operator) -> tuple[int, int]:
        stage = max(self._earliest_stage(operator, port) for port in range(len(operator.inputs)))
        while stage < len(self.stages) and not self._shares_group(operator, self.stages[stage][0]):
            stage += (
                1  # one stage has one PE that tuples are routed to: another group's must wait for the next exchange
            )
        return stage, 0

    def _earliest_stage(self, operator: Operator, port: int) -> int:
        stream = operator.inputs[port]
        stage, pe = self.place[stream.operator]
        same_pe = stage > 0 and pe == 0 and self._shares_group(operator, self.stages[stage][0])
        kept = self.parts[stream] == self.base.route_into(operator, port)
        return stage if same_pe and kept else stage + 1

    def _shares_group(self, operator: Operator, names: list[str]) -> bool:
        return self.groups[operator.name] in {self.groups[name] for name in names}

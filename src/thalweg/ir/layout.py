"""The layout of a plan: a sequence of stages, each a sequence of PEs after one exchange, and the wires between PEs.

It is derived from the decisions alone. An operator that tuples are routed to needs an exchange before it, unless its
input comes from its own group: then tuples are already in their channels (`optimize.legality` checks that they are).
Operators of one group that cannot be one PE become several; `optimize.legality` rejects such a plan.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from thalweg.ir.operators import Feedback, Operator, Sink, Source, StreamRef
from thalweg.ir.pe_id import PeId
from thalweg.ir.plan import STAY, Plan, Route


@dataclass(frozen=True, slots=True)
class LayoutPE:
    """Operators compiled into one callable, in declaration order. Inside it a stream connection is a call."""

    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """The PEs between two exchanges. The first PE of stage 0 contains the sources, the first PE of every other stage an
    operator that tuples are routed to."""

    pes: tuple[LayoutPE, ...]


@dataclass(frozen=True, slots=True)
class Wire:
    """A stream that leaves its PE, with its route. An exchange carries all wires, also those of later stages."""

    index: int
    stream: StreamRef
    route: Route


def layout(plan: Plan) -> Layout:
    """The layout of a plan. It is computed once and cached in the plan."""
    return plan.once(_layout)


def _layout(plan: Plan) -> Layout:
    groups = {name: name if (group := d.group) is None else group for name, d in plan.decisions.items()}
    pes = line_up(plan, groups, lambda operator, port: True)
    stages: list[list[LayoutPE]] = []
    for place, names in pes.items():
        if place.stage == len(stages):
            stages.append([])
        stages[-1].append(LayoutPE(tuple(names)))
    places = {name: place for place, names in pes.items() for name in names}
    sinks = {sink.name: PeId(len(stages), 0) for sink in plan.graph.sinks}
    return Layout(plan, tuple(Stage(tuple(stage)) for stage in stages), places | sinks)


@dataclass(frozen=True)
class Layout:
    """The place of every operator, and the wires of its input streams."""

    plan: Plan
    stages: tuple[Stage, ...]
    place: Mapping[str, PeId]  # of every operator

    @cached_property
    def pes(self) -> Mapping[PeId, LayoutPE]:
        """All PEs, in their order."""
        return {PeId(s, p): pe for s, stage in enumerate(self.stages) for p, pe in enumerate(stage.pes)}

    @cached_property
    def wire_of(self) -> Mapping[tuple[str, int], Wire]:
        """The wire that feeds each (operator, input port); ports fed inside their own PE have none."""
        wires: dict[tuple[StreamRef, Route], Wire] = {}
        found: dict[tuple[str, int], Wire] = {}
        for operator, port in self._crossings():
            stream = operator.inputs[port]
            needs_exchange = self.place[stream.operator].stage != self.place[operator.name].stage
            route = self.plan.route_into(operator, port) if needs_exchange else STAY
            wire = wires.setdefault((stream, route), Wire(len(wires), stream, route))
            found[operator.name, port] = wire
        return found

    def _crossings(self) -> Iterator[tuple[Operator, int]]:
        for operator in self.plan.graph.operators:
            for port, stream in enumerate(operator.inputs):
                if self.place[stream.operator] != self.place[operator.name]:
                    yield operator, port

    @cached_property
    def wires(self) -> tuple[Wire, ...]:
        return tuple(dict.fromkeys(self.wire_of.values()))

    @cached_property
    def exchanges(self) -> tuple[tuple[Wire, ...], ...]:
        """The wires that the exchange before each stage carries, also those for later stages; stage 0 has none."""
        last = dict.fromkeys(self.wires, 0)
        for (name, _), wire in self.wire_of.items():
            last[wire] = max(last[wire], self.place[name].stage)
        carried: list[list[Wire]] = [[] for _ in self.stages]
        for wire in self.wires:
            for stage in range(self.place[wire.stream.operator].stage + 1, min(last[wire] + 1, len(self.stages))):
                carried[stage].append(wire)
        return tuple(map(tuple, carried))

    @cached_property
    def _consumed(self) -> Mapping[PeId, frozenset[int]]:
        found: dict[PeId, set[int]] = {}
        for (name, _), wire in self.wire_of.items():
            found.setdefault(self.place[name], set()).add(wire.index)
        return {place: frozenset(wires) for place, wires in found.items()}

    def wires_into(self, place: PeId) -> frozenset[int]:
        """The wires that the PE at this place consumes."""
        return self._consumed.get(place, frozenset())

    @cached_property
    def _beyond(self) -> Mapping[PeId, frozenset[int]]:
        found: dict[PeId, frozenset[int]] = {}
        later: frozenset[int] = self.wires_into(PeId(len(self.stages), 0))
        for place in reversed(list(self.pes)):
            found[place] = later
            later |= self.wires_into(place)
        return found

    def wires_beyond(self, place: PeId) -> frozenset[int]:
        """The wires that a later PE, or a sink, consumes."""
        return self._beyond[place]

    def sink_wire(self, sink: Sink) -> Wire:
        return self.wire_of[sink.name, 0]


Groups = Mapping[str, Hashable]  # by operator; operators of one group share a PE
Kept = Callable[[Operator, int], bool]  # whether the tuples of an input port are in the operator's channels already


def line_up(plan: Plan, groups: Groups, kept: Kept) -> Mapping[PeId, list[str]]:
    """The PEs of these groups: operators of one group share a PE unless they need an exchange between them."""
    line = _Line(plan, groups, kept)
    for entry in plan.graph.entries:
        line.put(entry, PeId(0, 0))
    for operator in plan.graph.operators:
        if not isinstance(operator, Sink | Source | Feedback):
            line.put(operator, line.routed(operator) if plan.is_routed(operator) else line.unrouted(operator))
    return line.in_order()


class _Line:
    """PEs under construction."""

    def __init__(self, plan: Plan, groups: Groups, kept: Kept) -> None:
        self.plan, self.groups, self.kept = plan, groups, kept
        self.widths: list[int] = [1]  # the number of PEs of each stage
        self.pes: dict[PeId, list[str]] = {}
        self.place: dict[str, PeId] = {}
        self.known: set[tuple[Hashable, PeId]] = set()
        self.in_stage: dict[tuple[Hashable, int], list[int]] = {}  # the PEs of a group in a stage
        self.first: dict[Hashable, list[int]] = {}  # the stages after 0 whose first PE is of a group

    def in_order(self) -> Mapping[PeId, list[str]]:
        # A source may be declared after operators that are already in the first PE.
        declared = self.plan.graph.declared
        return {place: sorted(self.pes[place], key=declared.__getitem__) for place in sorted(self.pes)}

    def put(self, operator: Operator, place: PeId) -> None:
        if place.stage == len(self.widths):
            self.widths.append(0)
        self.widths[place.stage] = max(self.widths[place.stage], place.number + 1)
        self.pes.setdefault(place, []).append(operator.name)
        self.place[operator.name] = place
        group = self.groups[operator.name]
        if (group, place) not in self.known:  # these lists are in order: PEs and stages are made from left to right
            self.known.add((group, place))
            self.in_stage.setdefault((group, place.stage), []).append(place.number)
            if place.stage and not place.number:
                self.first.setdefault(group, []).append(place.stage)

    def unrouted(self, operator: Operator) -> PeId:
        stage, earliest = max(self.place[s.operator] for s in operator.inputs)
        own = self.in_stage.get((self.groups[operator.name], stage), [])
        found = bisect_left(own, earliest)
        return PeId(stage, own[found] if found < len(own) else self.widths[stage])

    def routed(self, operator: Operator) -> PeId:
        own = self.first.get(self.groups[operator.name], [])
        found = bisect_left(own, max(self._earliest(operator, port) for port in range(len(operator.inputs))))
        # A stage has one PE that tuples are routed to: an operator of a different group goes after the next exchange.
        return PeId(own[found] if found < len(own) else len(self.widths), 0)

    def _earliest(self, operator: Operator, port: int) -> int:
        before = operator.inputs[port].operator
        stage, pe = self.place[before]
        same_pe = stage > 0 and pe == 0 and self.groups[before] == self.groups[operator.name]
        return stage if same_pe and self.kept(operator, port) else stage + 1

"""PhysicalPlan: a line of stages; each stage is a row of PEs behind one exchange."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Operator, Sink, StreamRef
from thalweg.ir.tables import Table

DEFAULT_FRAME_ROWS = 262_144


@dataclass(frozen=True, slots=True)
class PE:
    """Operators compiled into one callable, in declaration order. Inside it a stream connection is a call."""

    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """What runs between two exchanges. The first PE of stage 0 holds the sources, that of every other holds state."""

    pes: tuple[PE, ...]


@dataclass(frozen=True, slots=True)
class Route:
    """How tuples find their channel: by key over `degree` channels (empty key: channel 0), or, without a key, by going
    to each of `degree` channels (marks do) or, with degree 0, by staying in theirs.

    `table` has the channel of each bucket of keys; None: bucket % degree."""

    key: tuple[str, ...] | None
    degree: int
    table: Table | None = None

    def __str__(self) -> str:
        if self.key is None:
            return f"to all of {self.degree}" if self.degree else "stay"
        by = ", by its table" if self.table is not None else ""
        return f"by {', '.join(self.key)} over {self.degree}{by}" if self.key else "to channel 0"


STAY = Route(None, 0)


@dataclass(frozen=True, slots=True)
class Wire:
    """A stream that leaves its PE, with its route. One exchange carries all wires; those not addressed pass through."""

    index: int
    stream: StreamRef
    route: Route


@dataclass(frozen=True)
class PhysicalPlan:
    """A graph, its stages, and the degree of each stateful operator."""

    graph: LogicalGraph
    stages: tuple[Stage, ...]
    degrees: Mapping[str, int]
    buckets: int
    frame_rows: int = DEFAULT_FRAME_ROWS
    assignments: Mapping[str, Table] = field(default_factory=dict)  # by keyed operator: the channel of each bucket

    @cached_property
    def channels(self) -> int:
        """The number of channels of every exchange: one number, because Spark has one for all stateful stages."""
        return max(self.degrees.values(), default=1)

    @cached_property
    def place(self) -> Mapping[str, tuple[int, int]]:
        """(stage, PE within the stage) of each operator; sinks are behind the last stage."""
        places = {
            name: (s, p)
            for s, stage in enumerate(self.stages)
            for p, pe in enumerate(stage.pes)
            for name in pe.operators
        }
        return places | {sink.name: (len(self.stages), 0) for sink in self.graph.sinks}

    def route_into(self, operator: Operator, port: int = 0) -> Route:
        if operator.key is None:
            return STAY
        degree = self.degrees[operator.name]
        key = operator.port_key(port) if degree > 1 else ()
        return Route(key, degree, self.assignments.get(operator.name) if key else None)

    @cached_property
    def wire_of(self) -> Mapping[tuple[str, int], Wire]:
        """The wire that feeds each (operator, input port); ports fed inside their own PE have none."""
        wires: dict[tuple[StreamRef, Route], Wire] = {}
        found: dict[tuple[str, int], Wire] = {}
        for operator, port in self._crossings():
            stream = operator.inputs[port]
            needs_exchange = self.place[stream.operator][0] != self.place[operator.name][0]
            route = self.route_into(operator, port) if needs_exchange else STAY
            wire = wires.setdefault((stream, route), Wire(len(wires), stream, route))
            found[operator.name, port] = wire
        return found

    def _crossings(self) -> Iterator[tuple[Operator, int]]:
        for operator in self.graph.operators:
            for port, stream in enumerate(operator.inputs):
                if self.place[stream.operator] != self.place[operator.name]:
                    yield operator, port

    @cached_property
    def wires(self) -> tuple[Wire, ...]:
        return tuple(sorted({w.index: w for w in self.wire_of.values()}.values(), key=lambda w: w.index))

    def wires_into(self, place: tuple[int, int]) -> frozenset[int]:
        """The wires that the PE at this place consumes."""
        return frozenset(w.index for (name, _), w in self.wire_of.items() if self.place[name] == place)

    def wires_beyond(self, place: tuple[int, int]) -> frozenset[int]:
        """The wires that a later PE, or a sink, consumes."""
        return frozenset(w.index for (name, _), w in self.wire_of.items() if self.place[name] > place)

    def sink_wire(self, sink: Sink) -> Wire:
        return self.wire_of[sink.name, 0]

    @cached_property
    def fingerprint(self) -> str:
        from thalweg.ir.text import print_plan

        return hashlib.sha256(print_plan(self).encode()).hexdigest()[:12]

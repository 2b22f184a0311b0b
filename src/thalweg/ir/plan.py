"""PhysicalPlan: a line of stages; each stage is a row of PEs behind one exchange."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from thalweg.ir.bucket_tables import Table
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Feedback, Operator, Sink, Source, StreamRef

DEFAULT_FRAME_ROWS = 262_144
OPEN = -1  # a degree that is chosen when the plan is run


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
    """How tuples find their channel: by key over `degree` channels, with an empty key in turn (of one: to channel 0);
    or, without a key, by going to each of `degree` channels (marks do) or, with degree 0, by staying in theirs.

    `table` has the channel of each bucket of keys; None: bucket % degree."""

    key: tuple[str, ...] | None
    degree: int
    table: Table | None = None

    def __str__(self) -> str:
        if self.key is None:
            return f"to all of {self.degree}" if self.degree else "stay"
        if self.degree == 1:
            return "to channel 0"
        how = f"by {', '.join(self.key)}" if self.key else "in turn"
        over = "as many as asked for" if self.degree == OPEN else str(self.degree)
        return f"{how} over {over}" + (", by its table" if self.table is not None else "")


STAY = Route(None, 0)
TO_FIRST = Route((), 1)


@dataclass(frozen=True, slots=True)
class Wire:
    """A stream that leaves its PE, with its route. One exchange carries all wires; those not addressed pass through."""

    index: int
    stream: StreamRef
    route: Route


@dataclass(frozen=True)
class PhysicalPlan:
    """A graph, its stages, and how tuples are spread over channels.

    `degrees`: of every stateful operator and every other one whose tuples are routed to it; of a source, in how many
    channels it is read (not said: that is left to the engine). `keys`: what routes tuples, where that is not an
    operator's whole key.
    """

    graph: LogicalGraph
    stages: tuple[Stage, ...]
    degrees: Mapping[str, int]
    buckets: int
    frame_rows: int = DEFAULT_FRAME_ROWS
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    assignments: Mapping[str, Table] = field(default_factory=dict)  # by keyed operator: the channel of each bucket

    @cached_property
    def channels(self) -> int:
        """The number of channels of every exchange: one number, because Spark has one for all stateful stages."""
        return max(1, *self.degrees.values()) if self.degrees else 1

    @cached_property
    def reads_in_one(self) -> bool:
        """Whether sources are read in one channel, one task: else in any number of tasks."""
        return any(self.degrees.get(source.name) == 1 for source in self.graph.sources)

    @property
    def is_open(self) -> bool:
        """Whether a degree is still to be chosen."""
        return OPEN in self.degrees.values()

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

    def is_routed(self, operator: Operator) -> bool:
        """Whether tuples go to a channel of its choice; others take them where they are."""
        return operator.name in self.degrees and not isinstance(operator, Source | Feedback)

    def route_into(self, operator: Operator, port: int = 0) -> Route:
        if not self.is_routed(operator):
            return STAY
        degree = self.degrees[operator.name]
        if degree == 1:
            return TO_FIRST
        key = self.key_into(operator, port)
        return Route(key, degree, self.assignments.get(operator.name) if key else None)

    def key_into(self, operator: Operator, port: int) -> tuple[str, ...] | None:
        """The attributes of a port's tuples that route them; None: marks, which go everywhere."""
        chosen, own = self.keys.get(operator.name), operator.port_key(port)
        if operator.key is None:
            return chosen or ()
        if chosen is None or own is None:
            return own
        return tuple(own[operator.key.index(name)] for name in chosen)

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

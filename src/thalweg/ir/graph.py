"""LogicalGraph: what the user wrote, independent of any plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from thalweg.ir.hints import Hint
from thalweg.ir.operators import Feedback, Operator, Sink, Source, StreamRef
from thalweg.ir.types import TupleType


@dataclass(frozen=True)
class LogicalGraph:
    """Operators in declaration order; a stream may only be used after it was declared, so this order is topological."""

    name: str
    operators: tuple[Operator, ...]
    params: tuple[tuple[str, str], ...] = ()  # names and shown values of the run's parameters
    hints: Mapping[str, Hint] = field(default_factory=dict)  # by operator

    @cached_property
    def by_name(self) -> Mapping[str, Operator]:
        return {operator.name: operator for operator in self.operators}

    @cached_property
    def declared(self) -> Mapping[str, int]:
        """The place of each operator among all, in declaration order."""
        return {operator.name: index for index, operator in enumerate(self.operators)}

    @cached_property
    def consumers(self) -> Mapping[StreamRef, tuple[tuple[Operator, int], ...]]:
        """For each stream its (operator, input port) consumers in declaration order: the order of depth-first calls."""
        found: dict[StreamRef, list[tuple[Operator, int]]] = {s: [] for s in self.streams}
        for operator in self.operators:
            for port, stream in enumerate(operator.inputs):
                found[stream].append((operator, port))
        return {stream: tuple(consumers) for stream, consumers in found.items()}

    @cached_property
    def streams(self) -> tuple[StreamRef, ...]:
        return tuple(StreamRef(o.name, port) for o in self.operators for port in range(len(o.outputs)))

    def type_of(self, stream: StreamRef) -> TupleType:
        return self.by_name[stream.operator].outputs[stream.port]

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        return tuple(o for o in self.operators if isinstance(o, Source))

    @cached_property
    def loops(self) -> tuple[Feedback, ...]:
        return tuple(o for o in self.operators if isinstance(o, Feedback))

    @cached_property
    def entries(self) -> tuple[Operator, ...]:
        """Where tuples enter the graph; what comes back comes before what is new."""
        return (*self.loops, *self.sources)

    @cached_property
    def sinks(self) -> tuple[Sink, ...]:
        return tuple(o for o in self.operators if isinstance(o, Sink))

    @cached_property
    def stateful(self) -> tuple[Operator, ...]:
        return tuple(o for o in self.operators if o.key is not None)

    @cached_property
    def reaches(self) -> Mapping[str, frozenset[str]]:
        """For each operator the operators that its tuples can reach, itself included."""
        reached: dict[str, set[str]] = {o.name: {o.name} for o in self.operators}
        for operator in reversed(self.operators):  # declaration order is topological
            for stream in operator.inputs:
                reached[stream.operator] |= reached[operator.name]
        return {name: frozenset(names) for name, names in reached.items()}

    @cached_property
    def depth_first_rank(self) -> Mapping[str, int]:
        """The order in which the reference first calls the operators for one source tuple."""
        rank: dict[str, int] = {}

        def visit(operator: Operator) -> None:
            rank.setdefault(operator.name, len(rank))
            for port in range(len(operator.outputs)):
                for consumer, _ in self.consumers[StreamRef(operator.name, port)]:
                    if consumer.name not in rank:
                        visit(consumer)

        for entry in self.entries:
            visit(entry)
        return rank

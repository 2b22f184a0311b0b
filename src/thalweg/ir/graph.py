"""LogicalGraph: the user's application, independent of any plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from thalweg.ir.analyses import Analyses
from thalweg.ir.hints import Hint
from thalweg.ir.operators import Feedback, Operator, Sink, Source, StreamRef
from thalweg.ir.types import TupleType


def beside(sink: str) -> str:
    """The name in a graph of a sink that is called like another operator."""
    return f"{sink}.sink"


@dataclass(frozen=True)
class LogicalGraph:
    """Operators in declaration order; a stream may only be used after it was declared, so this order is topological."""

    name: str
    operators: tuple[Operator, ...]
    params: tuple[tuple[str, str], ...] = ()  # names and displayed values of the run's parameters
    hints: Mapping[str, Hint] = field(default_factory=dict)  # by operator

    @cached_property
    def analyses(self) -> Analyses:
        """The cached results of analyses of this graph."""
        return Analyses(self)

    @cached_property
    def by_name(self) -> Mapping[str, Operator]:
        return {operator.name: operator for operator in self.operators}

    @cached_property
    def declared(self) -> Mapping[str, int]:
        """The index of each operator in declaration order."""
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

    def input_types(self, operator: Operator) -> tuple[TupleType, ...]:
        """The types of an operator's inputs, as its code sees them."""
        return operator.own_types or tuple(map(self.type_of, operator.inputs))

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        return tuple(o for o in self.operators if isinstance(o, Source))

    @cached_property
    def loops(self) -> tuple[Feedback, ...]:
        return tuple(o for o in self.operators if isinstance(o, Feedback))

    @cached_property
    def entries(self) -> tuple[Operator, ...]:
        """The operators where tuples enter the graph; tuples that are fed back come before new ones."""
        return (*self.loops, *self.sources)

    @cached_property
    def sinks(self) -> tuple[Sink, ...]:
        return tuple(o for o in self.operators if isinstance(o, Sink))

    @cached_property
    def stateful(self) -> tuple[Operator, ...]:
        return tuple(o for o in self.operators if o.key is not None)

    @cached_property
    def reach(self) -> Mapping[str, int]:
        """For each operator, itself and all operators downstream of it, as a bit set: bit i is operator i in
        declaration order. Ten thousand operators take a few megabytes, and a union or intersection microseconds."""
        found = {o.name: 1 << index for index, o in enumerate(self.operators)}
        for operator in reversed(self.operators):
            for stream in operator.inputs:
                found[stream.operator] |= found[operator.name]
        return found

    def bits(self, names: Iterable[str]) -> int:
        """A set of operators as a bit set, as in `reach`."""
        return sum(1 << self.declared[name] for name in set(names))

    @cached_property
    def depth_first_rank(self) -> Mapping[str, int]:
        """The order in which the reference first calls the operators for one source tuple."""
        rank: dict[str, int] = {}
        waiting: list[Operator] = list(reversed(self.entries))
        while waiting:
            operator = waiting.pop()
            if operator.name not in rank:
                rank[operator.name] = len(rank)
                ports = range(len(operator.outputs))
                after = [c for port in ports for c, _ in self.consumers[StreamRef(operator.name, port)]]
                waiting += reversed(after)
        return rank

"""Find where two answers diverge: the first operator whose output stream differs from the reference's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thalweg.endpoints.collect import Collect
from thalweg.engine.local.serial import LocalEngine
from thalweg.engine.storage.log import Epoch
from thalweg.errors import TupleError, Where
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Sink, StreamRef
from thalweg.ir.plan import Decision, Plan
from thalweg.runtime.columns import to_list
from thalweg.verify.compare import Row, same_bits
from thalweg.verify.reference import Answer, Reference


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first tuple of the first stream that differs. `None` means the end of the stream."""

    operator: str
    kind: str
    stream: str
    where: Where
    position: int
    attributes: tuple[str, ...]
    expected: Row | None
    found: Row | None
    failure: str | None = None  # the plan failed here, the reference did not

    def __str__(self) -> str:
        lines = [f"first differs after {self.operator} ({self.kind}, {self.where})"]
        if self.failure is not None:
            return "\n".join([*lines, f"  the plan fails there: {self.failure}"])
        what = "stream" if self.stream == self.operator else f"stream {self.stream}"
        lines.append(f"  tuple {self.position} of its {what}, counted from 0: {', '.join(self._which())}")
        lines += [f"  expected: {self._shown(self.expected)}", f"  found:    {self._shown(self.found)}"]
        return "\n".join(lines)

    def _which(self) -> list[str]:
        if self.expected is None or self.found is None:
            return ["one of the streams has ended"]
        pairs = zip(self.attributes, self.expected, self.found, strict=True)
        return [f"{name} differs" for name, a, b in pairs if not same_bits(a, b)]

    def _shown(self, row: Row | None) -> str:
        if row is None:
            return f"the end after {self.position} tuples"
        return ", ".join(f"{name}={value!r}" for name, value in zip(self.attributes, row, strict=True))

    def as_json(self) -> dict[str, Any]:
        return {
            "operator": self.operator,
            "kind": self.kind,
            "stream": self.stream,
            "where": str(self.where),
            "position": self.position,
            "expected": self._document(self.expected),
            "found": self._document(self.found),
            "failure": self.failure,
        }

    def _document(self, row: Row | None) -> dict[str, str] | None:
        """Values as Python writes them: JSON has no NaN."""
        return None if row is None else {n: repr(v) for n, v in zip(self.attributes, row, strict=True)}


def run_log(plan: Plan, log: Iterable[Epoch]) -> Answer:
    """The tuples that the local engine's sinks receive for a log."""
    engine = LocalEngine(plan)
    answer: Answer = {sink.name: [] for sink in plan.graph.sinks}
    for found in engine.run_log(log):
        for name, frame in found.items():
            if frame is not None:
                answer[name] += zip(*(to_list(column) for column in frame.columns.values()), strict=True)
    return answer


def tapped(graph: LogicalGraph) -> tuple[LogicalGraph, dict[str, StreamRef]]:
    """The graph with a sink on every stream, and the stream of each of these sinks. The sinks come last, so that the
    order of calls between the other operators does not change. Streams of marks have no sink: engines may send some
    marks twice."""
    taps = {f"tap {s}": s for s in graph.streams if s.port != graph.by_name[s.operator].mark_output}
    sinks = tuple(
        Sink(name=name, inputs=(stream,), where=graph.by_name[stream.operator].where, endpoint=Collect())
        for name, stream in taps.items()
    )
    return replace(graph, operators=(*graph.operators, *sinks)), taps


def first_divergence(plan: Plan, log: Sequence[Epoch]) -> Divergence | None:
    """Run plan and reference again with every stream recorded. None: with all streams recorded, they agree."""
    graph, taps = tapped(plan.graph)
    watched = replace(plan, graph=graph, decisions={**plan.decisions, **dict.fromkeys(taps, Decision())})
    expected = Reference(graph).run(log)
    try:
        found = run_log(watched, log)
    except TupleError as error:
        name = error.operator or ""
        operator = graph.by_name[name]
        text = f"{error.message}, at {error.found}"
        return Divergence(name, operator.kind, name, operator.where, 0, (), None, None, text)
    for name, stream in taps.items():  # in declaration order, which is topological
        differing = first_differing(expected[name], found[name])
        if differing is not None:
            index, wanted, got = differing
            operator = graph.by_name[stream.operator]
            names = graph.type_of(stream).names
            return Divergence(operator.name, operator.kind, str(stream), operator.where, index, names, wanted, got)
    return None


def first_differing(expected: Sequence[Row], found: Sequence[Row]) -> tuple[int, Row | None, Row | None] | None:
    """The index of the first tuple that differs, and the two tuples; None for a list that has ended."""
    for index in range(max(len(expected), len(found))):
        wanted = expected[index] if index < len(expected) else None
        got = found[index] if index < len(found) else None
        if wanted is None or got is None or not all(map(same_bits, wanted, got)):
            return index, wanted, got
    return None

"""One Python module per PE: readable source text, with the user's lines next to what was made of them."""

from __future__ import annotations

import hashlib
import keyword
import re
import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, count

from thalweg.analysis.liveness import live_attributes, live_fields
from thalweg.analysis.order import OrderLayout, order_layout
from thalweg.codegen.chain import ChainWriter, chain_inputs, find_chains
from thalweg.codegen.expressions import Writer
from thalweg.codegen.segments import Call, Step, bracketed_segments, brackets_of, plain_segments
from thalweg.ir.expr import Attr, Expr, Record, text
from thalweg.ir.layout import Wire, layout
from thalweg.ir.operators import (
    Aggregate,
    EventTime,
    Feedback,
    Filter,
    FlatMap,
    Join,
    Map,
    MapBatches,
    Operator,
    Pace,
    Process,
    Punctor,
    RandomSplit,
    Source,
    Split,
    StreamRef,
    Union,
)
from thalweg.ir.pe_id import PeId
from thalweg.ir.plan import Plan
from thalweg.runtime.program import Program

_IMPORTS = """\
import math

import numpy as np

from thalweg.ir.types import AttributeType
from thalweg.runtime import branches, chains, kernels as k
from thalweg.runtime import cpython_operations as by_value
"""


def compile_plan(plan: Plan, cuts: Collection[str] = ()) -> tuple[tuple[Program, ...], ...]:
    """The programs of a plan, by stage and PE, for one start. `cuts`: operators with which a new segment begins."""
    order, live = order_layout(plan.graph), live_attributes(plan.graph)
    facts = _Facts(plan, order, live, uuid.uuid4().hex, frozenset(cuts))
    return tuple(
        tuple(_compile(facts, PeId(s, p), pe.operators) for p, pe in enumerate(stage.pes))
        for s, stage in enumerate(layout(plan).stages)
    )


@dataclass(frozen=True)
class _Facts:
    plan: Plan
    order: OrderLayout
    live: Mapping[StreamRef, tuple[str, ...]]
    start: str
    cuts: frozenset[str]

    @cached_property
    def _wires(self) -> Mapping[str, list[Wire]]:
        found: dict[str, list[Wire]] = {}
        for wire in layout(self.plan).wires:
            found.setdefault(wire.stream.operator, []).append(wire)
        return found

    def wires_from(self, operator: str) -> list[Wire]:
        return self._wires.get(operator, [])


def _compile(facts: _Facts, pe: PeId, names: tuple[str, ...]) -> Program:
    plan, graph = facts.plan, facts.plan.graph
    operators = {name: graph.by_name[name] for name in names}
    module = _Module(facts)
    calls = module.calls(list(operators.values()))
    header = f"# pe {pe} of {graph.name}: {' '.join(names)} (generated)\n\n{_IMPORTS}"
    source = _joined([header, *module.functions, *plain_segments(calls)])
    joins = [o for o in operators.values() if isinstance(o, Join)]
    sent = [wire for name in names for wire in facts.wires_from(name)]
    return Program(
        id=pe,
        source=source,
        bracketed_source=_joined(bracketed_segments(calls)),
        brackets=brackets_of(calls),
        operators=operators,
        input_types={n: tuple(map(graph.type_of, o.inputs)) for n, o in operators.items()},
        ranks={name: graph.depth_first_rank[name] for name in names},
        ends={name: graph.declared[name] for name in names},
        widths={
            n: max((facts.order.port_width(o, port) for port in range(len(o.inputs))), default=0)
            for n, o in operators.items()
        },
        tables={
            j.name: tuple((n, t) for n, t in graph.type_of(j.inputs[1]).attributes if n in _kept(facts, j))
            for j in joins
        },
        consumes=layout(plan).wires_into(pe),
        forwards=layout(plan).wires_beyond(pe),
        routes={w.index: w.route for w in sent},
        wire_columns={w.index: facts.live[w.stream] for w in sent},
        buckets=plan.buckets,
        frame_rows=plan.frame_rows,
        fingerprint=hashlib.sha256(source.encode()).hexdigest()[:16],
        start=facts.start,
    )


def _kept(facts: _Facts, operator: Join) -> set[str]:
    """What a join stores of a right tuple: its live attributes beyond the key."""
    return set(facts.live[operator.inputs[1]]) - set(operator.on)


def _joined(parts: Iterable[str]) -> str:
    return "\n\n\n".join(parts) + "\n"


class _Module:
    """Writes the functions of the kernels, and the calls that run operator after operator."""

    def __init__(self, facts: _Facts) -> None:
        self.facts = facts
        self.functions: list[str] = []
        self.names: dict[str, str] = {}  # the variable of each operator
        self.taken = {"pe", "turn", "stack", "k", "np", "math", "branches", "by_value", "chains", "AttributeType"}

    def calls(self, operators: list[Operator]) -> list[Call]:
        for operator in operators:
            self._identify(operator)
        begins = [operator.name in self.facts.cuts for operator in operators[1:]]
        segment = dict(zip((o.name for o in operators), accumulate(begins, initial=0), strict=True))
        sent = {wire.stream for operator in operators for wire in self.facts.wires_from(operator.name)}
        found = find_chains(operators, lambda stream: self.facts.plan.graph.consumers[stream], sent, segment)
        chains = {chain[-1].name: chain for chain in found}
        inside = {operator.name for chain in found for operator in chain[:-1]}
        return [
            Call(
                segment[operator.name],
                self._reads(chains.get(operator.name, [operator])[0]),
                self.names[operator.name],
                (self._step(operator, chains.get(operator.name)), *self._emits(operator)),
            )
            for operator in operators
            if operator.name not in inside
        ]

    def _reads(self, operator: Operator) -> frozenset[str]:
        """The variables of the streams that an operator reads; the others come into the PE by wires."""
        wires = layout(self.facts.plan).wire_of
        streams = (s for port, s in enumerate(operator.inputs) if (operator.name, port) not in wires)
        return frozenset(self.names[stream.operator] for stream in streams)

    def _step(self, operator: Operator, chain: list[Operator] | None) -> Step:
        return self._one(operator) if chain is None else self._chain(chain)

    def _identify(self, operator: Operator) -> None:
        base = re.sub(r"\W", "_", operator.name, flags=re.ASCII)
        base = f"_{base}" if base[0].isdigit() or keyword.iskeyword(base) else base
        self.names[operator.name] = self._free(base)

    def _free(self, base: str) -> str:
        """A name that nothing in the module has: variables of a segment would hide functions of that name."""
        name = base if base not in self.taken else next(n for i in count(2) if (n := f"{base}_{i}") not in self.taken)
        self.taken.add(name)
        return name

    def _stream(self, stream: StreamRef) -> str:
        ports = len(self.facts.plan.graph.by_name[stream.operator].outputs)
        return self.names[stream.operator] + (f"[{stream.port}]" if ports > 1 else "")

    def _input(self, operator: Operator, port: int) -> str:
        wire = layout(self.facts.plan).wire_of.get((operator.name, port))
        frame = self._stream(operator.inputs[port]) if wire is None else f"turn.inputs.get({wire.index})"
        branch = self.facts.order.branch.get((operator.name, port))
        return frame if branch is None else f"pe.branch({frame}, {branch})"

    def _emits(self, operator: Operator) -> list[Step]:
        wires = self.facts.wires_from(operator.name)
        return [Step(w.index, (f"pe.emit(turn, {w.index}, {self._stream(w.stream)})",)) for w in wires]

    def _one(self, operator: Operator) -> Step:
        counted = f"pe.count(turn, {operator.name!r}, {self.names[operator.name]})"
        comment = f"# {operator.name}: {operator.kind}, {operator.where}"
        return Step((operator.name,), (comment, *self._call(operator), counted))

    def _chain(self, chain: list[Operator]) -> Step:
        first, last = chain[0], chain[-1]
        live = self.facts.live
        body = ChainWriter(chain, live, chain_inputs(first, live)).finish(last)
        names = tuple(o.name for o in chain)
        kernel = self._function(f"{self.names[last.name]}_chain", body, " ".join(names), last, "f, n, seen")
        var = self.names[last.name]
        lines = (
            f"# {' '.join(names)}: in one kernel, or one by one where that falls back",
            f"{var} = pe.chain(turn, {names!r}, {self._input(first, 0)}, {kernel})",
            f"if {var} is pe.FELL_BACK:",
        )
        return Step(names, lines, tuple(self._one(operator) for operator in chain))

    def _call(self, operator: Operator) -> list[str]:
        """The call that runs an operator; its result is a frame, or a list with a frame per output port."""
        name, var = operator.name, self.names[operator.name]
        ports = len(operator.outputs)
        own = ports if operator.dead_port is None else ports - 1
        lives = tuple(self.facts.live[StreamRef(name, port)] for port in range(own))
        live = lives[0]
        inputs = ", ".join(self._input(operator, port) for port in range(len(operator.inputs)))
        several = isinstance(operator, Split | RandomSplit | EventTime | Punctor | Process)
        match operator:
            case Source() | Feedback():
                call = f"turn.inputs.get({name!r})"
            case Map(function=function):
                vector = None
                if isinstance(function.expr, Record):
                    vector = self._record(f"{var}_fields", function.expr, live, operator)
                call = f"pe.map(turn, {name!r}, {inputs}, {vector}, {live})"
            case Filter(function=function):
                vector = self._single(f"{var}_predicate", function.expr, operator)
                call = f"pe.filter(turn, {name!r}, {inputs}, {vector}, {live})"
            case FlatMap():
                call = f"pe.flat_map(turn, {name!r}, {inputs}, {live})"
            case Split(function=function):
                vector = self._ports(f"{var}_ports", function.expr, own, operator)
                call = f"pe.split(turn, {name!r}, {inputs}, {vector}, {lives})"
            case RandomSplit():
                call = f"pe.random_split(turn, {name!r}, {inputs}, {lives})"
            case Union():
                call = f"pe.union({live}, {self.facts.order.width[operator.output]}, {inputs})"
            case Aggregate():
                arguments = self._arguments(f"{var}_arguments", operator)
                fields = self._record(f"{var}_fields", operator.fields, live, operator)
                call = f"pe.aggregate(turn, {name!r}, {inputs}, {arguments}, {fields}, {live})"
            case Join():
                call = f"pe.join(turn, {name!r}, {inputs}, {live})"
            case MapBatches():
                call = f"pe.map_batches(turn, {name!r}, {inputs}, {live})"
            case Pace():
                call = f"pe.pace(turn, {name!r}, {inputs}, {live})"
            case EventTime():
                call = f"pe.event_time(turn, {name!r}, {inputs}, {lives})"
            case Punctor(function=function):
                vector = self._single(f"{var}_predicate", function.expr, operator)
                call = f"pe.punctor(turn, {name!r}, {inputs}, {vector}, {lives})"
            case Process():
                lives = tuple(self.facts.live[StreamRef(name, port)] for port in range(ports))
                call, own = f"pe.process(turn, {name!r}, {lives}, {inputs})", ports
            case _:
                raise AssertionError(operator)
        if own < ports:
            width = self.facts.order.width[operator.output]
            call = f"[{'*' if several else ''}{call}, pe.dead_letters(turn, {name!r}, {width})]"
        elif several and ports == 1:
            call = f"{call}[0]"
        return [f"{var} = {call}"]

    def _single(self, name: str, expr: Expr | Record | None, operator: Operator) -> str | None:
        if expr is None or isinstance(expr, Record):
            return None
        writer = Writer()
        result = writer.value(expr)
        return self._function(name, [*writer.lines, f"return {result}"], text(expr), operator)

    def _ports(self, name: str, expr: Expr | Record | None, count: int, operator: Operator) -> str | None:
        if expr is None or isinstance(expr, Record):
            return None
        writer = Writer()
        ports = f"return k.ports({writer.value(expr)}, n, {count}, AttributeType.INT)"
        return self._function(name, [*writer.lines, ports], text(expr), operator)

    def _record(self, name: str, record: Record, live: tuple[str, ...], operator: Operator) -> str:
        fields = live_fields(record, frozenset(live))
        writer = Writer()
        sources = writer.values(expr for _, expr in fields)
        lines = [f"    {field!r}: {_column(expr, s)}," for (field, expr), s in zip(fields, sources, strict=True)]
        return self._function(name, [*writer.lines, "return {", *lines, "}"], text(record), operator)

    def _arguments(self, name: str, operator: Aggregate) -> str:
        exprs = [fold.argument.expr if fold.argument else None for fold in operator.folds]
        writer = Writer()
        sources = iter(writer.values(expr for expr in exprs if expr is not None and not isinstance(expr, Record)))
        lines = []
        for fold, expr in zip(operator.folds, exprs, strict=True):
            assert not isinstance(expr, Record)
            lines.append(f"    {'None' if expr is None else _column(expr, next(sources))},  # {fold.kind}")
        return self._function(name, [*writer.lines, "return [", *lines, "]"], str(operator.window), operator)

    def _function(self, name: str, body: list[str], meaning: str, operator: Operator, parameters: str = "f, n") -> str:
        name = self._free(name)
        lines = "\n".join(f"    {line}" for line in (f"# {operator.where}: {meaning}", *body))
        self.functions.append(f"def {name}({parameters}):\n{lines}")
        return name


def _column(expr: Expr, source: str) -> str:
    if isinstance(expr, Attr):
        return source
    return f"k.column({source}, n, AttributeType.{expr.type.name})"

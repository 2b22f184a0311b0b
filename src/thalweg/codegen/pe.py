"""One Python module per PE: readable source text, with the user's lines beside what was made of them."""

from __future__ import annotations

import hashlib
import keyword
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from thalweg.analysis.liveness import live_attributes, live_fields
from thalweg.analysis.order import OrderLayout, order_layout
from thalweg.codegen.chain import ChainWriter, chain_inputs, find_chains
from thalweg.codegen.expressions import Writer
from thalweg.ir.expr import Attr, Expr, Record, text
from thalweg.ir.layout import layout
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
from thalweg.ir.plan import Plan
from thalweg.runtime.program import Program

_IMPORTS = """\
import math

import numpy as np

from thalweg.ir.types import AttributeType
from thalweg.runtime import branches, chains, kernels as k
from thalweg.runtime import cpython_operations as by_value
"""


def compile_plan(plan: Plan) -> tuple[tuple[Program, ...], ...]:
    """The programs of a plan, by stage and PE, for one start."""
    facts = _Facts(plan, order_layout(plan.graph), live_attributes(plan.graph), uuid.uuid4().hex)
    return tuple(
        tuple(_compile(facts, (s, p), pe.operators) for p, pe in enumerate(stage.pes))
        for s, stage in enumerate(layout(plan).stages)
    )


@dataclass(frozen=True)
class _Facts:
    plan: Plan
    layout: OrderLayout
    live: Mapping[StreamRef, tuple[str, ...]]
    start: str


def _compile(facts: _Facts, place: tuple[int, int], names: tuple[str, ...]) -> Program:
    plan, graph = facts.plan, facts.plan.graph
    operators = {name: graph.by_name[name] for name in names}
    title = f"pe {place[0]}.{place[1]}"
    source = _Module(facts, place).source(title, list(operators.values()))
    joins = [o for o in operators.values() if isinstance(o, Join)]
    return Program(
        name=title,
        source=source,
        operators=operators,
        input_types={n: tuple(map(graph.type_of, o.inputs)) for n, o in operators.items()},
        ranks={name: graph.depth_first_rank[name] for name in names},
        ends={name: graph.declared[name] for name in names},
        widths={
            n: max((facts.layout.port_width(o, port) for port in range(len(o.inputs))), default=0)
            for n, o in operators.items()
        },
        tables={
            j.name: tuple((n, t) for n, t in graph.type_of(j.inputs[1]).attributes if n in _kept(facts, j))
            for j in joins
        },
        consumes=layout(plan).wires_into(place),
        forwards=layout(plan).wires_beyond(place),
        routes={w.index: w.route for w in layout(plan).wires},
        wire_columns={w.index: facts.live[w.stream] for w in layout(plan).wires},
        buckets=plan.buckets,
        frame_rows=plan.frame_rows,
        fingerprint=hashlib.sha256(source.encode()).hexdigest()[:16],
        start=facts.start,
    )


def _kept(facts: _Facts, operator: Join) -> set[str]:
    """What a join stores of a right tuple: its live attributes beyond the key."""
    return set(facts.live[operator.inputs[1]]) - set(operator.on)


class _Module:
    """Writes the functions of the kernels, then `run`, which calls operator after operator."""

    def __init__(self, facts: _Facts, place: tuple[int, int]) -> None:
        self.facts, self.place = facts, place
        self.functions: list[str] = []
        self.function_names = ["run", "k", "np", "math", "branches", "by_value", "chains", "AttributeType"]
        self.body: list[str] = []
        self.names: dict[str, str] = {}

    def source(self, title: str, operators: list[Operator]) -> str:
        for operator in operators:
            self._identify(operator)
        sent = {wire.stream for wire in layout(self.facts.plan).wires}
        found = find_chains(operators, lambda stream: self.facts.plan.graph.consumers[stream], sent)
        chains = {chain[-1].name: chain for chain in found}
        inside = {operator.name for chain in found for operator in chain[:-1]}
        for operator in operators:
            if operator.name in inside:
                continue
            lines = self._chain(chains[operator.name]) if operator.name in chains else self._one(operator)
            self.body += [f"    {line}" for line in (*lines, *self._emits(operator))]
        header = f"# {title} of {self.facts.plan.graph.name}: {' '.join(o.name for o in operators)} (generated)"
        run = "\n".join(["def run(pe, inputs):", *self.body])
        return "\n\n\n".join([f"{header}\n\n{_IMPORTS}", *self.functions, run]) + "\n"

    def _identify(self, operator: Operator) -> None:
        base = re.sub(r"\W", "_", operator.name, flags=re.ASCII)
        base = f"_{base}" if base[0].isdigit() or keyword.iskeyword(base) or base in ("pe", "inputs") else base
        self.names[operator.name] = self._free(base, set(self.names.values()))

    def _free(self, base: str, taken: set[str]) -> str:
        return next(n for n in (base, *(f"{base}_{i}" for i in range(2, len(taken) + 3))) if n not in taken)

    def _stream(self, stream: StreamRef) -> str:
        ports = len(self.facts.plan.graph.by_name[stream.operator].outputs)
        return self.names[stream.operator] + (f"[{stream.port}]" if ports > 1 else "")

    def _input(self, operator: Operator, port: int) -> str:
        wire = layout(self.facts.plan).wire_of.get((operator.name, port))
        frame = self._stream(operator.inputs[port]) if wire is None else f"inputs.get({wire.index})"
        branch = self.facts.layout.branch.get((operator.name, port))
        return frame if branch is None else f"pe.branch({frame}, {branch})"

    def _emits(self, operator: Operator) -> list[str]:
        streams = [StreamRef(operator.name, port) for port in range(len(operator.outputs))]
        return [
            f"pe.emit({w.index}, {self._stream(w.stream)})"
            for w in layout(self.facts.plan).wires
            if w.stream in streams
        ]

    def _one(self, operator: Operator) -> list[str]:
        counted = f"pe.count({operator.name!r}, {self.names[operator.name]})"
        return [f"# {operator.name}: {operator.kind}, {operator.where}", *self._call(operator), counted]

    def _chain(self, chain: list[Operator]) -> list[str]:
        first, last = chain[0], chain[-1]
        live = self.facts.live
        body = ChainWriter(chain, live, chain_inputs(first, live)).finish(last)
        names = tuple(o.name for o in chain)
        kernel = self._function(f"{self.names[last.name]}_chain", body, " ".join(names), last, "f, n, seen")
        one_by_one = [line for operator in chain for line in self._one(operator)]
        var = self.names[last.name]
        return [
            f"# {' '.join(names)}: in one kernel, or one by one where that falls back",
            f"{var} = pe.chain({names!r}, {self._input(first, 0)}, {kernel})",
            f"if {var} is pe.FELL_BACK:",
            *(f"    {line}" for line in one_by_one),
        ]

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
                call = f"inputs.get({name!r})"
            case Map(function=function):
                vector = None
                if isinstance(function.expr, Record):
                    vector = self._record(f"{var}_fields", function.expr, live, operator)
                call = f"pe.map({name!r}, {inputs}, {vector}, {live})"
            case Filter(function=function):
                vector = self._single(f"{var}_predicate", function.expr, operator)
                call = f"pe.filter({name!r}, {inputs}, {vector}, {live})"
            case FlatMap():
                call = f"pe.flat_map({name!r}, {inputs}, {live})"
            case Split(function=function):
                vector = self._ports(f"{var}_ports", function.expr, own, operator)
                call = f"pe.split({name!r}, {inputs}, {vector}, {lives})"
            case RandomSplit():
                call = f"pe.random_split({name!r}, {inputs}, {lives})"
            case Union():
                call = f"pe.union({live}, {self.facts.layout.width[operator.output]}, {inputs})"
            case Aggregate():
                arguments = self._arguments(f"{var}_arguments", operator)
                fields = self._record(f"{var}_fields", operator.fields, live, operator)
                call = f"pe.aggregate({name!r}, {inputs}, {arguments}, {fields}, {live})"
            case Join():
                call = f"pe.join({name!r}, {inputs}, {live})"
            case MapBatches():
                call = f"pe.map_batches({name!r}, {inputs}, {live})"
            case Pace():
                call = f"pe.pace({name!r}, {inputs}, {live})"
            case EventTime():
                call = f"pe.event_time({name!r}, {inputs}, {lives})"
            case Punctor(function=function):
                vector = self._single(f"{var}_predicate", function.expr, operator)
                call = f"pe.punctor({name!r}, {inputs}, {vector}, {lives})"
            case Process():
                lives = tuple(self.facts.live[StreamRef(name, port)] for port in range(ports))
                call, own = f"pe.process({name!r}, {lives}, {inputs})", ports
            case _:
                raise AssertionError(operator)
        if own < ports:
            width = self.facts.layout.width[operator.output]
            call = f"[{'*' if several else ''}{call}, pe.dead_letters({name!r}, {width})]"
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
        # An operator may be called like another one's function, and variables of `run` hide functions.
        name = self._free(name, {*self.names.values(), *self.function_names})
        self.function_names.append(name)
        lines = "\n".join(f"    {line}" for line in (f"# {operator.where}: {meaning}", *body))
        self.functions.append(f"def {name}({parameters}):\n{lines}")
        return name


def _column(expr: Expr, source: str) -> str:
    if isinstance(expr, Attr):
        return source
    return f"k.column({source}, n, AttributeType.{expr.type.name})"

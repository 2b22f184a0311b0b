"""One Python module per PE: readable source text, with the user's lines beside what was made of them."""

from __future__ import annotations

import hashlib
import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass

from thalweg.analysis.liveness import live_attributes, live_fields
from thalweg.analysis.order import OrderLayout, order_layout
from thalweg.codegen.expressions import vector_source
from thalweg.ir.expr import Attr, Expr, Record, text
from thalweg.ir.operators import Aggregate, Filter, FlatMap, Join, Map, Operator, Source, Split, StreamRef, Union
from thalweg.ir.plan import PhysicalPlan
from thalweg.runtime.container import Program

_IMPORTS = (
    "import numpy as np\n\nfrom thalweg.ir.types import AttributeType\nfrom thalweg.runtime import kernels as k\n"
)


def compile_plan(plan: PhysicalPlan) -> tuple[tuple[Program, ...], ...]:
    """The programs of a plan, by stage and PE."""
    facts = _Facts(plan, order_layout(plan.graph), live_attributes(plan.graph))
    return tuple(
        tuple(_compile(facts, (s, p), pe.operators) for p, pe in enumerate(stage.pes))
        for s, stage in enumerate(plan.stages)
    )


@dataclass(frozen=True)
class _Facts:
    plan: PhysicalPlan
    layout: OrderLayout
    live: Mapping[StreamRef, tuple[str, ...]]


def _compile(facts: _Facts, place: tuple[int, int], names: tuple[str, ...]) -> Program:
    plan, graph = facts.plan, facts.plan.graph
    operators = {name: graph.by_name[name] for name in names}
    title = f"pe {place[0]}.{place[1]}"
    source = _Module(facts, place).source(title, list(operators.values()))
    joins = [o for o in operators.values() if isinstance(o, Join)]
    digest = hashlib.sha256(source.encode())
    for operator in operators.values():
        digest.update(repr(operator).encode() if isinstance(operator, Source) else _code(operator).encode())
    return Program(
        name=title,
        source=source,
        operators=operators,
        input_types={n: graph.type_of(o.inputs[0]) for n, o in operators.items() if o.inputs},
        ranks={name: graph.depth_first_rank[name] for name in names},
        tables={
            j.name: tuple((n, t) for n, t in graph.type_of(j.inputs[1]).attributes if n in _kept(facts, j))
            for j in joins
        },
        consumes=plan.wires_into(place),
        forwards=plan.wires_beyond(place),
        routes={w.index: w.route for w in plan.wires},
        wire_columns={w.index: facts.live[w.stream] for w in plan.wires},
        buckets=plan.buckets,
        frame_rows=plan.frame_rows,
        fingerprint=digest.hexdigest()[:16],
    )


def _kept(facts: _Facts, operator: Join) -> set[str]:
    """What a join stores of a right tuple: its live attributes beyond the key."""
    return set(facts.live[operator.inputs[1]]) - set(operator.on)


def _code(operator: Operator) -> str:
    function = getattr(operator, "function", None)
    folds = operator.folds if isinstance(operator, Aggregate) else ()
    return " ".join([repr(operator.key), *(f.fingerprint() for f in folds), function.fingerprint() if function else ""])


class _Module:
    """Writes the functions of the kernels, then `run`, which calls operator after operator."""

    def __init__(self, facts: _Facts, place: tuple[int, int]) -> None:
        self.facts, self.place = facts, place
        self.functions: list[str] = []
        self.function_names = ["run", "k", "np", "AttributeType"]
        self.body: list[str] = []
        self.names: dict[str, str] = {}

    def source(self, title: str, operators: list[Operator]) -> str:
        for operator in operators:
            self._identify(operator)
        for operator in operators:
            self.body.append(f"    # {operator.name}: {operator.kind}, {operator.where}")
            self.body += [f"    {line}" for line in self._call(operator)]
            self.body += [f"    {line}" for line in self._emits(operator)]
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
        wire = self.facts.plan.wire_of.get((operator.name, port))
        frame = self._stream(operator.inputs[port]) if wire is None else f"inputs.get({wire.index})"
        branch = self.facts.layout.branch.get((operator.name, port))
        return frame if branch is None else f"pe.branch({frame}, {branch})"

    def _emits(self, operator: Operator) -> list[str]:
        streams = [StreamRef(operator.name, port) for port in range(len(operator.outputs))]
        return [f"pe.emit({w.index}, {self._stream(w.stream)})" for w in self.facts.plan.wires if w.stream in streams]

    def _call(self, operator: Operator) -> list[str]:
        name, var = operator.name, self.names[operator.name]
        live = self.facts.live[operator.output]
        match operator:
            case Source():
                return [f"{var} = inputs.get({name!r})"]
            case Map(function=function):
                vector = None
                if isinstance(function.expr, Record):
                    vector = self._record(f"{var}_fields", function.expr, live, operator)
                return [f"{var} = pe.map({name!r}, {self._input(operator, 0)}, {vector}, {live})"]
            case Filter(function=function):
                vector = self._single(f"{var}_predicate", function.expr, operator)
                return [f"{var} = pe.filter({name!r}, {self._input(operator, 0)}, {vector}, {live})"]
            case FlatMap():
                return [f"{var} = pe.flat_map({name!r}, {self._input(operator, 0)}, {live})"]
            case Split(function=function, outputs=outputs):
                lives = tuple(self.facts.live[StreamRef(name, port)] for port in range(len(outputs)))
                vector = self._ports(f"{var}_ports", function.expr, len(outputs), operator)
                call = f"pe.split({name!r}, {self._input(operator, 0)}, {vector}, {lives})"
                return [f"{var} = {call}" + ("[0]" if len(outputs) == 1 else "")]
            case Union():
                inputs = ", ".join(self._input(operator, port) for port in range(len(operator.inputs)))
                return [f"{var} = pe.union({live}, {self.facts.layout.width[operator.output]}, {inputs})"]
            case Aggregate():
                arguments = self._arguments(f"{var}_arguments", operator)
                fields = self._record(f"{var}_fields", operator.fields, live, operator)
                return [f"{var} = pe.aggregate({name!r}, {self._input(operator, 0)}, {arguments}, {fields}, {live})"]
            case Join():
                return [f"{var} = pe.join({name!r}, {self._input(operator, 0)}, {self._input(operator, 1)}, {live})"]
        raise AssertionError(operator)

    def _single(self, name: str, expr: Expr | Record | None, operator: Operator) -> str | None:
        if expr is None or isinstance(expr, Record):
            return None
        return self._function(name, f"return {vector_source(expr)}", text(expr), operator)

    def _ports(self, name: str, expr: Expr | Record | None, count: int, operator: Operator) -> str | None:
        if expr is None or isinstance(expr, Record):
            return None
        ports = f"return k.ports({vector_source(expr)}, n, {count}, AttributeType.INT)"
        return self._function(name, ports, text(expr), operator)

    def _record(self, name: str, record: Record, live: tuple[str, ...], operator: Operator) -> str:
        fields = live_fields(record, frozenset(live))
        lines = [f"        {field!r}: {_column(expr)}," for field, expr in fields]
        return self._function(name, "\n".join(["return {", *lines, "    }"]), text(record), operator)

    def _arguments(self, name: str, operator: Aggregate) -> str:
        lines = []
        for fold in operator.folds:
            expr = fold.argument.expr if fold.argument else None
            assert not isinstance(expr, Record)
            lines.append(f"        {'None' if expr is None else _column(expr)},  # {fold.kind}")
        return self._function(name, "\n".join(["return [", *lines, "    ]"]), str(operator.window), operator)

    def _function(self, name: str, body: str, meaning: str, operator: Operator) -> str:
        # An operator may be called like another one's function, and variables of `run` hide functions.
        name = self._free(name, {*self.names.values(), *self.function_names})
        self.function_names.append(name)
        self.functions.append(f"def {name}(f, n):\n    # {operator.where}: {meaning}\n    {body}")
        return name


def _column(expr: Expr) -> str:
    if isinstance(expr, Attr):
        return vector_source(expr)
    return f"k.column({vector_source(expr)}, n, AttributeType.{expr.type.name})"

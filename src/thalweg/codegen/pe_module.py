"""One Python module per PE: readable source text, with the user's lines next to the code generated for them."""

from __future__ import annotations

import hashlib
import keyword
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from thalweg.analysis.derive_facts import facts_of
from thalweg.analysis.liveness import live_attributes
from thalweg.analysis.order_keys import OrderLayout, order_layout
from thalweg.codegen.chain import ChainWriter, chain_inputs, find_chains
from thalweg.codegen.function_kernels import Functions
from thalweg.codegen.operator_calls import CallSite, call_of
from thalweg.codegen.segments import BracketStep, CallCode, bracketed_segments, brackets_of, plain_segments
from thalweg.ir.definitions import helper_variables
from thalweg.ir.facts import NOT_STATELESS
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.layout import Wire, layout
from thalweg.ir.operators import Join, Operator, StreamRef
from thalweg.ir.pe_id import PeId
from thalweg.ir.plan import Plan
from thalweg.runtime.helper_modules import HelperVariables
from thalweg.runtime.pe_program import Program

_IMPORTS = """\
import math

import numpy as np

from thalweg.ir.types import AttributeType
from thalweg.runtime import branches, chains, kernels as k
from thalweg.runtime import cpython_operations as by_value
"""


def compile_plan(plan: Plan) -> tuple[tuple[Program, ...], ...]:
    """The programs of a plan, by stage and PE, for one start. An operator with a threaded port begins a new segment."""
    order, live = order_layout(plan.graph), live_attributes(plan.graph)
    facts = _Facts(plan, order, live, uuid.uuid4().hex)
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
    source = _joined([header, *module.functions.texts, *plain_segments(calls)])
    joins = [o for o in operators.values() if isinstance(o, Join)]
    sent = [wire for name in names for wire in facts.wires_from(name)]
    return Program(
        id=pe,
        source=source,
        bracketed_source=_joined(bracketed_segments(calls)),
        brackets=brackets_of(calls),
        operators=operators,
        input_types={n: graph.input_types(o) for n, o in operators.items()},
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
        helpers={n: _helpers(graph, o) for n, o in operators.items()},
        buckets=plan.buckets,
        frame_rows=plan.frame_rows,
        fingerprint=hashlib.sha256(source.encode()).hexdigest()[:16],
        start=facts.start,
    )


def _kept(facts: _Facts, operator: Join) -> set[str]:
    """The attributes of a right tuple that a join stores: the live ones that are not in the key."""
    return set(facts.live[operator.inputs[1]]) - set(operator.on)


def _helpers(graph: LogicalGraph, operator: Operator) -> HelperVariables:
    """The variables of helper modules that it reads. Code that may change some, such as a cache, is not checked."""
    facts = facts_of(graph)[operator.name]
    return {} if facts.declared or facts.has(*NOT_STATELESS) else helper_variables(operator)


def _joined(parts: Iterable[str]) -> str:
    return "\n\n\n".join(parts) + "\n"


class _Module:
    """Writes the calls that run operator after operator, and the functions that they need."""

    def __init__(self, facts: _Facts) -> None:
        self.facts = facts
        self.functions = Functions()
        self.names: dict[str, str] = {}  # the variable of each operator

    def calls(self, operators: list[Operator]) -> list[CallCode]:
        for operator in operators:
            self._identify(operator)
        begins = [bool(self.facts.plan.decisions[operator.name].ports) for operator in operators[1:]]
        segment = dict(zip((o.name for o in operators), accumulate(begins, initial=0), strict=True))
        sent = {wire.stream for operator in operators for wire in self.facts.wires_from(operator.name)}
        found = find_chains(operators, lambda stream: self.facts.plan.graph.consumers[stream], sent, segment)
        chains = {chain[-1].name: chain for chain in found}
        inside = {operator.name for chain in found for operator in chain[:-1]}
        return [
            CallCode(
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

    def _step(self, operator: Operator, chain: list[Operator] | None) -> BracketStep:
        return self._one(operator) if chain is None else self._chain(chain)

    def _identify(self, operator: Operator) -> None:
        base = re.sub(r"\W", "_", operator.name, flags=re.ASCII)
        base = f"_{base}" if base[0].isdigit() or keyword.iskeyword(base) else base
        self.names[operator.name] = self.functions.free_name(base)

    def _stream(self, stream: StreamRef) -> str:
        ports = len(self.facts.plan.graph.by_name[stream.operator].outputs)
        return self.names[stream.operator] + (f"[{stream.port}]" if ports > 1 else "")

    def _input(self, operator: Operator, port: int) -> str:
        wire = layout(self.facts.plan).wire_of.get((operator.name, port))
        frame = self._stream(operator.inputs[port]) if wire is None else f"turn.inputs.get({wire.index})"
        branch = self.facts.order.branch.get((operator.name, port))
        return frame if branch is None else f"pe.branch({frame}, {branch})"

    def _emits(self, operator: Operator) -> list[BracketStep]:
        wires = self.facts.wires_from(operator.name)
        return [BracketStep(w.index, (f"pe.emit(turn, {w.index}, {self._stream(w.stream)})",)) for w in wires]

    def _one(self, operator: Operator) -> BracketStep:
        counted = f"pe.count(turn, {operator.name!r}, {self.names[operator.name]})"
        comment = f"# {operator.name}: {operator.kind}, {operator.where}"
        return BracketStep((operator.name,), (comment, self._call(operator), counted))

    def _chain(self, chain: list[Operator]) -> BracketStep:
        first, last = chain[0], chain[-1]
        live = self.facts.live
        body = ChainWriter(chain, live, chain_inputs(first, live)).finish(last)
        names = tuple(o.name for o in chain)
        kernel = self.functions.add(f"{self.names[last.name]}_chain", body, " ".join(names), last, "f, n, seen")
        var = self.names[last.name]
        lines = (
            f"# {' '.join(names)}: in one kernel, or one by one where that falls back",
            f"{var} = pe.chain(turn, {names!r}, {self._input(first, 0)}, {kernel})",
            f"if {var} is pe.FELL_BACK:",
        )
        return BracketStep(names, lines, tuple(self._one(operator) for operator in chain))

    def _call(self, operator: Operator) -> str:
        results = len(operator.outputs) - (operator.dead_port is not None)
        site = CallSite(
            name=operator.name,
            var=self.names[operator.name],
            inputs=", ".join(self._input(operator, port) for port in range(len(operator.inputs))),
            lives=tuple(self.facts.live[StreamRef(operator.name, port)] for port in range(len(operator.outputs))),
            results=results,
            width=self.facts.order.width[operator.output],
        )
        return f"{site.var} = {call_of(operator, site, self.functions)}"

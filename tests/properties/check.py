"""Runs of a case by the reference and by the local engine, and their comparison."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from tests.properties.strategies import Case
from thalweg.analysis.order_needs import ordered_sinks
from thalweg.engine.core import pe_pool
from thalweg.engine.core.report_builder import carries_marks
from thalweg.engine.core.stage_programs import Parcel
from thalweg.engine.inputs.feedback import fed_back, until_nothing_is_fed
from thalweg.engine.local.serial import LocalEngine
from thalweg.engine.storage.log import Epoch
from thalweg.errors import TupleError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Source
from thalweg.ir.plan import Plan
from thalweg.ir.text import print_plan
from thalweg.runtime.brackets import Stack, Timer
from thalweg.runtime.columns import to_list
from thalweg.runtime.frame import Frame, decode, encode
from thalweg.runtime.pe import PE
from thalweg.runtime.pe_counts import Counts
from thalweg.runtime.pe_program import Output
from thalweg.runtime.turn import Turn
from thalweg.verify.compare import first_difference, in_any_order
from thalweg.verify.reference import Reference

Answer = dict[str, list[tuple[Any, ...]]]


@dataclass
class Outcome:
    """What the sinks hold and, if a tuple failed, the error: output then ends with the last whole epoch."""

    answer: Answer
    error: TupleError | None = None
    counts: Counts = field(default_factory=Counts)  # of whole epochs


@dataclass
class Prepared:
    """A case with its files on disk."""

    case: Case
    graph: LogicalGraph
    epochs: list[Epoch]
    plan: Plan
    folder: Path = field(repr=False)

    @cached_property
    def plan_with_ports(self) -> Plan:
        return self.case.with_ports(self.plan)

    def run(self, epochs: list[Epoch] | None = None) -> Outcome:
        """The outcome of the local engine, in the form of the code and of the frames that the case chooses."""
        choice = self.case.choice
        with with_brackets() if choice.bracketed else nullcontext():
            return run_local(self.plan_with_ports, epochs or self.epochs, through_bytes=choice.through_bytes)

    def describe(self) -> str:
        log = "\n".join(epoch.as_json() for epoch in self.epochs)
        return f"{self.case!r}\n\n{print_plan(self.plan)}\nlog:\n{log}"


@contextmanager
def prepared(case: Case) -> Iterator[Prepared]:
    with tempfile.TemporaryDirectory(prefix="thalweg-case-") as name:
        folder = Path(name)
        case.write(folder)
        graph = case.app(folder).graph()
        plan = case.plan(graph)
        # Hints are a part of the program: an attribute that one of them names is shown with a tuple that fails.
        hinted = replace(graph, hints=plan.graph.hints)
        yield Prepared(case, hinted, case.epochs(graph, folder), plan, folder)


def run_reference(graph: LogicalGraph, epochs: list[Epoch]) -> Outcome:
    reference = Reference(graph)
    try:
        reference.run(epochs)
    except TupleError as error:
        return Outcome(reference.answer, error, reference.counts)
    return Outcome(reference.answer, None, reference.counts)


class BytesEngine(LocalEngine):
    """The local engine with every frame sent through its encoded form at every exchange."""

    def _source_stage(self, *arguments: Any) -> list[Parcel]:
        return [_sent(p) for p in super()._source_stage(*arguments)]

    def _stage(self, *arguments: Any) -> list[Parcel]:
        return [_sent(p) for p in super()._stage(*arguments)]


def _sent(parcel: Parcel) -> Parcel:
    return Parcel(parcel.channel, parcel.wire, decode(encode(parcel.frame)))


class BracketedPE(PE):
    """Runs the form of the code with brackets, under a timer."""

    def run(self, turn: Turn, stack: Stack | None = None) -> Output:
        return super().run(turn, stack or Timer(len(self.program.brackets)))


@contextmanager
def with_brackets() -> Iterator[None]:
    """PEs that this process creates run with brackets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pe_pool, "PE", BracketedPE)
        yield


def run_local(plan: Plan, epochs: list[Epoch], *, through_bytes: bool = False) -> Outcome:
    return run_engine((BytesEngine if through_bytes else LocalEngine)(plan), epochs)


def run_engine(engine: LocalEngine, epochs: list[Epoch]) -> Outcome:
    plan = engine.plan
    answer: Answer = {sink.name: [] for sink in plan.graph.sinks}
    fed: dict[str, Frame] = {}
    counts = Counts()
    for epoch in until_nothing_is_fed(epochs, lambda: bool(fed)):
        before = {place: dict(buckets) for place, buckets in engine.state.items()}
        try:
            sent = engine.run_epoch(epoch, fed)
        except TupleError as error:
            assert engine.state == before, "a failed epoch changed the state"
            return Outcome(answer, error, counts)
        counts.add(engine.counts)
        fed = fed_back(plan.graph, sent)
        for name, frame in sent.items():
            if frame is not None:
                answer[name] += zip(*map(to_list, frame.columns.values()), strict=True)
    return Outcome(answer, None, counts)


def difference(expected: Outcome, found: Outcome, graph: LogicalGraph | None = None) -> str | None:
    """The first difference of two outcomes, in words. The order is free in sinks that the graph calls unordered, and in
    those that do not show it, such as `tw.none()`."""
    ordered = expected.answer.keys() if graph is None else ordered_sinks(graph) & _showing_order(graph)
    wanted = expected.error.as_json() if expected.error else None
    got = found.error.as_json() if found.error else None
    if wanted != got:
        return f"error: expected {wanted}, found {got}"
    for sink, rows in expected.answer.items():
        arranged = list if sink in ordered else in_any_order
        text = first_difference(arranged(rows), arranged(found.answer[sink]))
        if text is not None:
            return f"sink {sink}: {text}"
    return None


def _showing_order(graph: LogicalGraph) -> frozenset[str]:
    return frozenset(sink.name for sink in graph.sinks if sink.endpoint.shows_order)


def count_difference(graph: LogicalGraph, expected: Outcome, found: Outcome) -> str | None:
    """The first operator whose counts differ from the reference's, as text. Marks are not tuples; a source's output
    is counted by the log, because readers may skip tuples that no operator needs."""
    for operator in graph.operators:
        if isinstance(operator, Source):
            continue
        for port in range(len(operator.outputs)):
            wanted, got = (o.counts.sent.get((operator.name, port), 0) for o in (expected, found))
            if wanted != got and not carries_marks(operator, port):
                return f"{operator.name}, port {port}: expected {wanted} tuples, found {got}"
        wanted, got = (o.counts.skipped.get(operator.name, 0) for o in (expected, found))
        if wanted != got:
            return f"{operator.name}: expected {wanted} skipped tuples, found {got}"
    return None

"""PEs live as long as their worker serves them: frames and epochs pass through one object per program and channel."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any

import pytest

import thalweg as tw
from tests.properties.interleaved import Interleaved
from tests.properties.strategies import cut_all
from thalweg import agg, window
from thalweg.codegen.pe_module import compile_plan
from thalweg.engine.core.pe_pool import PEPool
from thalweg.engine.local.parallel import ParallelEngine
from thalweg.engine.local.serial import LocalEngine
from thalweg.engine.spark import worker_pes
from thalweg.ir.operators import Process
from thalweg.ir.pe_id import PeId
from thalweg.ir.plan import Plan
from thalweg.optimize.passes import make_plan
from thalweg.runtime import resources
from thalweg.runtime.pe import PE
from thalweg.runtime.pe_program import Program
from thalweg.runtime.resources import Resources
from thalweg.runtime.turn import Turn


class Number(tw.Tuple):
    k: int
    n: int


class Model(tw.Operator):
    def setup(self) -> int:
        return 2

    def process(self, t: Any, port: int) -> None:
        self.submit(Number(t.k, t.n * self.resource))


def planned(degree: int = 1) -> Plan:
    app = tw.App("living")
    numbers = app.source(tw.beacon(lambda i: {"k": i % 5, "n": i}, count=40), Number, name="numbers")
    doubled = numbers.custom(Model(), Number, by="k", name="model")
    sums = doubled.aggregate(window.running(by="k"), name="sums", k=agg.any("k"), n=agg.sum("n"))
    sums.sink(tw.collect(), name="out")
    return make_plan(app.graph(), degree=degree)


def program_of(plan: Plan) -> Program:
    return compile_plan(plan)[1][0]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What `setup` and `close` were called for. Written down here: an operator has copies of what it captures."""
    events: list[str] = []
    monkeypatch.setattr(Resources, "of", _told(Resources.of, events))
    monkeypatch.setattr(resources, "close", lambda *arguments: events.append("close"))
    return events


def _told(of: Any, events: list[str]) -> Any:
    def told(self: Resources, operator: Process) -> Any:
        if operator.name not in self.made:
            events.append("setup")
        return of(self, operator)

    return told


@pytest.fixture
def _no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Spark worker that has served no run."""
    monkeypatch.setattr(worker_pes, "_runs", OrderedDict())


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[PeId, int]]:
    """The program and channel of every PE that is made."""
    found: list[tuple[PeId, int]] = []
    init = PE.__init__

    def counted(self: PE, program: Program, channel: int, *arguments: Any) -> None:
        found.append((program.id, channel))
        init(self, program, channel, *arguments)

    monkeypatch.setattr(PE, "__init__", counted)
    return found


@pytest.mark.parametrize("degree", [1, 3])
@pytest.mark.parametrize("parallel", [False, True])
def test_a_pe_serves_all_frames_of_its_channel(made: list[tuple[PeId, int]], degree: int, parallel: bool) -> None:
    plan = planned(degree)
    engine = ParallelEngine(plan, workers=Interleaved(1)) if parallel else LocalEngine(plan)
    epochs = cut_all(plan.graph, 7)
    assert len(epochs) > 5
    for epoch in epochs:
        engine.run_epoch(epoch)
    assert len(made) == len(set(made))
    assert [channel for pe, channel in sorted(made) if pe == PeId(1, 0)] == list(range(degree))


def test_a_pe_holds_nothing_of_its_frames() -> None:
    """All that a turn makes is in the turn: the PE's own attributes are the same objects afterwards."""
    plan = planned()
    engine = LocalEngine(plan)
    first, *others = cut_all(plan.graph, 7)
    engine.run_epoch(first)
    pes = [engine.pes.of(program, 0) for stage in engine.programs for program in stage]
    before = [dict(vars(pe)) for pe in pes]
    contents = repr(before)
    for epoch in others:
        engine.run_epoch(epoch)
    after = [dict(vars(pe)) for pe in pes]
    assert [{n: id(v) for n, v in each.items()} for each in after] == [
        {n: id(v) for n, v in each.items()} for each in before
    ]
    assert repr(after) == contents
    assert not any(isinstance(value, Turn) for each in after for value in each.values())


def test_channels_of_a_worker_share_what_setup_made(said: list[str]) -> None:
    pes, program = PEPool(), program_of(planned(2))
    stores = [Store(), Store()]
    for channel, store in enumerate(stores):
        pes.of(program, channel).open_state(store, 0)
    assert said == ["setup"]
    pes.close()
    assert said == ["setup", "close"]


def test_a_new_start_replaces_a_pe_and_closes_it(said: list[str]) -> None:
    """Workers may live on into the next start, whose `setup` may do something else."""
    pes, plan = PEPool(), planned()
    first, second = program_of(plan), program_of(plan)
    assert first.fingerprint == second.fingerprint
    old = pes.of(first, 0)
    old.open_state(Store(), 0)
    assert pes.of(first, 0) is old
    new = pes.of(second, 0)
    assert new is not old
    assert said == ["setup", "close"]
    new.open_state(Store(), 0)
    assert said == ["setup", "close", "setup"]


def test_a_different_program_replaces_a_pe_and_closes_it(said: list[str]) -> None:
    pes, plan = PEPool(), planned()
    pes.of(program_of(plan), 0).open_state(Store(), 0)
    cut = compile_plan(plan.decide({"sums": replace(plan.decisions["sums"], ports=(0,))}))[1][0]
    assert len(pes.of(cut, 0).segments) == 2
    assert said == ["setup", "close"]


@pytest.mark.usefixtures("_no_runs")
def test_a_spark_worker_serves_several_runs_but_not_all_for_ever(said: list[str]) -> None:
    program = program_of(planned())
    first = worker_pes.pes_of("first")
    pe = first.of(program, 0)
    pe.open_state(Store(), 0)
    for number in range(worker_pes._MOST - 1):
        worker_pes.pes_of(f"other {number}")
    assert worker_pes.pes_of("first").of(program, 0) is pe
    assert said == ["setup"]
    for number in range(worker_pes._MOST):
        worker_pes.pes_of(f"later {number}")
    assert said == ["setup", "close"]
    assert worker_pes.pes_of("first").of(program, 0) is not pe


class Store:
    def get(self, bucket: int) -> bytes | None:
        return None

    def put(self, bucket: int, data: bytes) -> None:
        """Nothing is kept."""

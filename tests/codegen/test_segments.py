"""Segments: wherever the code of a PE is cut, and in however many threads it runs, the answer is the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thalweg as tw
from tests.codegen.segment_threads import ThreadedPE
from tests.properties.check import difference, run_local, run_reference
from tests.properties.strategies import cut_all
from thalweg import agg, window
from thalweg.codegen.pe_module import compile_plan
from thalweg.engine.core import pe_pool as living_pes
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.layout import layout
from thalweg.ir.plan import Plan
from thalweg.optimize.passes import make_plan
from thalweg.runtime.brackets import Stack
from thalweg.runtime.frame import Frame
from thalweg.runtime.generated_code import generated
from thalweg.runtime.pe import PE
from thalweg.runtime.resources import Resources
from thalweg.runtime.turn import Turn


class Item(tw.Tuple):
    i: int
    k: str


class Total(tw.Tuple):
    k: str
    total: int


class Adds(tw.Operator):
    def __init__(self) -> None:
        self.total = 0

    def process(self, t: Any, port: int) -> None:
        if t.a == 21:
            raise ValueError("no 21")
        self.total += t.a
        self.submit(Total(t.k, self.total))


@pytest.fixture
def graph(tmp_path: Path) -> LogicalGraph:
    """A chain of maps and filters that falls back in one frame, a fan-out and a union; an aggregate, a join and code
    with state and dead letters, all by the same key."""
    pq.write_table(
        pa.table({"i": [*range(40), 2**62, 7], "k": ["abc"[i % 3] for i in range(42)]}), tmp_path / "a.parquet"
    )
    app = tw.App("segments")
    items = app.source(tw.files(tmp_path), Item, name="items")
    small = items.map(lambda t: {"a": t.i * 3 % 1000, "k": t.k}, name="small").filter(lambda t: t.a % 2 < 3, name="all")
    odd, even = small.split(lambda t: 1 - t.a % 2, 2, name="parts")
    both = odd.map(lambda t: {"a": t.a + 1, "k": t.k}, name="next").union(even, name="both")
    sums = both.aggregate(window.sliding(count=3, by="k"), name="sums", k=agg.any("k"), total=agg.sum("a"))
    joined = even.join(sums, window.last(1, by="k"), on="k", name="joined")
    joined.map(lambda t: {"k": t.k, "x": t.a - t.total}, name="less").sink(tw.collect(), name="out")
    totals = odd.custom(Adds(), Total, by="k", name="totals", on_error="dead_letter")
    totals.sink(tw.collect(), name="totals_out")
    totals.dead_letters.sink(tw.collect(), name="letters")
    return app.graph()


def inner(plan: Plan) -> list[str]:
    """The operators before which the code of a PE can be cut."""
    return [name for stage in layout(plan).stages for pe in stage.pes for name in pe.operators[1:]]


def with_ports(plan: Plan, names: list[str]) -> Plan:
    return plan.decide({name: replace(plan.decisions[name], ports=(0,)) for name in names})


def check(graph: LogicalGraph, plan: Plan, cuts: list[str]) -> None:
    epochs = cut_all(graph, 17)
    expected = run_reference(graph, epochs)
    assert all(expected.answer.values()), "every sink gets tuples"
    found = run_local(with_ports(plan, cuts), epochs)
    assert difference(expected, found, plan.graph) is None, cuts


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("frame_rows", [3, 1000])
def test_a_cut_at_every_place(graph: LogicalGraph, degree: int, frame_rows: int) -> None:
    plan = make_plan(graph, degree=degree, buckets=4, frame_rows=frame_rows)
    places = inner(plan)
    assert len(places) >= 8
    for cuts in ([], *([place] for place in places), places):
        check(graph, plan, cuts)


def test_segments_in_threads(graph: LogicalGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns of an epoch overlap: while one is in the second segment, the next is in the first."""
    monkeypatch.setattr(living_pes, "PE", ThreadedPE)
    plan = make_plan(graph, degree=2, buckets=4, frame_rows=3)
    places = inner(plan)
    for cuts in (*([place] for place in places), places):
        check(graph, plan, cuts)
    assert ThreadedPE.most_threads > 2


class Number(tw.Tuple):
    x: float


@pytest.mark.parametrize("stacks", [(), (Stack(),)], ids=["plain", "bracketed"])
def test_a_segment_runs_without_warnings_in_any_thread(stacks: tuple[Stack, ...]) -> None:
    """numpy's settings belong to a thread. (Warnings are errors in tests.)"""
    app = tw.App("warnings")
    numbers = app.source(tw.beacon(lambda i: {"x": i * 1e300}, count=3), Number, name="numbers")
    numbers.map(lambda t: {"x": t.x * t.x - t.x * t.x}, name="huge").sink(tw.collect(), name="out")
    ((program,),) = compile_plan(make_plan(app.graph()))
    pe, segments = PE(program, 0, Resources()), generated(program).bracketed if stacks else generated(program).segments
    turn = Turn({"numbers": Frame(np.arange(3), (), {"x": np.arange(3) * 1e300})})
    with ThreadPoolExecutor(1) as thread:
        for segment in segments:
            thread.submit(segment, pe, turn, *stacks).result()
    ((_, _, frame),) = turn.output.frames
    assert [str(x) for x in np.asarray(frame.columns["x"])] == ["0.0", "nan", "nan"]
    assert turn.output.failures == []


def test_segments_pass_the_streams_that_are_read_later(graph: LogicalGraph) -> None:
    stages = compile_plan(with_ports(make_plan(graph), ["parts", "next"]))
    source = stages[0][0].source
    assert "def segment_0(pe, turn):" in source
    assert "def segment_1(pe, turn, all):" in source
    assert "def segment_2(pe, turn, parts):" in source
    assert "SEGMENTS = (segment_0, segment_1, segment_2)" in source


def test_a_cut_inside_a_chain_parts_it(graph: LogicalGraph) -> None:
    whole, parted = (compile_plan(with_ports(make_plan(graph), cuts))[0][0] for cuts in ([], ["all"]))
    assert ("small", "all") in whole.brackets
    assert ("small", "all") not in parted.brackets
    assert {("small",), ("all",)} <= set(parted.brackets)


def test_without_cuts_there_is_one_segment(graph: LogicalGraph) -> None:
    for stage in compile_plan(make_plan(graph)):
        for program in stage:
            assert program.source.endswith("SEGMENTS = (segment_0,)\n")

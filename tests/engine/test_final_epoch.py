"""What operators say at the end comes between tuples that are on their way to the same PE."""

from __future__ import annotations

import pytest

import thalweg as tw
from tests.properties.check import difference, run_engine, run_local, run_reference
from tests.properties.interleaved import Interleaved
from tests.properties.strategies import cut_all
from thalweg import agg, window
from thalweg.engine.local.parallel import ParallelEngine, ParallelOptions
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.layout import layout
from thalweg.optimize.passes import make_plan


class Number(tw.Tuple):
    j: int
    k: int
    n: int


def block(stream: tw.Stream, by: str, name: str) -> tw.Stream:
    """Emits all its output at the end."""
    whole = window.tumbling(count=100, by=by)
    return stream.aggregate(whole, name=name, j=agg.last("j"), k=agg.last("k"), n=agg.sum("n"))


def graph() -> LogicalGraph:
    """`late` ends before `first` and `second`, which stand in the stage before: its tuple finds nothing to join."""
    app = tw.App("final")
    numbers = app.source(tw.beacon(lambda i: {"j": i % 3, "k": i % 2, "n": i}, count=20), Number, name="numbers")
    late = block(block(numbers, "j", "early"), "k", "late")
    first = block(numbers, "j", "first").map(lambda t: {"k": t.k, "m": t.n}, name="first_m")
    second = block(numbers, "j", "second").map(lambda t: {"k": t.k, "q": t.n}, name="second_q")
    late.join(first, window.last(1, by="k"), on="k", name="joined").sink(tw.collect(), name="out")
    late.join(second, window.last(1, by="k"), on="k", name="again").sink(tw.collect(), name="more")
    late.sink(tw.collect(), name="said")
    return app.graph()


@pytest.mark.parametrize("frame_rows", [1, 2, 3, 1000])
def test_the_end_is_in_its_place(frame_rows: int) -> None:
    made = graph()
    epochs = cut_all(made, 7)
    expected = run_reference(made, epochs)
    assert expected.answer["said"]
    assert not expected.answer["out"]
    plan = make_plan(made, degree=2, frame_rows=frame_rows)
    assert len(layout(plan).stages) == 3
    assert difference(expected, run_local(plan, epochs)) is None
    engine = ParallelEngine(plan, workers=Interleaved(frame_rows), options=ParallelOptions(block_rows=2))
    assert difference(expected, run_engine(engine, epochs)) is None

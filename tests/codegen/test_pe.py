"""Generated modules: whatever operators are called, the code compiles and calls the right functions."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thalweg as tw
from tests.properties.check import difference, run_local, run_reference
from tests.properties.strategies import cut_all
from thalweg.codegen.pe_module import compile_plan
from thalweg.ir.graph import LogicalGraph
from thalweg.optimize.passes import make_plan

FLAG = True


class Item(tw.Tuple):
    i: int
    s: str


def items(folder: Path) -> tuple[tw.App, tw.Stream]:
    pq.write_table(pa.table({"i": [1, 2, 2**62], "s": ["a", "b", "a"]}), folder / "a.parquet")
    app = tw.App("app")
    return app, app.source(tw.files(folder), Item, name="items")


def check(graph: LogicalGraph) -> dict[str, list[tuple[object, ...]]]:
    epochs = cut_all(graph, 2)
    found = run_local(make_plan(graph), epochs)
    assert difference(run_reference(graph, epochs), found) is None
    return found.answer


@pytest.mark.parametrize(
    "name", ["class", "pe", "inputs", "run", "k", "np", "f", "AttributeType", "1st", 'a"""{b}', "é"]
)
def test_any_operator_name_will_do(tmp_path: Path, name: str) -> None:
    app, stream = items(tmp_path)
    stream.map(lambda t: {"a": t.i}, name=name).sink(tw.collect(), name="out")
    assert check(app.graph())["out"] == [(1,), (2,), (2**62,)]


def test_an_operator_named_like_a_function_of_another(tmp_path: Path) -> None:
    app, stream = items(tmp_path)
    first = stream.map(lambda t: {"a": t.i + 1}, name="m")
    second = first.map(lambda t: {"a": t.a + 10}, name="m_fields")
    second.filter(lambda t: t.a > 12, name="m_fields_fields").sink(tw.collect(), name="out")
    assert check(app.graph())["out"] == [(13,), (2**62 + 11,)]


def test_names_that_differ_only_in_signs(tmp_path: Path) -> None:
    app, stream = items(tmp_path)
    a = stream.filter(lambda t: t.i == 1, name="x.y")
    b = stream.filter(lambda t: t.i == 2, name="x_y")
    a.union(b, name="x-y").sink(tw.collect(), name="out")
    assert check(app.graph())["out"] == [(1, "a"), (2, "b")]


def test_a_captured_flag_decides_for_all_rows(tmp_path: Path) -> None:
    """`np.where` on plain values does not return a column."""
    app, stream = items(tmp_path)
    stream.map(lambda t: {"a": 1 if FLAG else 2}, name="m").sink(tw.collect(), name="map")
    stream.filter(lambda t: FLAG if FLAG else False, name="f").sink(tw.collect(), name="filter")
    stream.split(lambda t: 0 if FLAG else 1, 1, name="s")[0].sink(tw.collect(), name="split")
    answer = check(app.graph())
    assert [len(rows) for rows in answer.values()] == [3, 3, 3]


def test_dead_attributes_in_a_frame_that_falls_back(tmp_path: Path) -> None:
    """`i * 4` overflows in one frame, so Python's lambda is called there; it reads `s`, an unused attribute."""
    app, stream = items(tmp_path)
    both = stream.map(lambda t: {"a": t.i * 4 % 7, "b": t.s}, name="both")
    both.map(lambda t: {"a": t.a}, name="one").sink(tw.collect(), name="out")
    assert check(app.graph())["out"] == [(4,), (1,), (2**64 % 7,)]


def test_a_union_of_streams_with_different_live_attributes(tmp_path: Path) -> None:
    app, stream = items(tmp_path)
    left = stream.map(lambda t: {"a": t.i, "b": t.s}, name="left")
    right = stream.map(lambda t: {"a": -t.i, "b": t.s}, name="right")
    left.sink(tw.collect(), name="all")  # here b is live, in the union it is not
    left.union(right, name="both").map(lambda t: {"a": t.a}, name="a").sink(tw.collect(), name="out")
    assert check(app.graph())["out"] == [(1,), (-1,), (2,), (-2,), (2**62,), (-(2**62),)]


def test_a_plan_compiles_to_readable_modules(tmp_path: Path) -> None:
    app, stream = items(tmp_path)
    stream.filter(lambda t: t.i > 1, name="large").sink(tw.collect())
    ((program,),) = compile_plan(make_plan(app.graph()))
    assert program.source.startswith("# pe 0.0 of app: items large (generated)\n")
    assert "return (f['i'] > 1)" in program.source
    assert "test_pe.py:" in program.source, "the user's line is next to the code generated from it"


def chained(graph: LogicalGraph) -> list[str]:
    """The chains in the source of the plan's only PE."""
    ((program,),) = compile_plan(make_plan(graph))
    lines = program.source.splitlines()
    return [line.split(":")[0].strip(" #") for line in lines if line.endswith("one by one where that falls back")]


def test_a_chain_is_one_kernel(tmp_path: Path) -> None:
    app, stream = items(tmp_path)
    kept = stream.map(lambda t: {"a": t.i % 7, "s": t.s, "dead": t.i}, name="a").filter(lambda t: t.s == "a", name="b")
    kept.map(lambda t: {"a": t.a + 1, "one": 1}, name="c").filter(lambda t: t.one == 1, name="d").sink(
        tw.collect(), name="out"
    )
    graph = app.graph()
    assert chained(graph) == ["a b c d"]
    assert check(graph)["out"] == [(2, 1), (2**62 % 7 + 1, 1)]


def test_what_ends_a_chain(tmp_path: Path) -> None:
    app, stream = items(tmp_path)
    a = stream.map(lambda t: {"a": t.i % 5, "s": t.s}, name="a").filter(lambda t: t.a != 9, name="b")
    a.filter(lambda t: t.s == "a", name="left").map(lambda t: {"a": t.a}, name="left2").sink(tw.collect(), name="one")
    right = a.filter(lambda t: hash(t.s) != 0, name="opaque").map(lambda t: {"a": -t.a}, name="right")
    right.sink(tw.collect(), name="two")
    right.filter(lambda t: t.a < -1, name="more").sink(tw.collect(), name="three")
    graph = app.graph()
    assert chained(graph) == ["a b", "left left2"]
    assert check(graph) == {"one": [(1,), (4,)], "two": [(-1,), (-2,), (-4,)], "three": [(-2,), (-4,)]}


@pytest.mark.parametrize("limit", [0, 1, 2, 2**62])
def test_a_chain_of_filters(tmp_path: Path, limit: int) -> None:
    """Whether few rows, most rows, all or none stay, and whether what follows may see the others."""
    app, stream = items(tmp_path)
    kept = stream.filter(lambda t: t.i > limit, name="a").filter(lambda t: t.s != "c", name="b")
    kept = kept.filter(lambda t: FLAG, name="c").map(lambda t: {"x": t.i * 0.5, "i": t.i}, name="d")
    kept.map(lambda t: {"y": t.x / (t.i - limit), "z": t.x}, name="e").sink(tw.collect(), name="out")
    graph = app.graph()
    assert chained(graph) == ["a b c d e"]
    assert len(check(graph)["out"]) == {0: 3, 1: 2, 2: 1, 2**62: 0}[limit]


def test_a_chain_that_falls_back_runs_one_by_one(tmp_path: Path) -> None:
    app, stream = items(tmp_path)
    bigger = stream.map(lambda t: {"a": t.i * 4, "s": t.s}, name="a").filter(lambda t: t.a > 4, name="b")
    bigger.map(lambda t: {"s": t.s}, name="c").sink(tw.collect(), name="out")
    graph = app.graph()
    epochs = cut_all(graph, 2)
    expected, found = run_reference(graph, epochs), run_local(make_plan(graph), epochs)
    assert difference(expected, found) is None
    assert expected.error is not None
    assert expected.error.operator == "a"


def test_a_dead_field_that_raises_in_a_chain(tmp_path: Path) -> None:
    app, stream = items(tmp_path)
    both = stream.map(lambda t: {"a": t.i, "dead": 1 // (t.i - 2)}, name="a")
    both.filter(lambda t: t.a != 2, name="b").map(lambda t: {"a": t.a}, name="c").sink(tw.collect(), name="out")
    graph = app.graph()
    epochs = cut_all(graph, 2)
    expected, found = run_reference(graph, epochs), run_local(make_plan(graph), epochs)
    assert difference(expected, found) is None
    assert expected.error is not None

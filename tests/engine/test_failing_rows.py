"""Tuples on which an operator fails: every form of `benchmarks/failures` gives the reference's answer, and only the
failing tuples leave the kernels."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.failures.operators import OPERATORS, Item, Made, application

import thalweg as tw
from tests.properties.check import count_difference, difference, run_local, run_reference
from tests.properties.strategies import cut_all
from thalweg.ir.graph import LogicalGraph
from thalweg.optimize.passes import make_plan
from thalweg.runtime import row_loops
from thalweg.runtime.frame import Frame

COUNT, FAILING = 90, {0, 7, 8, 9, 31, 60, 88, 89}


def write(folder: Path) -> None:
    columns = {
        "k": [n // 10 for n in range(COUNT)],
        "x": [0 if n in FAILING else n % 5 + 1 for n in range(COUNT)],
        "y": [n / 4 for n in range(COUNT)],
        "s": [f"w{n % 4}" for n in range(COUNT)],
    }
    pq.write_table(pa.table(columns), folder / "items.parquet")


@pytest.mark.parametrize("policy", ["skip", "dead_letter", "fail"])
@pytest.mark.parametrize("form", OPERATORS)
def test_the_answer_is_the_references(tmp_path: Path, form: str, policy: str) -> None:
    write(tmp_path)
    graph = application(tmp_path, OPERATORS[form], policy).graph()
    epochs = cut_all(graph, 40)
    expected = run_reference(graph, epochs)
    assert (expected.error is not None) == (policy == "fail")
    for fuse, degree, frame_rows in (("all", 1, 1000), ("none", 2, 7), ("all", 1, 1)):
        found = run_local(make_plan(graph, fuse=fuse, degree=degree, frame_rows=frame_rows), epochs)
        assert difference(expected, found) is None, (fuse, degree, frame_rows)
        if policy != "fail":
            assert count_difference(graph, expected, found) is None


def local_rows(graph: LogicalGraph, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tuples of each frame took the row path of a map."""
    seen: list[int] = []
    by_rows = row_loops.map_rows

    def counting(function: Any, frame: Frame, *arguments: Any, **options: Any) -> row_loops.LoopResult:
        seen.append(len(frame))
        return by_rows(function, frame, *arguments, **options)

    monkeypatch.setattr(row_loops, "map_rows", counting)
    run_local(make_plan(graph), cut_all(graph, 1000))
    return seen


FUNCTIONS = {
    "a divisor": lambda t: {"k": t.k, "v": 100 // t.x},
    "a remainder": lambda t: {"k": t.k, "v": 100 % t.x},
    "inside a branch": lambda t: {"k": t.k, "v": 100 // t.x if t.k >= 0 else 1},
    "two divisors": lambda t: {"k": t.k, "v": 100 // t.x + 100 // (t.x * 2)},
    "a text": lambda t: {"k": t.k, "v": int(t.s[1:]) // t.x},
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_of_the_tuples_that_fail_alike_leaves_the_kernel(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path)
    app = tw.App("few")
    items = app.source(tw.files(tmp_path), Item, name="items")
    items.map(FUNCTIONS[name], Made, on_error="skip").sink(tw.none())
    assert local_rows(app.graph(), monkeypatch) == [1]


def test_only_failing_tuples_leave_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    app = tw.App("few")
    items = app.source(tw.files(tmp_path), Item, name="items")
    items.map(lambda t: {"k": t.k, "v": int(math.sqrt(t.x - 1))}, Made, on_error="skip").sink(tw.none())
    assert local_rows(app.graph(), monkeypatch) == [len(FAILING)]


OVERFLOWS = {
    "a sum": lambda t: {"k": t.k, "v": t.x * 2**60 + t.x * 2**60},
    "a difference": lambda t: {"k": t.k, "v": t.x * -(2**60) - t.x * 2**60},
    "a product": lambda t: {"k": t.k, "v": t.x * 2**61},
    "a power": lambda t: {"k": t.k, "v": (t.x + 3) ** 24},
    "a shift": lambda t: {"k": t.k, "v": t.x << 61},
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_only_ints_that_do_not_fit_leave_the_kernel(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    app = tw.App("wide")
    items = app.source(tw.files(tmp_path), Item, name="items")
    made = items.filter(lambda t: t.x > 0).map(OVERFLOWS[name], Made, on_error="dead_letter")
    made.sink(tw.none(), name="out")
    made.dead_letters.sink(tw.none(), name="letters")
    graph = app.graph()
    epochs = cut_all(graph, 1000)
    expected, found = run_reference(graph, epochs), run_local(make_plan(graph), epochs)
    assert difference(expected, found) is None
    (rows,) = local_rows(graph, monkeypatch)
    assert rows < COUNT // 2


ERRORS = {  # tuples fail in several ways, and some of them in two operations
    "the second operation is used twice": lambda t: {"k": int(t.s[1:].replace("3", "x")), "v": 1 // t.x + 1 // t.x},
    "two divisors": lambda t: {"k": 1 // (t.k - 3), "v": 100 % t.x},
    "a root": lambda t: {"k": int(math.sqrt(t.x - 1)), "v": 1 // (t.k - 3) + 1 // (t.k - 3)},
    "in branches": lambda t: {"k": t.k, "v": 1 // t.x if t.k < 5 else 1 % t.x},
    "both in a branch": lambda t: {"k": t.k, "v": int(1.5 / t.x) if t.k < 5 else t.k // t.x},
    "with sums": lambda t: {"k": t.k + 1, "v": (t.k * 3 - 1) // t.x},
    "a wide sum": lambda t: {"k": t.k * 2**62, "v": t.k // t.x},
}


@pytest.mark.parametrize("policy", ["skip", "dead_letter", "fail"])
@pytest.mark.parametrize("name", ERRORS)
def test_the_first_error_is_reported(tmp_path: Path, name: str, policy: str) -> None:
    write(tmp_path)
    app = tw.App("errors")
    items = app.source(tw.files(tmp_path), Item, name="items")
    made = items.map(ERRORS[name], Made, on_error=policy)
    made.sink(tw.none(), name="out")
    if policy == "dead_letter":
        made.dead_letters.sink(tw.none(), name="letters")
    graph = app.graph()
    epochs = cut_all(graph, 1000)
    expected, found = run_reference(graph, epochs), run_local(make_plan(graph), epochs)
    assert difference(expected, found) is None
    if policy != "fail":
        assert count_difference(graph, expected, found) is None


def test_texts_that_cannot_be_converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel evaluates a function once for each distinct text."""
    write(tmp_path)
    app = tw.App("texts")
    items = app.source(tw.files(tmp_path), Item, name="items")
    items.map(lambda t: {"k": t.k, "v": int(t.s.replace("w3", "three")[1:])}, Made, on_error="skip").sink(tw.none())
    assert local_rows(app.graph(), monkeypatch) == [sum(n % 4 == 3 for n in range(COUNT))]

"""Error policies of operators that can fail on a tuple: the same answer under any plan, without losing other tuples."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import thalweg as tw
from tests.properties.check import count_difference, difference, run_local, run_reference
from tests.properties.strategies import cut_all
from thalweg import agg, window
from thalweg.errors import GraphError
from thalweg.optimize.passes import make_plan


class Number(tw.Tuple):
    n: int


class Dated(tw.Tuple):
    n: int
    when: dt.datetime


class Exact(tw.Tuple):
    n: int
    d: Decimal


class Real(tw.Tuple):
    n: int
    x: float


class Name(tw.Tuple):
    n: int
    name: str


Made = dict[str, list[tuple[Any, ...]]]
NAMES = [Name(0, "zero"), Name(1, 1), Name(2, "two")]  # a table that somebody else wrote


def dated(t: Any) -> dict[str, Any]:
    """Every third date has a time zone: those cannot be compared with the others."""
    zone = dt.UTC if t.n % 3 == 2 else None
    return {"n": t.n, "when": dt.datetime(2026, 1, 1 + 5 * t.n % 8, tzinfo=zone)}


def exact(t: Any) -> dict[str, Any]:
    return {"n": t.n, "d": Decimal("NaN") if t.n == 2 else Decimal(5 * t.n % 8)}


def answer(build: Callable[[tw.Stream], tw.Stream], *, letters: bool = True) -> Made:
    """The answer of the reference, which is that of several plans."""
    app = tw.App("policies")
    made = build(app.source(tw.beacon(lambda i: {"n": i}, count=8), Number, name="numbers"))
    made.sink(tw.collect(), name="out")
    if letters:
        made.dead_letters.map(lambda t: {"tuple": t.tuple}).sink(tw.collect(), name="letters")
    graph = app.graph()
    epochs = cut_all(graph, 3)
    expected = run_reference(graph, epochs)
    assert expected.error is None
    for fuse in ("all", "none"):
        for frame_rows in (1, 2, 100):
            plan = make_plan(graph, fuse=fuse, degree=2, frame_rows=frame_rows)
            found = run_local(plan, epochs)
            assert difference(expected, found) is None
            assert count_difference(graph, expected, found) is None
    return expected.answer


def numbers(rows: list[tuple[Any, ...]]) -> list[int]:
    return [row[0] for row in rows]


def test_a_punctor() -> None:
    found = answer(lambda s: s.punctor(lambda t: 4 // (t.n - 2) > 1, on_error="dead_letter", name="p"))
    assert found["letters"] == [("Number(n=2)",)]
    assert numbers(found["out"]) == [0, 1, 3, 4, 5, 6, 7]


def test_a_punctor_of_a_window() -> None:
    def build(s: tw.Stream) -> tw.Stream:
        marked = s.punctor(lambda t: 4 // (t.n - 2) > 1, on_error="skip", name="p")
        return marked.aggregate(window.tumbling(punctuation=True), n=agg.sum("n"))

    assert answer(build, letters=False)["out"] == [(0 + 1 + 3,), (4,), (5 + 6 + 7,)]


def test_a_sort_of_windows() -> None:
    """The window fails as a whole."""
    build = lambda s: s.map(dated, Dated).sort(
        "when", window=window.tumbling(count=2), on_error="dead_letter", name="s"
    )
    found = answer(build)
    assert numbers(found["out"]) == [0, 1, 7, 6]
    assert [text.partition(",")[0] for (text,) in found["letters"]] == ["Dated(n=3", "Dated(n=5"]


def test_the_best_of_windows() -> None:
    build = lambda s: s.map(dated, Dated).top_k(1, "when", window=window.tumbling(count=2), on_error="dead_letter")
    assert numbers(answer(build)["out"]) == [1, 6]


@pytest.mark.parametrize(("function", "into", "by", "lost"), [(dated, Dated, "when", [2, 5]), (exact, Exact, "d", [2])])
def test_a_sort_with_a_buffer_continues_without_incomparable_tuples(
    function: Any, into: type[tw.Tuple], by: str, lost: list[int]
) -> None:
    found = answer(lambda s: s.map(function, into).sort(by, buffer=10, on_error="dead_letter"))
    assert numbers(found["out"]) == [n for n in (0, 5, 2, 7, 4, 1, 6, 3) if n not in lost]
    assert len(found["letters"]) == len(lost)


def test_a_merge_continues_without_incomparable_tuples() -> None:
    def build(s: tw.Stream) -> tw.Stream:
        even, odd = s.map(lambda t: {"n": t.n, "d": Decimal("NaN") if t.n == 2 else Decimal(t.n)}, Exact).split(
            lambda t: t.n % 2, 2
        )
        return even.merge_ordered(odd, on="d", on_error="dead_letter")

    found = answer(build)
    assert numbers(found["out"]) == [0, 1, 3, 4, 5, 6, 7]
    assert found["letters"] == [("Exact(n=2, d=Decimal('NaN'))",)]


def test_a_lookup() -> None:
    """Its table is checked when the graph is built, so no tuple can fail."""
    with pytest.raises(GraphError, match=r"lookup: a bad name in the table: expected str, found int \(1\)"):
        answer(lambda s: s.lookup(NAMES, Name, on="n"))
    with pytest.raises(GraphError, match="lookup has no argument on_error"):
        answer(lambda s: s.lookup([], Name, on="n", on_error="skip"))  # type: ignore[call-arg]


@pytest.mark.parametrize("how", [{"buffer": 20}, {"window": window.tumbling(count=20)}], ids=["buffer", "window"])
def test_a_sort_with_nan(how: Any) -> None:
    """Whether tuples share one NaN object depends on the plan, and in a tuple Python takes it for equal to itself."""

    def build(s: tw.Stream) -> tw.Stream:
        floats = s.map(lambda t: {"n": t.n % 4, "x": float("nan") if t.n > 5 else float(t.n)}, Real)
        return floats.lookup([Name(n, w) for n in range(4) for w in "ba"], Name, on="n").sort(("x", "name"), **how)

    found = answer(build, letters=False)["out"]
    assert [n for n, _, _ in found] == [n % 4 for n in range(6) for _ in "ab"] + [2, 3, 2, 3]
    assert [name for _, _, name in found] == [*"abababababab", *"aabb"]

"""A failed tuple is reported as the reference meets it: operator, tuple and message, under any plan."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thalweg as tw
from tests.properties.check import difference, run_local, run_reference
from tests.properties.strategies import cut_all
from thalweg import agg, window
from thalweg.errors import ResourceError, TupleError
from thalweg.ir.user_tracebacks import Raised
from thalweg.optimize.passes import make_plan
from thalweg.relative_paths import relative_paths


class Item(tw.Tuple):
    i: int
    x: float
    k: str


class Quotient(tw.Tuple):
    q: int


class Number(tw.Tuple):
    i: int


Build = Callable[[tw.Stream], None]


def failure(folder: Path, build: Build, *, max_tuples: int = 100) -> tuple[TupleError, dict[str, list[Any]]]:
    """The reported error and the output before it; the same from the reference and from several plans."""
    columns = {"i": [1, 2, 0, 4, 0], "x": [0.5, 1.5, 2.5, 3.5, 4.5], "k": ["a", "b", "a", "b", "c"]}
    pq.write_table(pa.table(columns), folder / "a.parquet")
    app = tw.App("failing")
    build(app.source(tw.files(folder), Item, name="items"))
    graph = app.graph()
    epochs = cut_all(graph, max_tuples)
    expected = run_reference(graph, epochs)
    for fuse in ("all", "none"):
        for degree in (1, 3):
            for frame_rows in (1, 2, 100):
                plan = make_plan(graph, fuse=fuse, degree=degree, frame_rows=frame_rows)
                assert difference(expected, run_local(plan, epochs)) is None
    assert expected.error is not None
    return expected.error, expected.answer


def test_only_live_attributes_are_shown(tmp_path: Path) -> None:
    """What nothing reads is not read from the file, so it cannot be shown."""
    build: Build = lambda s: s.filter(lambda t: 6 // t.i > 1, name="f").map(lambda t: {"x": t.x}).sink(tw.collect())
    error, _ = failure(tmp_path, build)
    assert (error.operator, error.found) == ("f", "Item(i=0, x=2.5)")
    assert error.message == "ZeroDivisionError: integer division or modulo by zero"


def test_an_aggregates_argument(tmp_path: Path) -> None:
    build: Build = lambda s: s.aggregate(
        window.running(by="k"), name="a", k=agg.any("k"), q=agg.sum(lambda t: t.x / t.i)
    ).sink(tw.collect())
    error, _ = failure(tmp_path, build)
    assert (error.operator, error.found) == ("a", "Item(i=0, x=2.5, k='a')")


def test_an_aggregates_output_field(tmp_path: Path) -> None:
    """The input tuple is shown, not the folds, which the user never named."""
    build: Build = lambda s: s.aggregate(window.sliding(count=1, by="k"), name="a", q=agg.sum("x") / agg.sum("i")).sink(
        tw.collect()
    )
    error, _ = failure(tmp_path, build)
    assert (error.operator, error.found) == ("a", "Item(i=0, x=2.5, k='a')")


def test_an_aggregates_output_field_where_the_window_slides(tmp_path: Path) -> None:
    build: Build = lambda s: s.aggregate(
        window.sliding(count=1, slide=2, by="k"), name="a", q=agg.sum("x") / agg.sum("i")
    ).sink(tw.collect())
    error, _ = failure(tmp_path, build)
    assert (error.operator, error.found) == ("a", "Item(i=0, x=2.5, k='a')")


def test_output_ends_with_the_last_whole_epoch(tmp_path: Path) -> None:
    build: Build = lambda s: s.map(lambda t: {"q": 6 // t.i}, name="m").sink(tw.collect(), name="out")
    _, answer = failure(tmp_path, build, max_tuples=1)
    assert answer == {"out": [(6,), (3,)]}
    _, answer = failure(tmp_path, build, max_tuples=2)
    assert answer == {"out": [(6,), (3,)]}
    _, answer = failure(tmp_path, build, max_tuples=3)
    assert answer == {"out": []}


def quotient(t: Any) -> int:
    return checked(6, t.i)


def checked(dividend: int, divisor: int) -> int:
    if divisor == 0:
        raise LookupError("no quotient")
    return dividend // divisor


def parsed(t: Any) -> dict[str, Any]:
    text = "" if t.i == 0 else "1"
    return {
        "i": json.loads(text),
    }


def fail_if_zero(t: Any, state: Any, submit: Any) -> None:
    for _ in range(1):
        checked(1, t.i)
    submit(t)


def line_of(text: str, function: str) -> str:
    """The first line of this file that begins so, as errors say it."""
    lines = Path(__file__).read_text().splitlines()
    return f"{__file__}:{next(n for n, line in enumerate(lines, 1) if line.strip().startswith(text))}, in {function}"


RAISES = 'raise LookupError("no quotient")'


@pytest.mark.parametrize(
    "build",
    [
        lambda s: s.map(lambda t: {"q": quotient(t)}, Quotient, name="m"),
        lambda s: s.filter(quotient, name="f"),
        lambda s: s.flat_map(lambda t: [{"q": quotient(t)}], Quotient, name="f"),
        lambda s: (lambda first, *others: first.union(*others))(*s.split(quotient, 7, name="s")),
        lambda s: s.punctor(quotient, name="p"),
        lambda s: s.custom(fail_if_zero, Item, by="k", name="c"),
    ],
    ids=["map", "filter", "flat_map", "split", "punctor", "custom"],
)
def test_the_line_that_raised_is_reported(tmp_path: Path, build: Any) -> None:
    error, _ = failure(tmp_path, lambda s: build(s).sink(tw.collect()))
    assert error.at == line_of(RAISES, "checked")
    assert f"\n  at: {relative_paths(str(error.at))}\n" in str(error)


def test_of_a_function_that_calls_a_library_the_users_line_is_reported(tmp_path: Path) -> None:
    build: Build = lambda s: s.map(parsed, Number, name="m").sink(tw.collect())
    error, _ = failure(tmp_path, build)
    assert error.message.startswith("JSONDecodeError: ")
    assert error.at == line_of('"i": json.loads(text)', "parsed")


def test_of_kernels_that_fall_back_too(tmp_path: Path) -> None:
    def mapped(s: tw.Stream) -> None:
        s.map(
            lambda t: {"q": 60 // t.i},
            name="m",
        ).sink(tw.collect())

    def aggregated(s: tw.Stream) -> None:
        summed = agg.sum(
            lambda t: 60 // t.i,
        )
        s.aggregate(window.running(by="k"), name="a", q=summed).sink(tw.collect())

    assert failure(tmp_path, mapped)[0].at == line_of('lambda t: {"q": 60 // t.i}', "<lambda>")
    assert failure(tmp_path, aggregated)[0].at == line_of("lambda t: 60 // t.i", "<lambda>")


def test_a_result_that_does_not_fit_was_raised_in_no_line(tmp_path: Path) -> None:
    build: Build = lambda s: s.map(lambda t: {"q": str(quotient)}, Quotient, name="m").sink(tw.collect())
    error, _ = failure(tmp_path, build)
    assert error.at is None


def test_a_worker_has_the_users_modules_in_an_archive() -> None:
    at = Raised(__name__, "/checkpoint/code-0a1b.zip/tests/engine/test_failures.py", 7, "checked")
    assert str(at) == f"{__file__}:7, in checked"


def test_a_traceback_shows_the_generated_code(tmp_path: Path) -> None:
    pq.write_table(pa.table({"i": [0], "x": [0.5], "k": ["a"]}), tmp_path / "a.parquet")
    app = tw.App("failing")
    app.source(tw.files(tmp_path), Item, name="items").map(lambda t: {"q": quotient(t)}, Quotient).sink(tw.collect())
    graph = app.graph()
    error = run_local(make_plan(graph), cut_all(graph, 100)).error
    assert error is not None
    shown = "".join(traceback.format_exception(error))
    assert 'File "<thalweg row loop ' in shown
    assert "\n    r = function(t)\n" in shown
    assert f"\n    {RAISES}\n" in shown


def fail_at_second(t: Any) -> Any:
    yield t
    raise ValueError("second")


@pytest.mark.parametrize("names", [("first", "second"), ("z", "a")])
def test_of_two_branches_the_first_declared_fails_first(tmp_path: Path, names: tuple[str, str]) -> None:
    def build(s: tw.Stream) -> None:
        for name in names:
            s.filter(lambda t: 6 // t.i > 0, name=name).sink(tw.collect())

    assert failure(tmp_path, build)[0].operator == names[0]


def test_depth_first_after_a_flat_map(tmp_path: Path) -> None:
    """For one tuple the reference visits the first branch to its end, also where order keys are longer there."""

    def build(s: tw.Stream) -> None:
        copies = s.flat_map(lambda t: [t, t], Item, name="copies")
        copies.filter(lambda t: 6 // t.i > 0, name="first").sink(tw.collect())
        s.filter(lambda t: 6 % t.i > 0, name="second").sink(tw.collect())

    error, _ = failure(tmp_path, build)
    assert error.operator == "first"


def test_depth_first_before_a_flat_map(tmp_path: Path) -> None:
    def build(s: tw.Stream) -> None:
        s.filter(lambda t: 6 % t.i > 0, name="first").sink(tw.collect())
        copies = s.flat_map(lambda t: [t, t], Item, name="copies")
        copies.filter(lambda t: 6 // t.i > 0, name="second").sink(tw.collect())

    error, _ = failure(tmp_path, build)
    assert error.operator == "first"


def test_depth_first_where_branches_meet_after_the_other(tmp_path: Path) -> None:
    """The first branch is itself a diamond: its order keys carry an index that the second branch has not."""

    def build(s: tw.Stream) -> None:
        twice = s.union(s.filter(lambda t: t.x > 0.0, name="some"), name="twice")
        twice.filter(lambda t: 6 // t.i > 0, name="first").sink(tw.collect())
        s.filter(lambda t: 6 % t.i > 0, name="second").sink(tw.collect())

    error, _ = failure(tmp_path, build)
    assert error.operator == "first"


@pytest.mark.parametrize("into", [None, Item])
def test_the_type_of_a_union_is_that_of_its_first_stream(tmp_path: Path, into: type[tw.Tuple] | None) -> None:
    """Tuples of an inferred type have no class of the user's, also when they came from one that has."""

    def build(s: tw.Stream) -> None:
        mapped = s.map(lambda t: {"i": t.i, "x": t.x, "k": t.k}, into, name="mapped")
        mapped.union(s, name="both").filter(lambda t: 1 / (t.i * len(type(t).__name__)) > 0, name="f").sink(
            tw.collect()
        )

    error, _ = failure(tmp_path, build)
    assert str(error.found).startswith("mapped(" if into is None else "Item(")


def test_a_generator_that_fails_midway_emits_nothing(tmp_path: Path) -> None:
    build: Build = lambda s: s.flat_map(fail_at_second, Item, name="f").sink(tw.collect(), name="out")
    error, answer = failure(tmp_path, build)
    assert (error.message, error.found) == ("ValueError: second", "Item(i=1, x=0.5, k='a')")
    assert answer == {"out": []}


def ending(t: Any) -> Any:
    if t.i == 0:
        sys.exit("no more")
    return t


class Ending(tw.Operator):
    def process(self, t: Any, port: int) -> None:
        self.submit(ending(t))


def ending_batches(table: pa.Table) -> pa.Table:
    if 0 in table["i"].to_pylist():
        sys.exit("no more")
    return table.select(["i"])


ENDS: dict[str, Callable[..., tw.Stream]] = {  # every kind of operator that calls code of users
    "map": lambda s, **options: s.map(ending, Item, **options),
    "filter": lambda s, **options: s.filter(lambda t: ending(t) is not None, **options),
    "flat_map": lambda s, **options: s.flat_map(lambda t: [ending(t)], Item, **options),
    "map_batches": lambda s, **options: s.map_batches(ending_batches, Number, **options),
    "function": lambda s, **options: s.custom(lambda t, _, submit: submit(ending(t)), Item, by="k", **options),
    "class": lambda s, **options: s.custom(Ending(), Item, by="k", **options),
    "apply": lambda s, **options: s.apply(window.running(by="k"), lambda ts: [ending(ts[-1])], Item, **options),
    "fold": lambda s, **options: s.aggregate(
        window.running(by="k"), n=agg.apply(lambda v: v[-1] or sys.exit("no more"), "i", int), **options
    ),
}


@pytest.mark.parametrize("kind", ENDS)
def test_sys_exit_is_a_failure_of_its_tuple(tmp_path: Path, kind: str) -> None:
    """It would end the process in which the operator happens to run."""
    error, _ = failure(tmp_path, lambda s: ENDS[kind](s, name="it").sink(tw.collect()))
    assert (error.operator, error.message) == ("it", "SystemExit: no more")


@pytest.mark.parametrize("kind", ENDS)
def test_sys_exit_can_be_skipped(tmp_path: Path, kind: str) -> None:
    def build(s: tw.Stream) -> None:
        ENDS[kind](s, name="it", on_error="skip").sink(tw.collect(), name="out")
        s.map(lambda t: Number(1 // (t.i - 4)), Number, name="last").sink(tw.collect(), name="end")

    error, answer = failure(tmp_path, build, max_tuples=3)
    assert error.operator == "last"
    assert len(answer["out"]) == 2


def test_sys_exit_in_setup(tmp_path: Path) -> None:
    @tw.declare(state=("k",))
    class Opening(Ending):
        def setup(self) -> Any:
            sys.exit("no more")

    app = tw.App("opening")
    app.source(tw.iterable([Item(1, 0.5, "a")]), Item).custom(Opening(), Item, by="k", name="it").sink(tw.collect())
    for degree in (1, 2):
        with pytest.raises(ResourceError, match="`setup` of it failed: SystemExit: no more"):
            tw.run(app, engine="local", degree=degree)

"""Row groups that no filter wants are not read; whatever can be seen of a run stays as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thalweg as tw
from thalweg.analysis.source_predicates import wanted
from thalweg.engine.core.run import RunOptions
from thalweg.engine.inputs import parquet_files as parquet
from thalweg.engine.inputs.row_group_bounds import may_be
from thalweg.engine.local.run import run_local
from thalweg.engine.storage.report import EpochReport
from thalweg.errors import InputError, ThalwegWarning
from thalweg.ir.expr import Expr, evaluate
from thalweg.ir.graph import LogicalGraph
from thalweg.optimize.passes import make_plan


class Row(tw.Tuple):
    n: int
    x: float
    s: str


NAN, INF = float("nan"), float("inf")
PREDICATES: dict[str, Callable[[Any], bool]] = {
    "less": lambda t: t.n < 3,
    "at most": lambda t: t.n <= 3,
    "more": lambda t: t.n > 3,
    "at least": lambda t: t.n >= 3,
    "equal": lambda t: t.n == 3,
    "unequal": lambda t: t.n != 3,
    "not": lambda t: not t.n < 3,
    "and": lambda t: t.n > 1 and t.x < 2.0,
    "or": lambda t: t.n > 4 or t.s == "b",
    "float": lambda t: t.x > 1.0,
    "float or NaN": lambda t: not t.x > 1.0,
    "float unequal": lambda t: t.x != 1.0,
    "text": lambda t: t.s >= "b",
    "text unequal": lambda t: t.s != "b",
    "always": lambda t: True,
    "computed": lambda t: t.n + 0 > 3 and t.n > 2,
}


def predicate(name: str) -> Expr | None:
    app = tw.App("predicate")
    rows = app.source(tw.files("rows"), Row)
    rows.filter(PREDICATES[name]).sink(tw.none())
    return wanted(app.graph(), app.graph().sources[0].output)


values = st.tuples(
    st.integers(0, 6),
    st.sampled_from((-INF, -0.0, 0.0, 1.0, 1.5, 2.0, INF, NAN)),
    st.sampled_from(("", "a", "b", "bb")),
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(PREDICATES)), st.lists(values, min_size=1, max_size=6))
def test_bounds_never_rule_out_an_existing_tuple(name: str, group: list[tuple[int, float, str]]) -> None:
    expr = predicate(name)
    if expr is None:
        assert name == "computed"  # its sum could overflow: such a frame goes the row path
        return
    columns = dict(zip(("n", "x", "s"), zip(*group, strict=True), strict=True))
    numbers = [x for x in columns["x"] if x == x]
    bounds: dict[str, Any] = {name: (min(columns[name]), max(columns[name])) for name in ("n", "s")}
    bounds |= {"x": (min(numbers), max(numbers))} if numbers else {}
    for row in group:
        found = bool(evaluate(expr, dict(zip(("n", "x", "s"), row, strict=True))))
        assert may_be(expr, found, bounds)


def test_bounds_rule_out_what_cannot_be() -> None:
    bounds = {"n": (5, 9), "x": (3.0, 4.0), "s": ("c", "d")}
    ruled_out = {name for name in PREDICATES if (e := predicate(name)) is not None and not may_be(e, True, bounds)}
    assert ruled_out == {"less", "at most", "equal", "and"}


def write(folder: Path, numbers: list[int | None], group: int) -> None:
    folder.mkdir()
    table = pa.table({"n": numbers, "x": [1.0] * len(numbers), "s": ["a"] * len(numbers)})
    pq.write_table(table, folder / "rows.parquet", row_group_size=group)


def app_over(folder: Path, *tests: Callable[[Any], bool]) -> tw.App:
    app = tw.App("pushed")
    rows = app.source(tw.files(folder, format="parquet"), Row)
    for number, test in enumerate(tests):
        rows.filter(test, name=f"f{number}").sink(tw.collect(), name=f"s{number}")
    return app


@pytest.fixture
def groups_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    seen: list[int] = []
    read = parquet._row_group

    def watched(file: Any, chunk: Any, group: int, columns: list[str], *, keep: bool) -> pa.Table:
        seen.append(group)
        return read(file, chunk, group, columns, keep=keep)

    monkeypatch.setattr(parquet, "_row_group", watched)
    return seen


def test_only_wanted_row_groups_are_read(tmp_path: Path, groups_read: list[int]) -> None:
    write(tmp_path / "rows", list(range(20)), group=4)
    result = tw.run(app_over(tmp_path / "rows", lambda t: t.n < 3, lambda t: t.n == 17), engine="local")
    assert [t[0] for t in result.tuples("s0")] == [0, 1, 2]
    assert [t[0] for t in result.tuples("s1")] == [17]
    assert sorted(set(groups_read)) == [0, 4]
    assert result.tuples_in == 20  # they were taken, although no operator reads them


def test_groups_that_are_left_out_are_counted(tmp_path: Path, groups_read: list[int]) -> None:
    """The second filter alone would rule out every group; what is between the two is counted nevertheless."""
    write(tmp_path / "rows", list(range(20)), group=4)
    app = tw.App("counted")
    few = app.source(tw.files(tmp_path / "rows", format="parquet"), Row, name="rows").filter(
        lambda t: t.n < 6, name="few"
    )
    few.filter(lambda t: t.n > 100, name="none").sink(tw.collect(), name="out")
    reports: list[EpochReport] = []
    run_local(make_plan(app.graph()), RunOptions(), reports.append)
    counts = reports[0].operators
    assert {n: (c.tuples_in, c.tuples_out) for n, c in counts.items()} == {
        "rows": ((), (20,)),
        "few": ((20,), (6,)),
        "none": ((6,), (0,)),
        "out": ((0,), ()),
    }
    assert sorted(set(groups_read)) == [0, 1]


def test_a_consumer_of_all_tuples_gets_all(tmp_path: Path, groups_read: list[int]) -> None:
    write(tmp_path / "rows", list(range(20)), group=4)
    everything = tw.App("all")
    rows = everything.source(tw.files(tmp_path / "rows", format="parquet"), Row)
    rows.filter(lambda t: t.n < 3).sink(tw.none())
    rows.map(lambda t: {"n": t.n}).sink(tw.collect(), name="all")
    assert len(tw.run(everything, engine="local").tuples("all")) == 20
    assert sorted(set(groups_read)) == [0, 1, 2, 3, 4]


def test_positions_stay_where_they_were(tmp_path: Path) -> None:
    """Seeded chance depends on a tuple's position: groups that are left out still count."""
    write(tmp_path / "rows", [*range(50), *range(50)], group=10)

    def drawn(test: Callable[[Any], bool]) -> list[Any]:
        app = tw.App("drawn")
        rows = app.source(tw.files(tmp_path / "rows", format="parquet"), Row).filter(test)
        half, rest = rows.split_randomly([0.5, 0.5], seed=7)
        rest.sink(tw.none())
        half.sink(tw.collect())
        return tw.run(app, engine="local").tuples()

    assert drawn(lambda t: t.n < 10) == drawn(lambda t: (t.n * 1) // 1 < 10)


def test_a_bad_row_is_found_in_an_unwanted_group(tmp_path: Path) -> None:
    write(tmp_path / "rows", [1, 2, 3, 4, None, 6], group=3)
    with pytest.raises(InputError, match="attribute n does not fit"):
        tw.run(app_over(tmp_path / "rows", lambda t: t.n < 3), engine="local")


@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_statistics_that_are_not_text(tmp_path: Path, on_error: str) -> None:
    """A row is not valid UTF-8, and so is the greatest value in the statistics of its row group."""
    offsets, data = pa.py_buffer(bytes([0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0])), pa.py_buffer(b"aa\xff")
    texts = pa.Array.from_buffers(pa.string(), 2, [None, offsets, data])
    pq.write_table(pa.table({"n": [1, 2], "x": [1.0, 2.0], "s": texts}), tmp_path / "0.parquet")
    app = tw.App("texts")
    rows = app.source(tw.files(tmp_path, on_error=on_error), Row)
    rows.filter(lambda t: t.n > 0).sink(tw.collect())
    if on_error == "skip":
        with pytest.warns(ThalwegWarning, match="2 of 2 rows are not valid"):  # the row group cannot be decoded
            assert tw.run(app, engine="local").tuples() == []
        return
    with pytest.raises(InputError, match="attribute s does not fit") as found:
        tw.run(app, engine="local")
    assert found.value.expected == "str in UTF-8"


def test_which_filters_are_pushed() -> None:
    def found(build: Callable[[Any], Any]) -> bool:
        app = tw.App("which")
        build(app.source(tw.files("rows"), Row))
        graph: LogicalGraph = app.graph()
        return wanted(graph, graph.sources[0].output) is not None

    assert found(lambda rows: rows.filter(lambda t: t.n < 3).sink(tw.none()))
    assert not found(lambda rows: rows.filter(lambda t: 7 // t.n < 3).sink(tw.none()))  # may raise
    assert not found(lambda rows: rows.filter(lambda t: t.n * t.n < 3).sink(tw.none()))  # may overflow
    assert not found(lambda rows: rows.filter(lambda t: eval(t.s)).sink(tw.none()))  # it cannot be analyzed

"""The reference has its own definition of every operator of the library, and both give the same answer."""

from __future__ import annotations

import datetime as dt
import math
import random
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thalweg as tw
from tests.properties.check import Outcome, difference, run_local, run_reference
from tests.properties.strategies import cut_all
from tests.verify.reference_graphs import GRAPHS, Row, graph_of, keep, row
from thalweg import window
from thalweg.errors import InternalError
from thalweg.ir.completeness import complete
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.logic import Logic
from thalweg.ir.operators import Process
from thalweg.ir.types import BOOL, BYTES, DATE, DATETIME, DECIMAL, FLOAT, INT, STR, AttributeType, optional
from thalweg.library import select
from thalweg.library.immediate_loop import Loop
from thalweg.library.sorting import TopK
from thalweg.library.window_join import _Both
from thalweg.optimize.passes import make_plan
from thalweg.runtime import key_ranks, seeded_random
from thalweg.runtime.frame import Frame
from thalweg.verify import reference_definitions
from thalweg.verify.reference_definitions import DEFINITIONS, FUNCTIONS, library_functions, library_logic
from thalweg.verify.reference_keys import chance, rank_of

ROOT = Path(__file__).parents[2]


# What is missing fails with its name.


def test_a_class_of_the_library_without_a_definition_fails_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    added = type("EveryOther", (select.Dedup,), {"__module__": select.__name__})
    monkeypatch.setattr(select, "EveryOther", added, raising=False)
    with pytest.raises(InternalError, match=r"^definitions: no entry for EveryOther$"):
        complete(DEFINITIONS, library_logic(), "definitions")


def test_a_function_of_the_library_without_a_definition_fails_with_its_name() -> None:
    fewer = {cls: made for cls, made in FUNCTIONS.items() if cls is not TopK}
    with pytest.raises(InternalError, match=r"^functions: no entry for Decode, RecordPart, TopK$"):
        complete(fewer, library_functions(), "functions")


def test_a_definition_acts_when_the_operator_acts(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {**DEFINITIONS, select.Dedup: lambda logic: AtTheEnd()}
    monkeypatch.setattr(reference_definitions, "DEFINITIONS", made)
    with pytest.raises(InternalError, match="Dedup and its definition act at different events"):
        run_reference(*graph_of(lambda s: s.dedup("k", name="first").sink(tw.collect(), name="out")))


class AtTheEnd(Logic):
    def at_end(self) -> None:
        raise AssertionError


def test_the_contracts_list_all_modules_of_the_reference() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    listed = [sorted(c["source_modules"]) for c in contracts if c["name"].startswith("the reference ")]
    modules = sorted(f"thalweg.verify.{file.stem}" for file in (ROOT / "src/thalweg/verify").glob("reference*.py"))
    assert listed == [modules, modules]


# The operators, one by one: see reference_graphs.py.


@pytest.mark.parametrize("name", GRAPHS)
def test_both_give_the_same_answer(name: str) -> None:
    graph, epochs = graph_of(GRAPHS[name])
    expected = run_reference(graph, epochs)
    assert expected.error is None
    assert len(expected.answer["out0"]) > 5
    for degree, frame_rows in ((1, 1000), (3, 1), (2, 5)):
        plan = make_plan(graph, degree=degree, buckets=5, frame_rows=frame_rows)
        assert difference(expected, run_local(plan, epochs, through_bytes=True)) is None


class BadAtTheEnd(tw.Operator):
    def __init__(self, port: int) -> None:
        self.port = port

    def process(self, t: Any, port: int) -> None:
        self.submit(t)

    def at_end(self) -> None:
        if self.port == 0:
            raise KeyError("at the end")
        self.submit(row(0), self.port)


@pytest.mark.parametrize(
    ("port", "message"),
    [
        (0, "LoopError: bad: KeyError: 'at the end'"),
        (-1, "LoopError: bad: ValueError: expected a port in 0..0, found -1"),
    ],
)
def test_an_error_at_the_end_of_a_loop_names_its_operator(port: int, message: str) -> None:
    def build(s: tw.Stream) -> None:
        back = s.app.feedback(Row, immediate=True, name="loop")
        bad = s.union(back, name="both").custom(BadAtTheEnd(port), Row, by="k", name="bad")
        bad.filter(lambda t: t.n > 100, name="none").feed(back, name="feed")
        keep(bad)

    graph, epochs = graph_of(build)
    expected = run_reference(graph, epochs)
    assert expected.error is not None
    assert expected.error.message == message
    assert expected.error.at is not None, "the line of the user's code"
    assert difference(expected, run_local(make_plan(graph), epochs)) is None


class NamesItsKey(tw.Operator):
    def __init__(self) -> None:
        self.key = ""

    def process(self, t: Any, port: int) -> None:
        self.key = t.k

    def at_end(self) -> None:
        raise ValueError(self.key)


def test_of_the_keys_that_fail_at_the_end_the_least_is_reported() -> None:
    def build(s: tw.Stream) -> None:
        keep(s.filter(lambda t: t.i > 0, name="rest").custom(NamesItsKey(), Row, by="k", name="named"))

    assert [row(i).k for i in (1, 2)] == ["b", "a"], "another key comes first"
    graph, epochs = graph_of(build)
    expected = run_reference(graph, epochs)
    assert expected.error is not None
    assert expected.error.message == "ValueError: a"
    for degree in (1, 3):
        assert difference(expected, run_local(make_plan(graph, degree=degree), epochs)) is None


class Timed(tw.Tuple):
    time: int
    side: str


@pytest.mark.parametrize("times", [[10, 5, 13, 11, 10], [5, 10, 13, 11, 10]])
def test_tuples_that_are_too_old_count_among_the_last(times: list[int]) -> None:
    """The mark at 13 proves that nothing can match the tuple at 5: it may be dropped only if it is the oldest."""
    app = tw.App("last")
    sides = list(zip(times, ["left", "left", "neither", "left", "right"], strict=True))
    rows = app.source(tw.beacon(lambda i: Timed(*sides[i]), count=len(sides)), Timed, name="rows")
    left = rows.event_time("time", lateness=6, name="marked").filter(lambda t: t.side == "left", name="left")
    right = rows.map(lambda t: {"at": t.time, "where": t.side}, name="renamed").event_time("at", lateness=6, name="at")
    right = right.filter(lambda t: t.where == "right", name="right")
    left.join(right, window.within(1), mine=window.last(2), where=lambda a, b: True).sink(tw.collect(), name="out")
    graph = app.graph()
    epochs = cut_all(graph, 100)
    expected = run_reference(graph, epochs)
    assert [time for time, *_ in expected.answer["out"]] == ([11] if times[0] == 10 else [10, 11])
    assert difference(expected, run_local(make_plan(graph), epochs)) is None


def logics(graph: LogicalGraph) -> set[type]:
    found = [o.logic for o in graph.operators if isinstance(o, Process)]
    found += [
        o.logic for logic in found if isinstance(logic, Loop) for o in logic.config.operators if isinstance(o, Process)
    ]
    configs = [getattr(logic, "config", None) for logic in found]
    functions = [getattr(c, name, None) for c in configs for name in ("function", "where")]
    functions += [part for f in functions if isinstance(f, _Both) for part in f.parts]
    return {*map(type, found), *map(type, functions)}


def test_every_definition_is_compared() -> None:
    """Windows of aggregates have their own test, in tests/library/test_fold_specs.py."""
    found = set[type]().union(*(logics(graph_of(build)[0]) for build in GRAPHS.values()))
    windows = {c for c in DEFINITIONS if c.__module__.startswith("thalweg.library.windows.")}
    assert [c.__name__ for c in {**DEFINITIONS, **FUNCTIONS} if c not in found | windows] == []


@pytest.mark.parametrize("name", GRAPHS)
def test_the_reference_does_not_run_the_library(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the code of every class of the library broken the reference gives the same answer."""

    def broken(*arguments: Any) -> Any:
        raise AssertionError("code of the library is called")

    def outcome() -> Outcome:
        return run_reference(*graph_of(GRAPHS[name]))

    expected = outcome()
    for cls in DEFINITIONS:
        for method in ("process", "on_mark", "at_end"):
            if getattr(cls, method) is not getattr(Logic, method):
                monkeypatch.setattr(cls, method, broken)
    for function in FUNCTIONS:
        monkeypatch.setattr(function, "__call__", broken)
    assert expected.error is None
    assert difference(expected, outcome()) is None


# Keys.

VALUES: Mapping[AttributeType, list[Any]] = {
    INT: [0, 1, -1, 2**63 - 1, -(2**63)],
    FLOAT: [0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, -2.5, 5e-324, -5e-324],
    STR: ["", "a", "é", "eight888", "nine99999", "日本語のとても長い文字列", "\0"],
    BOOL: [True, False],
    BYTES: [b"", b"abcdefghijk", b"\0"],
    DATE: [dt.date(2024, 1, 1), dt.date.min],
    DATETIME: [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=dt.UTC)],
    DECIMAL: [Decimal("1.0"), Decimal("NaN"), Decimal("-3"), Decimal("1e400")],
    optional(INT): [None, 3],
}


def test_keys_have_the_ranks_of_the_engines() -> None:
    drawn = random.Random(1)
    for _ in range(2000):
        kinds = [drawn.choice(list(VALUES)) for _ in range(drawn.randint(1, 3))]
        values = [drawn.choice(VALUES[kind]) for kind in kinds]
        assert rank_of(values, kinds) == key_ranks.key_rank(values, key_ranks.hash_of(values, kinds)), values


def test_random_numbers_are_those_of_the_engines() -> None:
    drawn = random.Random(1)
    for _ in range(500):
        key = tuple(drawn.choice([0, 1, 5, -3, 2**62, -(2**63)]) for _ in range(drawn.randint(1, 4)))
        seed = drawn.choice([0, 1, -1, 2**70])
        frame = Frame(np.array(key[:1], np.int64), key[1:], {})
        assert chance(seed, key) == seeded_random.chances(seed, frame)[0]

"""Workers import helper modules from their files. A program that changed one of their variables is refused there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from thalweg.api import run_plan
from thalweg.cli.find_app import load_app
from thalweg.engine.core.run import RunOptions
from thalweg.errors import GraphError
from thalweg.optimize.passes import make_plan

HELPER = """
LIMIT = 1
TABLE = {"a": {3, 1, 2}}
SEEN = {}


def shifted(n):
    return n + LIMIT + len(TABLE)


def numbered(n):
    return SEEN.setdefault(n, n)
"""

APP = """
import thalweg as tw
import changed_helper
from changed_helper import numbered, shifted

{change}


class Number(tw.Tuple):
    k: str
    n: int


def count(t, state, submit):
    submit(Number(repr(t.k), {value}))
    return state


{declare}
app = tw.App("helpers")
numbers = app.source(tw.beacon(lambda i: {{"k": "ab"[i % 2], "n": i}}, count=4), Number)
numbers.custom(count, Number, by="k", name="count").sink(tw.collect(), name="out")
"""

CHANGES = {
    "a number": ("LIMIT", "changed_helper.LIMIT = 5"),
    "the content of a table": ("TABLE", "changed_helper.TABLE['a'].add(4)"),
    "a variable that is gone": ("LIMIT", "limit = changed_helper.LIMIT; changed_helper.LIMIT = None"),
}


@pytest.fixture(autouse=True)
def _imported_again() -> None:
    sys.modules.pop("changed_helper", None)


def plan_of(folder: Path, change: str = "", value: str = "shifted(t.n)", declare: str = "", degree: int = 2) -> Any:
    (folder / "changed_helper.py").write_text(HELPER)
    file = folder / "app.py"
    file.write_text(APP.format(change=change, value=value, declare=declare))
    return make_plan(load_app(str(file)).graph(), degree=degree)


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize(("name", "change"), CHANGES.values(), ids=list(CHANGES))
def test_a_changed_variable_is_refused_in_workers(tmp_path: Path, name: str, change: str, engine: str) -> None:
    with pytest.raises(GraphError) as error:
        run_plan(plan_of(tmp_path, change), engine, RunOptions(tmp_path / "checkpoint"))
    assert f"changed_helper.{name} has different values in the program and in its workers" in str(error.value)
    assert error.value.as_json()["operator"] == "count"


@pytest.mark.parametrize("degree", [1, 2])
def test_variables_that_are_as_in_the_file(tmp_path: Path, degree: int) -> None:
    found = run_plan(plan_of(tmp_path, degree=degree), "local", RunOptions(tmp_path / "checkpoint")).tuples("out")
    assert found == [("'a'", 2), ("'b'", 3), ("'a'", 4), ("'b'", 5)]


def test_values_that_a_run_in_this_process_sees(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "changed_helper.LIMIT = 5", degree=1)
    found = run_plan(plan, "local", RunOptions(tmp_path / "checkpoint")).tuples("out")
    assert found == [("'a'", 6), ("'b'", 7), ("'a'", 8), ("'b'", 9)]


def test_a_cache_may_differ(tmp_path: Path) -> None:
    """It needs a declaration, and an operator with one is not checked."""
    declare = "count = tw.declare(state=('k',), effects='none')(count)"
    plan = plan_of(tmp_path, "changed_helper.SEEN[7] = 7", "numbered(t.n)", declare)
    found = run_plan(plan, "local", RunOptions(tmp_path / "checkpoint")).tuples("out")
    assert found == [("'a'", 0), ("'b'", 1), ("'a'", 2), ("'b'", 3)]


def test_the_order_of_a_set_does_not_matter(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "changed_helper.TABLE['a'] = {2, 3, 1}")
    assert run_plan(plan, "local", RunOptions(tmp_path / "checkpoint")).tuples("out")[0] == ("'a'", 2)

"""The options of a plan: the same at every entry point, with one set of defaults and checks."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import thalweg as tw
from tests.graphs import bargains
from thalweg import api, embed
from thalweg.cli.commands.check import check
from thalweg.cli.commands.explain import explain as explain_command
from thalweg.cli.commands.migrate import migrate
from thalweg.cli.commands.run import run
from thalweg.engine.state.migrate import Change
from thalweg.errors import PlanError, ThalwegError, UsageError
from thalweg.explain import explain
from thalweg.ir.layout import layout
from thalweg.ir.plan_options import PlanOptions
from thalweg.lang import embedding
from thalweg.optimize.passes import make_plan
from thalweg.optimize.request import PlanRequest

NAMES = set(PlanOptions.__annotations__)


@pytest.mark.parametrize("entry", [api.run, embed.start, embed.to_dataframe, embedding.start, embedding.to_dataframe])
def test_functions_take_all_options(entry: Callable[..., Any]) -> None:
    options = inspect.signature(entry).parameters["options"]
    assert options.kind is inspect.Parameter.VAR_KEYWORD
    assert options.annotation == "Unpack[PlanOptions]"
    assert not NAMES & inspect.signature(entry).parameters.keys()


@pytest.mark.parametrize("entry", [run, explain_command, check])
def test_commands_take_all_options_with_the_same_defaults(entry: Callable[..., Any]) -> None:
    parameters = inspect.signature(entry).parameters
    assert parameters.keys() >= NAMES
    given = {name: parameters[name].default for name in NAMES}
    given["degree"] = int(given["degree"])  # explain's may be open, so it is a word
    assert PlanRequest.of(**given) == PlanRequest()


def test_a_migration_takes_those_that_concern_state() -> None:
    assert inspect.signature(migrate).parameters.keys() & NAMES == {"degree", "buckets", "balance"}
    assert get_type_hints(Change).keys() & NAMES == {"degree", "buckets", "balance"}
    with pytest.raises(PlanError, match="a degree counts channels"):
        Change(degree=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degree": 0}, "a degree counts channels"),
        ({"degree": "two"}, "a degree counts channels"),
        ({"degree": True}, "a degree counts channels"),
        ({"degree": {"vwap": 0}}, "a degree counts channels"),
        ({"buckets": 0}, "buckets must be a number"),
        ({"frame_rows": 0}, "frame_rows must be a number"),
        ({"degre": 2}, "unknown option degre"),
        ({"plan": "plan bargains", "fuse": "none"}, "a plan already decides fuse"),
        ({"plan": "plan bargains", "balance": True}, "a plan already decides balance"),
        ({"plan": "plan bargains", "rules": "paper"}, "a plan already decides rules"),
        ({"plan": "plan bargains", "frame_rows": 7}, "a plan already decides frame_rows"),
    ],
)
def test_mistakes(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ThalwegError, match=message):
        make_plan(bargains(), **options)


def test_a_mistyped_option_gets_a_suggestion() -> None:
    app = tw.App("app")
    with pytest.raises(PlanError) as error:
        tw.run(app, engine="local", degre=2)  # type: ignore[call-arg]
    assert error.value.hint == "did you mean `degree`?"


def test_what_a_closed_plan_decides_is_not_passed_over() -> None:
    graph = bargains()
    text = explain(make_plan(graph, degree=2))
    assert make_plan(graph, plan=text) == make_plan(graph, degree=2)
    assert make_plan(graph, plan=text, buckets=2) == make_plan(graph, degree=2)
    with pytest.raises(UsageError, match="the plan leaves no degree open"):
        make_plan(graph, plan=text, degree=3)
    with pytest.raises(UsageError, match="the plan already decides buckets"):
        make_plan(graph, plan=text, buckets=3)


def test_files(tmp_path: Path) -> None:
    graph = bargains()
    (tmp_path / "groups").write_text("ticks trades\nvwap bargains.join\n")
    wanted = make_plan(graph, fuse="ticks trades; vwap bargains.join")
    assert make_plan(graph, fuse=tmp_path / "groups") == wanted
    assert make_plan(graph, fuse=str(tmp_path / "groups")) == wanted
    (tmp_path / "plan").write_text(explain(wanted))
    assert make_plan(graph, plan=tmp_path / "plan") == wanted
    long = "; ".join(["ticks trades", "vwap bargains.join", *([""] * 5_000)])  # longer than the name of any file
    assert layout(make_plan(graph, fuse=long)).stages == layout(wanted).stages

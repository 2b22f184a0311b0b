"""The options of a plan: the same at every entry point, with one set of defaults and checks."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from tests.graphs import bargains
from thalweg import api, embed, testing
from thalweg.cli.commands.check import check
from thalweg.cli.commands.explain import explain as explain_command
from thalweg.cli.commands.migrate import migrate
from thalweg.cli.commands.run import run
from thalweg.cli.options import degree_of
from thalweg.engine.state.migrate import migrate as migrate_checkpoint
from thalweg.errors import GraphError, ThalwegError, UsageError
from thalweg.explain import explain, explain_json
from thalweg.ir.layout import layout
from thalweg.ir.plan_options import PlanOptions
from thalweg.lang import embedding
from thalweg.optimize.passes import make_plan
from thalweg.optimize.request import PlanRequest

NAMES = set(PlanOptions.__annotations__)
ENTRIES = [api.run, embed.start, embed.to_dataframe, embedding.start, embedding.to_dataframe, testing.run]


@pytest.mark.parametrize("entry", ENTRIES)
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
    assert PlanRequest.of(**given) == PlanRequest()


def test_a_migration_takes_those_that_concern_state() -> None:
    assert inspect.signature(migrate).parameters.keys() & NAMES == {"degree", "buckets", "balance"}
    for options in ({"fuse": "none"}, {"rules": "paper"}, {"frame_rows": 5}, {"degree": "open"}):
        with pytest.raises(UsageError, match="a migration only changes degree, buckets and balance"):
            migrate_checkpoint(Path("old"), Path("new"), PlanRequest.of(**options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degree": 0}, "invalid degree"),
        ({"degree": "two"}, "invalid degree"),
        ({"degree": True}, "invalid degree"),
        ({"degree": {"vwap": 0}}, "invalid degree of vwap"),
        ({"degree": {"vwap": "open"}}, "invalid degree of vwap"),
        ({"degree": {"vwpa": 2}}, "degree: there is no operator 'vwpa'"),
        ({"degree": {"trades": 2}}, "trades cannot have degree 2"),
        ({"buckets": 0}, "invalid buckets"),
        ({"frame_rows": 0}, "invalid frame_rows"),
        ({"frame_rows": None}, "invalid frame_rows"),
        ({"balance": "no"}, "invalid balance"),
        ({"fuse": None}, "invalid fuse"),
        ({"fuse": {"vwpa": "a"}}, "fuse: there is no operator 'vwpa'"),
        ({"rules": None}, "unknown rules"),
        ({"plan": b"plan bargains"}, "invalid plan"),
        ({"plan": "no such file"}, "plan: cannot read no such file: no such file or directory"),
        ({"fuse": Path("no such file")}, "fuse: cannot read no such file"),
        ({"plan": "{"}, "the plan is not valid JSON"),
        ({"plan": "{}"}, "not the JSON form of a plan: no 'app'"),
        ({"plan": Path(__file__).parent}, "is a directory"),
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
    with pytest.raises(GraphError) as error:
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
    for text in (explain(wanted), "\ufeff" + explain(wanted), json.dumps(explain_json(wanted))):
        (tmp_path / "plan").write_text(text)
        assert make_plan(graph, plan=tmp_path / "plan") == wanted
        assert make_plan(graph, plan=str(tmp_path / "plan")) == wanted
    (tmp_path / "plan").write_bytes(b"\xff\x00")
    with pytest.raises(UsageError, match="is not text"):
        make_plan(graph, plan=tmp_path / "plan")
    long = "; ".join(["ticks trades", "vwap bargains.join", *([""] * 5_000)])  # longer than the name of any file
    assert layout(make_plan(graph, fuse=long)).stages == layout(wanted).stages


def test_groups_and_degrees_by_name() -> None:
    graph = bargains()
    plan = make_plan(graph, degree={"vwap": 2, "bargains.join": 2}, fuse={"ticks": "a", "trades": "a"})
    assert plan.degrees["vwap"] == 2
    assert layout(plan).place["ticks"] == layout(plan).place["trades"] != layout(plan).place["quotes"]


@pytest.mark.parametrize(
    ("text", "degree"),
    [(None, None), ("open", "open"), ("3", 3), ("vwap=2", {"vwap": 2}), ("a=1, b.c=2", {"a": 1, "b.c": 2})],
)
def test_a_degree_on_the_command_line(text: str | None, degree: object) -> None:
    assert degree_of(text) == degree


@pytest.mark.parametrize("text", ["0", "two", "vwap=", "vwap=0", "=2,", "-1", "1.5", ""])
def test_a_wrong_degree_on_the_command_line(text: str) -> None:
    with pytest.raises(UsageError, match="--degree: invalid number of channels"):
        degree_of(text)

"""The text form of a plan: it parses back, and what cannot be read is said with its line."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.graphs import bargains, stateless
from thalweg.errors import PlanError
from thalweg.ir.plan import OPEN
from thalweg.ir.text import parse_plan, plan_as_json, plan_from_json, print_plan
from thalweg.optimize.balance import Assign
from thalweg.optimize.passes import make_plan

GOOD = """\
plan bargains buckets=2 frame_rows=64
stage 0
  pe ticks trades quotes
stage 1  # exchange: trades by symbol over 2; quotes by symbol over 2
  pe vwap bargains.join bargains.filter bargains
degree ticks=2 vwap=2 bargains.join=2
"""


def test_print_and_parse() -> None:
    graph = bargains()
    plan = parse_plan(GOOD, graph)
    assert plan == make_plan(graph, degree=2, frame_rows=64)
    assert print_plan(plan) == GOOD
    assert plan_from_json(plan_as_json(plan), graph) == plan


@pytest.mark.parametrize(
    ("degree", "table", "text"),
    [
        (2, (0, 1, 1, 0), "0110"),
        (36, tuple(range(35, -1, -1)), "zyxwvutsrqponmlkjihgfedcba9876543210"),
        (37, tuple(range(36, -1, -1)), ",".join(map(str, range(36, -1, -1)))),
    ],
)
def test_tables_print_and_parse(degree: int, table: tuple[int, ...], text: str) -> None:
    graph = bargains()
    routing = Assign({"vwap": table, "bargains.join": table})
    plan = make_plan(graph, degree=degree, buckets=len(table), routing=routing)
    assert f"assign vwap bargains.join {text}\n" in print_plan(plan)
    assert f"trades by symbol over {degree}, by its table;" in print_plan(plan)
    assert parse_plan(print_plan(plan), graph) == plan
    assert plan_from_json(json.loads(json.dumps(plan_as_json(plan))), graph) == plan
    assert plan.fingerprint != make_plan(graph, degree=degree, buckets=len(table)).fingerprint


def test_comments_and_blank_lines_do_not_count() -> None:
    graph = bargains()
    loose = "# a plan\n\n" + GOOD.replace("stage 0", "\nstage 0   # the first") + "\n   # the end\n"
    assert parse_plan(loose, graph) == parse_plan(GOOD, graph)


def test_a_plan_without_state_has_no_degrees() -> None:
    text = print_plan(make_plan(stateless()))
    assert "degree" not in text
    assert parse_plan(text, stateless()).degrees == {}


def test_degrees_may_be_open_and_keys_coarser() -> None:
    graph = bargains()
    text = GOOD.replace("=2 vwap=2 bargains.join=2", "=open vwap=open bargains.join=open")
    assert print_plan(parse_plan(text, graph)).endswith("degree ticks=open vwap=open bargains.join=open\n")
    plan = make_plan(graph, degree=OPEN, frame_rows=64)
    assert plan.is_open
    assert parse_plan(print_plan(plan), graph) == plan
    routed = replace(plan, keys={"vwap": ("symbol",)})
    assert parse_plan(print_plan(routed), graph) == routed
    assert plan_from_json(plan_as_json(routed), graph) == routed


def test_the_fingerprint_follows_the_content() -> None:
    graph = bargains()
    plan = parse_plan(GOOD, graph)
    assert plan.fingerprint == parse_plan(GOOD, graph).fingerprint
    assert plan.fingerprint != parse_plan(GOOD.replace("frame_rows=64", "frame_rows=65"), graph).fingerprint


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("plan bargains", "plan others", "line 1: this plan is for others"),
        ("buckets=2", "buckets=two", "line 1: not a number: 'two'"),
        (" frame_rows=64", "", "the header is incomplete"),
        ("plan bargains buckets=2 frame_rows=64\n", "", "the header is incomplete"),
        ("stage 1", "stage 2", "line 4: stages are numbered in order"),
        ("pe ticks", "pe tocks", "line 3: unknown operator 'tocks'"),
        ("stage 0\n", "", "line 2: cannot read this line"),
        ("  pe ticks trades quotes", "  pe", "line 3: cannot read this line"),
        ("vwap=2", "vwap", "line 6: not a number: ''"),
        ("vwap=2", "vwap=0", "line 6: a degree counts channels"),
        ("vwap=2", "vwap=-1", "line 6: not a number: '-1'"),
        ("degree ticks", "degrees ticks", "line 6: cannot read this line"),
        ("degree ticks=2 vwap=2 bargains.join=2", "assign 01", "line 6: cannot read this line"),
        ("degree ticks=2 vwap=2 bargains.join=2", "assign vwop 01", "line 6: unknown operator 'vwop'"),
        ("degree ticks=2 vwap=2 bargains.join=2", "assign vwap 0!", "line 6: not a table: '0!'"),
        ("degree ticks=2 vwap=2 bargains.join=2", "assign vwap 0,1,", "line 6: not a table: '0,1,'"),
    ],
)
def test_what_cannot_be_read(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(PlanError) as error:
        parse_plan(GOOD.replace(old, new), bargains())
    assert message in str(error.value)


def test_an_unknown_operator_gets_a_suggestion() -> None:
    with pytest.raises(PlanError) as error:
        parse_plan(GOOD.replace("quotes", "quote"), bargains())
    assert error.value.hint == "did you mean `quotes`?"
    assert error.value.found == "pe ticks trades quote"

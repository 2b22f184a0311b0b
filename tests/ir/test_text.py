"""The text form of a plan: it parses back, and what cannot be read is said with its line."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graphs import GRAPHS, bargains, stateless
from thalweg.errors import PlanError
from thalweg.ir.layout import layout
from thalweg.ir.operators import Operator, Sink
from thalweg.ir.plan import Decision, Plan
from thalweg.ir.plan_json import plan_as_json, plan_from_json
from thalweg.ir.text import parse_plan, print_decisions, print_plan
from thalweg.optimize.passes import make_plan
from thalweg.optimize.request import Held

GOOD = """\
plan bargains buckets=2 frame_rows=64
# stage 0
ticks            degree=2 group=0
trades           group=0
quotes           group=0
# stage 1: exchange trades by symbol over 2; quotes by symbol over 2
vwap             degree=2 key=symbol group=1
bargains.join    degree=2 key=symbol group=1
bargains.filter  group=1
bargains         group=1
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
    held = Held(tables={"vwap": table, "bargains.join": table})
    plan = make_plan(graph, degree=degree, buckets=len(table), held=held)
    assert print_plan(plan).count(f" table={text}\n") == 2
    assert f"trades by symbol over {degree}, by its table;" in print_plan(plan)
    assert parse_plan(print_plan(plan), graph) == plan
    assert plan_from_json(json.loads(json.dumps(plan_as_json(plan))), graph) == plan
    assert plan.fingerprint != make_plan(graph, degree=degree, buckets=len(table)).fingerprint


def test_comments_and_blank_lines_do_not_count() -> None:
    graph = bargains()
    loose = (
        "# a plan\n\n"
        + GOOD.replace("# stage 0", "\n  # the first").replace("group=1", "  group=1  # state")
        + "\n   # the end\n"
    )
    assert parse_plan(loose, graph) == parse_plan(GOOD, graph)


def test_a_plan_without_state_has_no_degrees() -> None:
    text = print_plan(make_plan(stateless()))
    assert "degree" not in text
    assert parse_plan(text, stateless()).degrees == {}


def test_degrees_may_be_open() -> None:
    graph = bargains()
    text = GOOD.replace("degree=2", "degree=open").replace("over 2", "over as many as asked for")
    plan = parse_plan(text, graph)
    assert print_plan(plan) == text
    assert plan.is_open
    assert plan == replace(make_plan(graph, degree="open", frame_rows=64), buckets=2)
    assert plan_from_json(plan_as_json(plan), graph) == plan
    assert not plan.decisions["trades"].is_open


def test_without_a_key_the_whole_key_routes() -> None:
    graph = bargains()
    assert parse_plan(GOOD.replace(" key=symbol", ""), graph) == parse_plan(GOOD, graph)


def test_a_sink_may_have_a_line() -> None:
    graph = bargains()
    assert parse_plan(GOOD + "out\n", graph) == parse_plan(GOOD, graph)
    plan = parse_plan(GOOD + "out host=h1\n", graph)
    assert plan.decisions["out"] == Decision(host="h1")
    assert parse_plan(print_plan(plan), graph) == plan


def test_the_json_form_has_the_layout() -> None:
    document = plan_as_json(parse_plan(GOOD, bargains()))
    assert [one["name"] for one in document["operators"]][-1] == "out"
    assert document["operators"][3] == {
        "name": "vwap",
        "degree": 2,
        "key": ["symbol"],
        "group": 1,
        "table": None,
        "host": None,
        "ports": [],
    }
    assert document["layout"]["stages"][1] == {
        "exchange": [0, 1],
        "pes": [["vwap", "bargains.join", "bargains.filter", "bargains"]],
    }


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Any decisions, legal or not."""
    graph = GRAPHS[draw(st.sampled_from(sorted(GRAPHS)))]()
    made = {o.name: draw(decisions(o)) for o in graph.operators}
    return Plan(graph, made, draw(st.integers(1, 9)), draw(st.integers(1, 99)))


def decisions(operator: Operator) -> st.SearchStrategy[Decision]:
    key = st.just(operator.key or ()) | st.lists(st.sampled_from("abc"), max_size=3, unique=True).map(tuple)
    rest = {
        "group": st.none() | st.integers(0, 3),
        "host": st.none() | st.sampled_from(("h1", "h-2.example", "pod/3:1", "é")),
        "ports": st.lists(st.integers(0, 3), max_size=2, unique=True).map(tuple),
    }
    table = st.lists(st.integers(0, 40), min_size=2, max_size=9).map(tuple)
    routed = st.builds(Decision, degree=st.none() | st.integers(1, 40), key=key, table=st.none() | table, **rest)
    return st.builds(Decision, **rest) | routed


@given(plans())
def test_any_plan_prints_and_parses(plan: Plan) -> None:
    assert parse_plan(print_plan(plan), plan.graph) == plan
    assert parse_plan(print_decisions(plan), plan.graph) == plan
    assert plan_from_json(json.loads(json.dumps(plan_as_json(plan))), plan.graph) == plan


@given(plans())
def test_any_plan_has_a_layout(plan: Plan) -> None:
    """Each operator that is not a sink is in one PE, in declaration order, not before what feeds it; sources are in the
    first; every exchange is needed by the first PE after it."""
    made, graph = layout(plan), plan.graph
    names = [name for pe in made.pes.values() for name in pe.operators]
    assert sorted(names) == sorted(o.name for o in graph.operators if not isinstance(o, Sink))
    for pe in made.pes.values():
        assert list(pe.operators) == sorted(pe.operators, key=graph.declared.__getitem__)
    for operator in graph.operators:
        assert all(made.place[stream.operator] <= made.place[operator.name] for stream in operator.inputs)
        if plan.is_routed(operator) and not isinstance(operator, Sink):
            assert made.place[operator.name].stage > 0
            assert made.place[operator.name].number == 0
    assert all(made.place[entry.name] == (0, 0) for entry in graph.entries)
    for stage in made.stages[1:]:
        assert any(plan.is_routed(graph.by_name[name]) for name in stage.pes[0].operators)
    assert layout(plan) is made


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
        (" frame_rows=64", "", "line 1: the header has no frame_rows"),
        (" frame_rows=64", " frame_rows=64 rows=2", "line 1: unknown field 'rows' in the header"),
        (" frame_rows=64", " frame_rows=64 buckets=4", "line 1: buckets is given twice"),
        ("key=symbol", "key=symbol,symbol", "line 7: an attribute is named twice"),
        ("plan bargains buckets=2 frame_rows=64\n", "", "line 2: a plan must begin with its header"),
        (GOOD, "# nothing\n", "the plan is empty"),
        ("ticks ", "tocks ", "line 3: unknown operator 'tocks'"),
        ("quotes           group=0\n", "", "the plan has no line for quotes"),
        ("trades           group=0", "ticks group=0", "line 4: duplicate line for ticks"),
        ("vwap             degree=2", "vwap degree=", "line 7: not a number: ''"),
        ("vwap             degree=2", "vwap degree=0", "line 7: a degree must be a number of channels"),
        ("vwap             degree=2", "vwap degree=-1", "line 7: not a number: '-1'"),
        ("vwap             degree=2", "vwap degree=2 degree=3", "line 7: degree is given twice"),
        ("vwap             degree=2", "vwap", "line 7: a key or a table requires a degree"),
        ("vwap             degree=2", "vwap degree=2 grup=1", "line 7: unknown field 'grup'"),
        ("vwap             degree=2", "vwap degree=2 table=0!", "line 7: not a table: '0!'"),
        ("vwap             degree=2", "vwap degree=2 table=0,1,", "line 7: not a table: '0,1,'"),
        ("key=symbol", "key=symbol,", "line 7: an attribute name is empty"),
        ("bargains.filter  group=1", "bargains.filter  host=", "line 9: the host name is empty"),
        ("bargains.filter  group=1", "bargains.filter  ports=a", "line 9: not a number: 'a'"),
    ],
)
def test_what_cannot_be_read(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(PlanError) as error:
        parse_plan(GOOD.replace(old, new), bargains())
    assert message in str(error.value)


def test_an_unknown_operator_gets_a_suggestion() -> None:
    with pytest.raises(PlanError) as error:
        parse_plan(GOOD.replace("quotes  ", "quote  "), bargains())
    assert error.value.hint == "did you mean `quotes`?"
    assert error.value.found == "quote           group=0"


@pytest.mark.parametrize("wrong", [{"group": -1}, {"host": "a b"}, {"host": "a#b"}, {"host": ""}, {"ports": (0, 0)}])
def test_a_decision_without_a_text_form_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        Decision(**wrong)


def test_a_plan_decides_for_each_operator_of_its_graph() -> None:
    graph = bargains()
    with pytest.raises(ValueError, match="check bargains"):
        Plan(graph, {}, 1)
    with pytest.raises(ValueError, match="check nothing"):
        Plan(graph, {**parse_plan(GOOD, graph).decisions, "nothing": Decision()}, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"app": "others"}, "this plan is for others"),
        ({"buckets": None}, "not a number: 'None'"),
        ({"operators": [{"name": "tocks"}]}, "unknown operator 'tocks'"),
        ({"operators": [{"name": "vwap", "degree": -1}]}, "not a number: '-1'"),
        ({"operators": [{"name": "vwap", "colour": 1}]}, "unknown field 'colour'"),
        ({"operators": []}, "the plan has no line for ticks"),
        ({"operators": 3}, "not the JSON form of a plan"),
    ],
)
def test_a_json_document_is_checked_like_text(change: dict[str, Any], message: str) -> None:
    document = {**plan_as_json(parse_plan(GOOD, bargains())), **change}
    with pytest.raises(PlanError, match=message):
        plan_from_json(document, bargains())

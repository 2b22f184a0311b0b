"""Each rule of legality, broken once by a plan that a user gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import thalweg as tw
from tests.graphs import GRAPHS, Tick, bargains, picking, two_keys, unknown
from thalweg import agg, window
from thalweg.errors import HintError, InternalError, PlanError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import Plan
from thalweg.ir.text import parse_plan, print_plan
from thalweg.optimize import passes
from thalweg.optimize.context import Context
from thalweg.optimize.hint_legality import HINT_RULES
from thalweg.optimize.legality import RULES, verify
from thalweg.optimize.passes import Pass, make_plan, run_passes

PLAN = """\
plan bargains buckets=2 frame_rows=64
ticks degree=2 group=0
trades group=0
quotes group=0
vwap degree=2 group=1
bargains.join degree=2 group=1
bargains.filter group=1
bargains group=1
"""
ALONE = PLAN.replace(" group=1", "")

BROKEN: list[tuple[str, str, str, str]] = [
    ("state_is_routed", "bargains.join degree=2", "bargains.join", "bargains.join keeps state but has no degree"),
    ("state_is_routed", "vwap degree=2", "vwap degree=2 key=price", "vwap is routed by price, which is not a part"),
    ("routes_can_be", "bargains group=1\n", "bargains group=1\nout degree=1\n", "the sink out has a degree"),
    ("routes_can_be", "ticks degree=2", "ticks degree=2 key=symbol", "ticks is routed by symbol, which its tuples do"),
    ("routes_can_be", "bargains group=1", "bargains degree=2 key=nothing", "bargains is routed by nothing, which its"),
    ("numbers_fit", "buckets=2", "buckets=1", "1 buckets are too few for 2 channels"),
    ("numbers_fit", "frame_rows=64", "frame_rows=0", "frames need at least one row"),
    ("tables_fit", "trades group=0", "trades degree=2 table=01", "trades has a table, but no state with a key"),
    ("tables_fit", "vwap degree=2", "vwap degree=2 table=011", "has 3 buckets, but the plan has 2"),
    ("tables_fit", "vwap degree=2", "vwap degree=2 table=02", "names the channel 2, but its degree is 2"),
    ("tables_fit", "vwap degree=2", "vwap degree=open table=01", "vwap has a table, but its degree is open"),
    ("engines_can_run_it", "trades group=0", "trades group=0 host=h1", "no engine can place trades on a host"),
    ("engines_can_run_it", "trades group=0", "trades group=0 ports=0", "runs threaded ports, like those of trades"),
    ("groups_are_pes", "bargains.join degree=2 group=1", "bargains.join degree=2", "vwap and bargains.filter are in"),
    ("groups_are_pes", "trades group=0", "trades group=1", "trades and vwap are in group 1 but cannot share a PE"),
    ("groups_are_pes", "bargains group=1\n", "bargains group=1\nout group=1\n", "the sink out has a group"),
    (
        "routes_are_kept",
        "vwap degree=2",
        "vwap degree=2 table=11",
        "bargains.join needs by symbol over 2, but vwap is partitioned by symbol over 2, by its table",
    ),
    (
        "routes_are_kept",
        "bargains.join degree=2",
        "bargains.join degree=1",
        "bargains.join needs to channel 0, but vwap is partitioned by symbol over 2",
    ),
]


@pytest.mark.parametrize(("rule", "old", "new", "reason"), BROKEN)
def test_each_rule_broken_once(rule: str, old: str, new: str, reason: str) -> None:
    assert old in PLAN
    text = PLAN.replace(old, new)
    (check,) = (f for f in RULES if f.__name__ == rule)
    verdict = check(parse_plan(text, bargains()))
    assert not verdict.ok
    assert reason in verdict.reason
    with pytest.raises(PlanError, match="illegal plan") as error:
        make_plan(bargains(), plan=text)
    assert error.value.expected
    assert error.value.where is not None or rule == "numbers_fit"


def test_one_state_for_all_tuples_has_degree_1() -> None:
    text = print_plan(make_plan(two_keys(), degree=2)).replace("total       degree=1", "total degree=2")
    with pytest.raises(PlanError, match="total keeps one state for all tuples and has degree 2"):
        make_plan(two_keys(), plan=text)
    with pytest.raises(PlanError, match="total keeps one state for all tuples and has an open degree"):
        make_plan(two_keys(), plan=text.replace("total degree=2", "total degree=open"))


def test_what_may_keep_state_runs_in_one_channel() -> None:
    (check,) = (f for f in RULES if f.__name__ == "unknown_state_is_in_one_channel")
    for degree in (1, 2):
        plan = make_plan(unknown(), degree=degree)
        assert check(plan).ok
        text = print_plan(plan)
        for name in ("numbers", "odd"):
            text = text.replace(f"{name:<7}  degree=1", name)
        assert "odd may keep state" in check(parse_plan(text, unknown())).reason
        with pytest.raises(PlanError, match="odd may keep state"):
            make_plan(unknown(), plan=text)


def hinted() -> LogicalGraph:
    app = tw.App("hinted")
    ticks = app.source(tw.files("ticks"), Tick)
    one = ticks.filter(lambda t: t.price > 0, name="one").isolate()
    two = one.filter(lambda t: t.volume > 0, name="two").sequential()
    three = two.filter(lambda t: t.volume > 1, name="three").fuse_with(two)
    four = three.aggregate(window.running(by="symbol"), name="four", n=agg.count()).parallel(degree=2)
    four.sink(tw.collect(), name="out")
    return app.graph()


HINTED = """\
plan hinted buckets=4 frame_rows=64
ticks degree=1
one
two group=1
three group=1
four degree=2
"""


@pytest.mark.parametrize(
    ("rule", "old", "new", "error"),
    [
        (
            "isolate_is_kept",
            "one\ntwo group=1\nthree group=1",
            "one group=1\ntwo group=1\nthree group=1",
            {
                "message": "one cannot have a PE of its own",
                "operator": "one",
                "expected": "a PE of its own, because of .isolate()",
                "found": "its PE is one two three",
                "hint": "all sources share the first PE; another operator has its own PE if it is in no group",
            },
        ),
        (
            "fuse_with_is_kept",
            "two group=1\n",
            "two\n",
            {"message": "three and two cannot share a PE", "found": "three in PE 0.3, two in PE 0.2"},
        ),
        (
            "sequential_is_kept",
            "ticks degree=1",
            "ticks degree=4",
            {
                "message": "two runs in several channels",
                "expected": "one channel, because of .sequential()",
                "found": "stay",
            },
        ),
        (
            "asked_degree_is_kept",
            "four degree=2",
            "four degree=3",
            {"message": "four has a different degree than the application requests", "expected": "degree=2"},
        ),
    ],
)
def test_hints_hold_in_a_given_plan(rule: str, old: str, new: str, error: dict[str, Any]) -> None:
    graph = hinted()
    assert make_plan(graph, plan=HINTED) == parse_plan(HINTED, graph)
    assert old in HINTED
    text = HINTED.replace(old, new)
    assert [f.__name__ for f in HINT_RULES if not f(parse_plan(text, graph)).ok] == [rule]
    with pytest.raises(HintError) as raised:
        make_plan(graph, plan=text)
    assert {name: getattr(raised.value, name) for name in error} == error
    assert raised.value.where is not None
    assert raised.value.where.file == __file__


def test_a_requested_degree_holds_against_degrees_by_name() -> None:
    assert make_plan(hinted(), degree={}).decisions["four"].degree == 2
    with pytest.raises(HintError, match="four has a different degree"):
        make_plan(hinted(), degree={"four": 3})


def routed_hints(*, degree: int | None = None, key: str | None = None) -> LogicalGraph:
    app = tw.App("routed")
    ticks = app.source(tw.files("ticks"), Tick)
    sums = ticks.aggregate(
        window.running(by="symbol"), name="sums", symbol=agg.any("symbol"), volume=agg.sum("volume"), n=agg.count()
    )
    sums.map(lambda t: {"symbol": t.symbol, "n": t.n * t.volume}, name="scaled").parallel(degree=degree, key=key).sink(
        tw.collect(), name="out"
    )
    return app.graph()


ROUTED = """\
plan routed buckets=4 frame_rows=64
ticks degree=2
sums degree=2 group=1
scaled group=1
"""


def test_a_requested_degree_holds_where_tuples_stay() -> None:
    with pytest.raises(HintError, match="scaled has a different degree than the application requests") as raised:
        make_plan(routed_hints(degree=3), plan=ROUTED)
    assert (raised.value.expected, raised.value.found) == ("degree=3", "degree=2")
    assert make_plan(routed_hints(degree=2), plan=ROUTED).channels == 2
    for graph in (routed_hints(degree=3), routed_hints(degree=3, key="symbol")):
        for degree in (1, 2, 3):
            assert make_plan(graph, degree=degree).channels == 3


def test_a_requested_key_holds() -> None:
    text = ROUTED.replace("scaled group=1", "scaled degree=2 key=symbol")
    assert make_plan(routed_hints(key="symbol"), plan=text).decisions["scaled"].key == ("symbol",)
    with pytest.raises(HintError, match="by a different key than the application requests") as raised:
        make_plan(routed_hints(key="n"), plan=text)
    assert (raised.value.expected, raised.value.found) == ("key=n", "key=symbol")


def test_every_rule_is_broken_above() -> None:
    assert {f.__name__ for f in RULES} == {*(name for name, *_ in BROKEN), "unknown_state_is_in_one_channel"}
    assert all(f.__doc__ for f in (*RULES, *HINT_RULES))


@pytest.mark.parametrize("name", GRAPHS)
def test_made_plans_are_legal(name: str) -> None:
    graph = GRAPHS[name]()
    for fuse in ("all", "none"):
        plan = make_plan(graph, degree=3, fuse=fuse, buckets=5)
        assert verify(plan) is plan


def test_a_group_may_go_with_its_exchange() -> None:
    """One channel needs no exchange before `picked`, so it is no longer next to the state that it shared a PE with."""
    graph = picking()
    text = print_plan(make_plan(graph, degree="open"))
    assert text.count("group=1") == 2
    assert make_plan(graph, plan=text, degree=3) == make_plan(graph, degree=3)
    closed = make_plan(graph, plan=text)
    assert {name: decision.group for name, decision in closed.decisions.items()} == dict.fromkeys(graph.by_name)


class _Failing:
    name = "failing"

    def run(self, plan: Plan, context: Context) -> Plan:
        raise ZeroDivisionError("by hand")


class _Spoiling:
    name = "spoiling"

    def run(self, plan: Plan, context: Context) -> Plan:
        return plan.decide({"vwap": replace(plan.decisions["vwap"], degree=2)})


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (_Failing(), "the pass failing failed: ZeroDivisionError('by hand')"),
        (_Spoiling(), "the pass spoiling produced an illegal plan: 1 buckets are too few for 2 channels"),
    ],
)
def test_the_driver_names_the_pass_that_failed(one: Pass, message: str) -> None:
    graph = bargains()
    with pytest.raises(InternalError) as error:
        run_passes(passes.one_by_one(graph, 64), (one,), Context(graph.analyses))
    assert error.value.message == message


def test_a_users_error_names_the_pass_too() -> None:
    with pytest.raises(PlanError) as error:
        make_plan(bargains(), degree=4, buckets=2)
    assert error.value.__notes__ == ["raised by the pass choose_degrees"]

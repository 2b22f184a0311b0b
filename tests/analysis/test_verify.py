"""Each invariant of a plan, broken once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.graphs import GRAPHS, bargains, two_keys, unknown
from thalweg.analysis.verify import INVARIANTS, verify
from thalweg.errors import PlanError
from thalweg.ir.text import parse_plan
from thalweg.optimize.fuse import groups_of, line_up
from thalweg.optimize.passes import make_plan

HEADER = "plan bargains buckets=2 frame_rows=64\n"
STAGE_0 = "stage 0\n  pe ticks trades quotes\n"
STAGE_1 = "stage 1\n  pe vwap bargains.join bargains.filter bargains\n"
DEGREES = "degree vwap=2 bargains.join=2\n"

BROKEN: list[tuple[str, str, str]] = [
    (
        "every_operator_once",
        HEADER + "stage 0\n  pe ticks trades\n" + STAGE_1 + DEGREES,
        "quotes stands in 0 PEs",
    ),
    (
        "every_operator_once",
        HEADER + STAGE_0 + "  pe trades\n" + STAGE_1 + DEGREES,
        "trades stands in 2 PEs",
    ),
    (
        "every_operator_once",
        HEADER + "stage 0\n  pe ticks trades quotes out\n" + STAGE_1 + DEGREES,
        "out stands in 1 PEs",
    ),
    (
        "degrees_are_allowed",
        HEADER + STAGE_0 + STAGE_1 + "degree vwap=2\n",
        "bargains.join keeps state and has no degree",
    ),
    ("degrees_are_allowed", HEADER + STAGE_0 + STAGE_1 + DEGREES + "key vwap=price\n", "which is no part of its key"),
    ("degrees_are_allowed", HEADER + STAGE_0 + STAGE_1 + "degree vwap=3 bargains.join=3\n", "too few for 3 channels"),
    (
        "degrees_are_allowed",
        HEADER.replace("frame_rows=64", "frame_rows=0") + STAGE_0 + STAGE_1 + DEGREES,
        "at least one row",
    ),
    ("tables_fit", HEADER + STAGE_0 + STAGE_1 + DEGREES + "assign trades 01\n", "trades has a table, and no state"),
    ("tables_fit", HEADER + STAGE_0 + STAGE_1 + DEGREES + "assign vwap 011\n", "has 3 buckets, and the plan 2"),
    ("tables_fit", HEADER + STAGE_0 + STAGE_1 + DEGREES + "assign vwap 02\n", "channel 2, and its degree is 2"),
    (
        "routes_are_kept",
        HEADER + STAGE_0 + STAGE_1 + DEGREES + "assign vwap 11\n",
        "bargains.join needs by symbol over 2, but vwap is partitioned by symbol over 2, by its table",
    ),
    (
        "tuples_flow_forward",
        HEADER + STAGE_0 + "stage 1\n  pe vwap bargains.filter bargains\nstage 2\n  pe bargains.join\n" + DEGREES,
        "bargains.filter stands before bargains.join",
    ),
    (
        "tuples_flow_forward",
        HEADER + "stage 0\n  pe ticks quotes trades\n" + STAGE_1 + DEGREES,
        "not in declaration order",
    ),
    (
        "sources_start_the_line",
        HEADER + "stage 0\n  pe trades quotes\n  pe ticks\n" + STAGE_1 + DEGREES,
        "source ticks does not stand in the first PE of stage 0",
    ),
    (
        "routes_start_stages",
        HEADER + STAGE_0 + "stage 1\n  pe vwap\n  pe bargains.join bargains.filter bargains\n" + DEGREES,
        "bargains.join does not stand in the first PE",
    ),
    (
        "routes_start_stages",
        HEADER + "stage 0\n  pe ticks trades\nstage 1\n  pe quotes\n" + STAGE_1.replace("stage 1", "stage 2") + DEGREES,
        "nobody in the first PE of stage 1 needs the exchange",
    ),
    (
        "routes_are_kept",
        HEADER + STAGE_0 + STAGE_1 + "degree vwap=2 bargains.join=1\n",
        "bargains.join needs to channel 0, but vwap is partitioned by symbol over 2",
    ),
]


@pytest.mark.parametrize(("invariant", "text", "problem"), BROKEN)
def test_each_invariant_broken_once(invariant: str, text: str, problem: str) -> None:
    plan = parse_plan(text, bargains())
    (check,) = (f for f in INVARIANTS if f.__name__ == invariant)
    assert any(problem in found for found in check(plan))
    with pytest.raises(PlanError, match="illegal plan"):
        verify(plan)


def test_one_state_for_all_tuples_has_degree_1() -> None:
    graph = two_keys()
    plan = replace(make_plan(graph), degrees={"per_symbol": 1, "per_kind": 1, "total": 2}, buckets=2)
    with pytest.raises(PlanError, match="total keeps one state for all tuples and has degree 2"):
        verify(plan)


def test_an_error_names_the_invariant_in_words() -> None:
    with pytest.raises(PlanError) as error:
        verify(parse_plan(BROKEN[0][1], bargains()))
    assert error.value.expected == "Each operator that is not a sink stands in exactly one PE."


def test_what_may_keep_state_runs_in_one_channel() -> None:
    graph = unknown()
    (check,) = (f for f in INVARIANTS if f.__name__ == "unknown_state_is_in_one_channel")
    for degree in (1, 2):
        plan = make_plan(graph, degree=degree)
        assert not list(check(plan))
        spread = replace(plan, degrees={k: d for k, d in plan.degrees.items() if k not in ("numbers", "odd")})
        assert ["odd may keep state" in found for found in check(line_up(spread, groups_of(spread)))] == [True]


def test_every_invariant_is_broken_above() -> None:
    assert {f.__name__ for f in INVARIANTS} == {*(name for name, _, _ in BROKEN), "unknown_state_is_in_one_channel"}
    assert all(f.__doc__ for f in INVARIANTS)


@pytest.mark.parametrize("name", GRAPHS)
def test_made_plans_are_legal(name: str) -> None:
    graph = GRAPHS[name]()
    for fuse in ("all", "none"):
        plan = make_plan(graph, degree=3, fuse=fuse, buckets=5)
        assert verify(plan) is plan

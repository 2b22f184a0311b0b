"""The promise: the plan never changes the answer. Random graphs × logs × plans, against the reference, bit for bit.

The first test has `CASES` of tests/amount.py; the others take a fifth of it each.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, example, given, note, settings

from tests.amount import CASES, EXPLORE, share
from tests.properties.check import count_difference, difference, prepared, run_local, run_reference
from tests.properties.coverage import MUST_BE_SEEN, assert_reached, count_case, seen, watch
from tests.properties.edits import Edit, edited, edits
from tests.properties.looped import late_value
from tests.properties.strategies import Case, Node, PlanChoice, cases
from thalweg.errors import PlanError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import Plan
from thalweg.ir.plan_json import plan_as_json, plan_from_json
from thalweg.ir.text import parse_plan, print_plan
from thalweg.optimize.passes import make_plan

SETTINGS = settings(
    deadline=None,
    derandomize=not EXPLORE,
    database=None,
    print_blob=True,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
_COUNTS = (
    ("i", "count"),
    ("n", "count"),
    ("x", "sum_x"),
    ("y", "ratio"),
    ("s", "any_k"),
    ("k", "any_k"),
    ("b", "any_b"),
)
# A union whose wider input reaches only one of two channels: the other channel's order keys must be as wide.
NARROW_UNION = Case(
    nodes=(
        Node("source", (), ()),
        Node("map", (0,), ("copy",)),
        Node("map", (1,), ("copy",)),
        Node("aggregate", (1,), (0, 1, ("k",), _COUNTS)),
        Node("union", (3, 0), ()),
        Node("aggregate", (4,), (0, 1, ("k",), _COUNTS)),
        Node("map", (4,), ("copy",)),
        Node("aggregate", (4,), (0, 1, (), _COUNTS)),
        Node("union", (7, 6), ()),
    ),
    inputs=((((0, 0, 0.5, 0.5, "", "a", False),),),),
    max_tuples=1_000_000,
    choice=PlanChoice(fusion="all", degrees=(2,), more_buckets=1, frame_rows=262144, through_bytes=False),
)


@pytest.fixture(scope="module", autouse=True)
def _watched() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        watch(patch)
        yield


@settings(SETTINGS, max_examples=CASES)
@example(NARROW_UNION)
@given(cases())
def test_the_plan_never_changes_the_answer(case: Case) -> None:
    with prepared(case) as ready:
        expected = run_reference(ready.graph, ready.epochs)
        found = ready.run()
        count_case("plan invariance", ready, expected)
        note(ready.describe())
        assert difference(expected, found, ready.plan.graph) is None
        assert count_difference(ready.graph, expected, found) is None
        assert late_value(expected.answer) is None
        plan = ready.plan_with_ports
        assert parse_plan(print_plan(plan), plan.graph) == plan
        assert plan_from_json(plan_as_json(plan), plan.graph) == plan


@settings(SETTINGS, max_examples=share(5) * 2)
@given(cases(), edits())
def test_decisions_of_ones_own_are_refused_or_change_nothing(case: Case, changes: tuple[Edit, ...]) -> None:
    """A plan as a user may write it: refused with a reason, or run with the reference's answer."""
    with prepared(case) as ready:
        wanted = edited(ready.plan, changes)
        text, graph = print_plan(wanted), ready.plan.graph
        note(f"{ready.describe()}\n\nedited:\n{text}")
        plan = _given(graph, text)
        if isinstance(plan, PlanError):
            seen["refused plans"] += 1
            assert plan.expected
            assert plan.where is not None or "buckets are too few" in plan.message
            return
        assert plan == wanted
        seen["plans by hand"] += plan != ready.plan
        expected = run_reference(ready.graph, ready.epochs)
        found = run_local(plan, ready.epochs, through_bytes=case.choice.through_bytes)
        assert difference(expected, found, graph) is None
        assert count_difference(ready.graph, expected, found) is None


def _given(graph: LogicalGraph, text: str) -> Plan | PlanError:
    try:
        return make_plan(graph, plan=text)
    except PlanError as error:
        return error


@settings(SETTINGS, max_examples=share(5))
@given(cases(max_sources=1))
def test_with_one_source_the_cuts_do_not_matter(case: Case) -> None:
    """One totally ordered source: however the log is cut into epochs, the answer is the same."""
    with prepared(case) as ready:
        if ready.graph.loops:
            return  # what is fed back comes in the next epoch, wherever that begins
        expected = run_reference(ready.graph, ready.epochs)
        count_case("cut invariance", ready, expected)
        note(ready.describe())
        for max_tuples in (1_000_000, case.max_tuples % 5 + 2):
            epochs = case.epochs(ready.graph, ready.folder, max_tuples)
            found = ready.run(epochs)
            assert difference(expected, found, ready.plan.graph) is None, f"cut at {max_tuples}"
            assert difference(expected, run_reference(ready.graph, epochs)) is None, f"reference, cut at {max_tuples}"


@settings(SETTINGS, max_examples=share(5))
@given(cases(failing=True))
def test_the_reported_error_is_the_references(case: Case) -> None:
    """Same operator, same tuple, same message; sinks hold the reference's output up to the last whole epoch."""
    with prepared(case) as ready:
        expected = run_reference(ready.graph, ready.epochs)
        found = ready.run()
        count_case("errors", ready, expected)
        note(ready.describe())
        assert difference(expected, found, ready.plan.graph) is None
        assert count_difference(ready.graph, expected, found) is None


def test_the_cases_reached_everything() -> None:
    """Runs last: a strategy that no longer reaches a path would make the tests above blind."""
    ran = seen["cases of plan invariance"] >= 1000 and seen["cases of cut invariance"] and seen["cases of errors"]
    assert_reached(MUST_BE_SEEN, seen, enough=bool(ran))

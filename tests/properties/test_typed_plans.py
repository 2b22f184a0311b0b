"""The promise for all attribute types: as payload through every operator, as keys, in folds and in joins.

These tests take a half and a fifth of the cases of the plan-invariance test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, note, settings

from tests.amount import share
from tests.properties.check import count_difference, difference, prepared, run_reference
from tests.properties.coverage import assert_reached, count_case, seen, watch
from tests.properties.test_plan_invariance import SETTINGS
from tests.properties.typed_cases import TypedCase, typed_cases

MUST_BE_SEEN = (
    *(f"operator {k}" for k in ("source", "map", "filter", "flatmap", "mapbatches", "split", "union")),
    *(f"operator {k}" for k in ("aggregate", "join", "dedup", "sink")),
    *(f"fold {k}" for k in ("count", "sum", "min", "max", "first", "last", "any")),
    *(f"key {k}" for k in ("", "str | None", "int | None", "datetime", "date | None", "Decimal", "bytes", "Spot")),
    *(
        f"key {k}"
        for k in ("list[int | None]", "str | None int", "Decimal datetime Spot", "date | None list[int | None]")
    ),
    *(
        "kernel window Sliding",
        "kernel window Running",
        "kernel window Tumbling",
        "aggregate skip",
        "kernel",
        "row path",
        "aggregate kernel",
        "aggregate fallback",
    ),
    *("window SlidingTime", "late tuples", "shared panes out of order"),
    *("event time of several sources", "an operator between a union and event_time", "a chained window by time"),
    *(f"fold {k} in shared panes in Python" for k in ("first", "last", "any", "sum", "count", "min", "max")),
    *(f"fold {k} in shared panes in columns" for k in ("first", "last", "any", "sum", "count")),
    *(f"bound with zone {zone}" for zone in (None, "UTC", "UTC+01:00", "UTC+02:00")),
    *("two sources", "two sinks", "two PEs in a stage", "several epochs", "tuples in a sink", "through bytes"),
    *("two stateful stages", "two stateful operators in one stage", "degree 2 or more"),
    *("error", "error after a whole epoch", "failed tuple"),
)
_before: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def _watched() -> Iterator[None]:
    _before.update(seen)
    with pytest.MonkeyPatch.context() as patch:
        watch(patch)
        yield


@settings(SETTINGS, max_examples=share(2))
@given(typed_cases())
def test_the_plan_never_changes_the_answer(case: TypedCase) -> None:
    _check(case, "typed plans")


@settings(SETTINGS, max_examples=share(5))
@given(typed_cases(failing=True))
def test_the_reported_error_is_the_references(case: TypedCase) -> None:
    _check(case, "typed errors")


def _check(case: TypedCase, test: str) -> None:
    with prepared(case) as ready:
        expected = run_reference(ready.graph, ready.epochs)
        found = ready.run()
        count_case(test, ready, expected)
        note(ready.describe())
        assert difference(expected, found, ready.plan.graph) is None
        assert count_difference(ready.graph, expected, found) is None


def test_the_cases_reached_everything() -> None:
    """Runs last: a strategy that no longer reaches a path would make the tests above blind."""
    reached = seen - _before
    ran = reached["cases of typed plans"] >= 500 and reached["cases of typed errors"]
    assert_reached(MUST_BE_SEEN, reached, enough=bool(ran))

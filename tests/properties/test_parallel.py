"""The parallel engine gives the reference's answer, in whatever order its channels hear of each other.

Hundreds of cases run with workers that are driven in one process, in random order; some dozens with real processes.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from tests.amount import share
from tests.properties.check import Outcome, Prepared, count_difference, difference, prepared, run_engine, run_reference
from tests.properties.coverage import count_case
from tests.properties.interleaved import Interleaved
from tests.properties.strategies import Case, Node, PlanChoice, cases
from tests.properties.test_plan_invariance import SETTINGS
from thalweg.engine.local.parallel import ParallelEngine, ParallelOptions
from thalweg.engine.local.pool import Pool

pytestmark = pytest.mark.slow

DEGREES = 8

options = st.builds(ParallelOptions, st.sampled_from((1, 2, 3, 5, 16, 100)), st.sampled_from((1, 1, 2, 4)))


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    made = Pool(DEGREES)
    yield made
    made.close()


def compare(ready: Prepared, expected: Outcome, found: Outcome) -> None:
    note(ready.describe())
    assert difference(expected, found, ready.plan.graph) is None
    assert count_difference(ready.graph, expected, found) is None


_NAMES = ("min_n", "count", "min_x", "key_y", "min_s", "min_s", "first_b")
_WITH_KEY = tuple(zip("inxyskb", _NAMES, strict=True))
# The first outputs of these splits end in `tw.none()`, which takes the tuples of both channels as they come.
UNSEEN_ORDER = Case(
    nodes=(
        Node("source", (), ()),
        Node("aggregate", (0,), (0, 1, ("y",), _WITH_KEY)),
        Node("looped", (1,), ("split", (1, 3))),
    ),
    inputs=((((0, 0, 0.5, 0.2, "", "a", False), (0, 0, 0.5, 0.5, "", "a", False)),),),
    max_tuples=1_000_000,
    choice=PlanChoice(fusion="all", degrees=(2,), more_buckets=1, frame_rows=262144, through_bytes=False),
)


@settings(SETTINGS, max_examples=share(10))
@example(UNSEEN_ORDER, ParallelOptions(1, 1), 0)
@given(cases(), options, st.integers(0, 2**32))
def test_any_order_of_arrival(case: Case, chosen: ParallelOptions, seed: int) -> None:
    with prepared(case) as ready:
        expected = run_reference(ready.graph, ready.epochs)
        workers = Interleaved(seed, through_bytes=case.choice.through_bytes)
        engine = ParallelEngine(ready.plan_with_ports, workers=workers, options=chosen)
        count_case("parallel, any order of arrival", ready, expected)
        compare(ready, expected, run_engine(engine, ready.epochs))


@settings(SETTINGS, max_examples=share(30))
@given(cases(failing=True), options, st.integers(0, 2**32))
def test_failures_in_any_order(case: Case, chosen: ParallelOptions, seed: int) -> None:
    with prepared(case) as ready:
        expected = run_reference(ready.graph, ready.epochs)
        engine = ParallelEngine(ready.plan_with_ports, workers=Interleaved(seed), options=chosen)
        count_case("parallel, errors", ready, expected)
        compare(ready, expected, run_engine(engine, ready.epochs))


@settings(SETTINGS, max_examples=share(80))
@given(cases(failing=True), options)
def test_with_processes(pool: Pool, case: Case, chosen: ParallelOptions) -> None:
    with prepared(case) as ready:
        expected = run_reference(ready.graph, ready.epochs)
        engine = ParallelEngine(ready.plan_with_ports, workers=pool, options=chosen)
        count_case("parallel, processes", ready, expected)
        compare(ready, expected, run_engine(engine, ready.epochs))
        engine.close()

"""Balance: heaviest bucket first, deterministic; operators that could share a PE still can; where it must not fire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.graphs import Tick, bargains, two_keys
from thalweg import agg, window
from thalweg.errors import PlanError
from thalweg.ir.bucket_tables import plain_table
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.layout import layout
from thalweg.ir.plan import Plan
from thalweg.ir.profile import Loads, Profile
from thalweg.optimize.balance import (
    BALANCED_BUCKETS_PER_CHANNEL,
    groups_by_key,
    heaviest,
    lighter_table,
    shares,
    spread,
)
from thalweg.optimize.passes import Step, make_plan
from thalweg.optimize.request import Held


def balanced(graph: LogicalGraph, at: Mapping[str, Sequence[int]], degree: int = 2) -> Plan:
    buckets = len(next(iter(at.values())))
    loads = Loads(buckets, 100, {name: tuple(load) for name, load in at.items()})
    return make_plan(graph, degree=degree, buckets=buckets, balance=True, profile=Profile(loads))


@pytest.mark.parametrize(
    ("loads", "degree", "table"),
    [
        ((5, 3, 4, 0), 2, (0, 1, 1, 1)),  # the example of the docstring
        ((1, 2, 9, 3, 4, 5), 2, (1, 1, 0, 0, 1, 1)),  # 9, then 5 4, then 3 where both have 9
        ((7, 7, 7, 7), 2, (0, 1, 0, 1)),  # equal buckets by their number, equal channels by theirs
        ((4, 4, 4), 3, (0, 1, 2)),
        ((9, 0, 0, 0, 0, 1), 2, (0, 1, 0, 1, 0, 1)),  # buckets without a tuple stay where they were
        ((0, 0), 2, (0, 1)),
    ],
)
def test_the_heaviest_first(loads: tuple[int, ...], degree: int, table: tuple[int, ...]) -> None:
    assert spread(loads, degree) == table


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(2, 5))
def test_no_channel_is_heavier_than_the_even_share_and_one_bucket(loads: list[int], degree: int) -> None:
    table = spread(loads, degree)
    assert len(table) == len(loads)
    assert set(table) <= set(range(degree))
    assert heaviest(loads, table) <= sum(loads) / degree + max(loads)


def test_it_does_not_fire_where_nothing_gets_lighter() -> None:
    assert lighter_table((3, 3, 3, 3), 2) is None
    assert lighter_table((9, 1, 0, 0), 2) is None
    assert lighter_table((0, 0, 0, 0), 2) is None
    steps: list[Step] = []
    loads = Loads(2, 10, {"vwap": (9, 1), "bargains.join": (9, 1)})
    assert not make_plan(bargains(), degree=2, balance=True, profile=Profile(loads), observe=steps.append).tables
    assert [(s.name, s.changed) for s in steps[1:]] == [
        ("parallelize", True),
        ("choose_degrees", True),
        ("balance", False),
        ("fuse", True),
    ]


def test_skewed_keys_spread() -> None:
    """Keys by Zipf's law, in the order of their hashes: the heaviest channel comes down to the heaviest key."""
    keys = 1000
    weights = [round(1_000_000 / rank) for rank in range(1, keys + 1)]
    for degree in (2, 4, 8):
        buckets = BALANCED_BUCKETS_PER_CHANNEL * degree
        loads = [0] * buckets
        for rank, weight in enumerate(weights):
            loads[rank * 2_654_435_761 % 2**32 % buckets] += weight
        before, after = (heaviest(loads, t) / sum(loads) for t in (plain_table(buckets, degree), spread(loads, degree)))
        assert after < before
        assert after <= 1.01 * max(1 / degree, max(loads) / sum(loads))


def test_the_same_key_of_the_same_stream_gets_one_table() -> None:
    """vwap's loads alone would give another table than the join's: the sum decides, and they stay in one PE."""
    plan = balanced(bargains(), {"vwap": (1, 1, 1, 5), "bargains.join": (9, 1, 9, 0)})
    assert plan.tables == dict.fromkeys(("vwap", "bargains.join"), (0, 1, 1, 0))
    assert {spread((1, 1, 1, 5), 2), spread((9, 1, 9, 0), 2)} == {(1, 1, 1, 0), (0, 0, 1, 1)}
    assert [" ".join(pe.operators) for pe in layout(plan).stages[1].pes] == [
        "vwap bargains.join bargains.filter bargains"
    ]
    assert len(layout(plan).stages) == 2


def test_operators_with_other_keys_get_tables_of_their_own() -> None:
    plan = balanced(two_keys(), {"per_symbol": (5, 0, 5, 0), "per_kind": (0, 7, 1, 7)})
    assert plan.tables == {"per_symbol": (0, 1, 1, 1), "per_kind": (0, 0, 0, 1)}
    assert plan.degrees["total"] == 1


def test_a_different_degree_separates_and_a_changed_key_separates() -> None:
    app = tw.App("apart")
    ticks = app.source(tw.files("ticks"), Tick)
    first = ticks.aggregate(window.running(by="symbol"), name="first", symbol=agg.any("symbol"), n=agg.count())
    first.aggregate(window.running(by="symbol"), name="after", n=agg.max("n")).sink(tw.none())
    renamed = ticks.map(lambda t: {"symbol": t.symbol + "!", "volume": t.volume})
    renamed.aggregate(window.running(by="symbol"), name="other", n=agg.sum("volume")).sink(tw.none())
    graph = app.graph()
    assert groups_by_key(make_plan(graph, degree=2)) == [["first", "after"], ["other"]]
    degrees = {"first": 2, "after": 3, "other": 1}
    assert groups_by_key(make_plan(graph, degree=degrees, buckets=4)) == [["first"], ["after"]]


def test_what_the_heaviest_channel_gets() -> None:
    plan = balanced(bargains(), {"vwap": (4, 0, 4, 0), "bargains.join": (6, 2, 0, 0)})
    loads = Loads(4, 16, {"vwap": (4, 0, 4, 0), "bargains.join": (6, 2, 0, 0)})
    assert plan.tables["vwap"] == (0, 1, 1, 1)
    assert [(s.operator, s.tuples, s.before, s.after) for s in shares(plan, loads)] == [
        ("vwap", 8, 1.0, 0.5),
        ("bargains.join", 8, 0.75, 0.75),
    ]


def test_tables_that_do_not_fit_are_left_out() -> None:
    tables = {"vwap": (0, 1, 1), "bargains.join": (0, 2), "trades": (0, 1), "gone": (0, 1)}
    assert not make_plan(bargains(), degree=2, held=Held(tables=tables)).tables


def test_other_tables_need_an_exchange() -> None:
    """The aggregate's output is on the channels of its own table, not on those of the join's."""
    plan = make_plan(bargains(), degree=2, held=Held(tables={"vwap": (1, 0)}))
    assert [stage.pes[0].operators[0] for stage in layout(plan).stages] == ["ticks", "vwap", "bargains.join"]


def test_loads_of_other_buckets_are_refused() -> None:
    with pytest.raises(PlanError, match="a different number of buckets"):
        make_plan(bargains(), degree=2, buckets=3, balance=True, profile=Profile(Loads(2, 1, {})))

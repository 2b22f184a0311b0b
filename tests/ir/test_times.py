"""Times as integers, also of datetimes at the ends of what Python can say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

import thalweg as tw
from tests.values import BERLIN, EAST, VALUES
from thalweg import agg, testing, window
from thalweg.ir.times import from_time, to_time
from thalweg.ir.types import DATETIME, INT

WEST = timezone(timedelta(hours=-12))


@pytest.mark.parametrize("value", VALUES[DATETIME], ids=str)
def test_a_time_is_the_instant(value: datetime) -> None:
    plain = value.replace(tzinfo=None)
    assert to_time(value) == to_time(plain) - (value.utcoffset() or timedelta()) // timedelta(microseconds=1)
    assert from_time(to_time(plain), DATETIME) == plain.replace(fold=0)


def test_the_two_forms_of_an_instant() -> None:
    assert to_time(datetime(2024, 1, 1, 1, tzinfo=BERLIN)) == to_time(datetime(2024, 1, 1, tzinfo=UTC))
    assert (to_time(datetime(1970, 1, 1)), to_time(7), from_time(7, INT)) == (0, 7, 7)


class At(tw.Tuple):
    w: datetime
    n: int


EDGES = [
    At(datetime(2024, 1, 1, tzinfo=UTC), 1),
    At(datetime.min.replace(tzinfo=EAST), 2),
    At(datetime.max.replace(tzinfo=WEST), 3),
    At(datetime.min.replace(tzinfo=EAST), 4),
]


def counted(t: Any, state: Any, submit: Any) -> None:
    state["n"] = state.get("n", 0) + 1
    submit({"w": t.w, "n": state["n"]})


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda s: s.dedup("w"), [1, 2, 3]),
        (lambda s: s.custom(counted, At, by="w", state={}), [1, 1, 1, 2]),
        (lambda s: s.event_time("w"), [1, 2, 3, 4]),
        (lambda s: s.aggregate(window.tumbling(count=3, by="w"), w=agg.any("w"), n=agg.count()), [2, 1, 1]),
    ],
    ids=["dedup", "custom", "event_time", "aggregate"],
)
def test_instants_of_no_year(make: Any, expected: list[int]) -> None:
    app = tw.App("edges")
    make(app.source(tw.files("at"), At, name="at")).sink(tw.collect(), name="out")
    assert [row.n for row in testing.run(app, {"at": EDGES})["out"]] == expected
    testing.assert_plan_invariant(app, {"at": EDGES}, plans=8)

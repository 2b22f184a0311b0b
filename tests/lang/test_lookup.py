"""Lookups find a key as every operator with keys does: by its canonical form."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

import thalweg as tw
from tests.values import BERLIN
from thalweg import testing
from thalweg.errors import GraphError

NAN = float("nan")


class ByFloat(tw.Tuple):
    k: float


class ByDecimal(tw.Tuple):
    k: Decimal


class ByTime(tw.Tuple):
    k: datetime


class ByList(tw.Tuple):
    k: list[int | None]


CASES: list[tuple[type[tw.Tuple], list[Any], list[Any], list[str]]] = [
    (ByFloat, [NAN, 0.0, 1], [float("nan"), -0.0, 1.0, 2.0], ["0", "1", "2", "?"]),
    (ByDecimal, [Decimal("NaN"), Decimal("1.0")], [Decimal("1.00"), Decimal("-NaN"), Decimal(2)], ["1", "0", "?"]),
    (ByTime, [datetime(2024, 1, 1, tzinfo=UTC)], [datetime(2024, 1, 1, 1, tzinfo=BERLIN)], ["0"]),
    (ByList, [[1, None], []], [[], [None], [1, None]], ["1", "?", "0"]),
]


@pytest.mark.parametrize(("tuple_type", "table", "given", "found"), CASES, ids=lambda value: str(value)[:20])
def test_keys_that_are_one_key(tuple_type: Any, table: list[Any], given: list[Any], found: list[str]) -> None:
    class Row(tuple_type):  # type: ignore[misc]
        name: str

    rows = [Row(key, str(number)) for number, key in enumerate(table)]
    app = tw.App("lookup")
    source = app.source(tw.files("keys"), tuple_type, name="keys")
    source.lookup(rows, Row, on="k", missing={"name": "?"}).sink(tw.collect(), name="out")
    assert [row.name for row in testing.run(app, {"keys": [tuple_type(k) for k in given]})["out"]] == found


def test_values_of_the_wrong_type_in_the_table() -> None:
    class Row(ByFloat):
        name: str

    source = tw.App("lookup").source(tw.files("keys"), ByFloat)
    with pytest.raises(GraphError, match="lookup: a bad k in the table: expected float, found str"):
        source.lookup([Row("a", "b")], Row, on="k")
    with pytest.raises(GraphError, match="lookup: a bad name in the table: expected str, found int") as raised:
        source.lookup([Row(1.0, "a"), Row(2.0, 3)], Row, on="k")
    assert raised.value.found == "Row(k=2.0, name=3)"


class Tagged(tw.Tuple):
    k: float
    tags: list[str]


def test_the_table_and_the_values_for_missing_rows_are_those_of_the_graph() -> None:
    app, tags = tw.App("table"), ["a"]
    missing: dict[str, Any] = {"tags": ["none"]}
    rows = app.source(tw.iterable([ByFloat(1.0), ByFloat(2.0)]), ByFloat)
    rows.lookup([Tagged(1.0, tags)], Tagged, on="k", missing=missing).sink(tw.collect())
    tags.append("b")
    missing["tags"].append("b")
    missing["tags"] = ["c"]
    assert tw.run(app, engine="local").tuples() == [(1.0, ["a"]), (2.0, ["none"])]


def test_a_table_that_cannot_be_sent_is_refused() -> None:
    """At degree 1 its row failed the tuple, at degree 2 the run ended in a traceback."""
    rows = tw.App("table").source(tw.iterable([ByFloat(1.0)]), ByFloat)
    table = [Tagged(1.0, threading.Lock())]
    with pytest.raises(GraphError, match=r"lookup: a bad tags in the table: expected list\[str\], found lock"):
        rows.lookup(table, Tagged, on="k", name="tagged")

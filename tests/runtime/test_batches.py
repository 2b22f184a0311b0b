"""Users' batches: a row is the same alone and among others, whatever its type, in Arrow and in Polars."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import thalweg as tw
from tests.values import BERLIN, EAST, VALUES, Point
from thalweg import testing
from thalweg.errors import TupleError, Where
from thalweg.ir.canonical_form import canonical
from thalweg.ir.operators import Function, MapBatches, StreamRef
from thalweg.ir.types import DATETIME, DECIMAL, INT, AttributeType, TupleType, list_of, optional
from thalweg.runtime import batches
from thalweg.runtime.columns import from_values, to_list
from thalweg.runtime.frame import Frame

HERE = Where("batches.py", 1)
ZONED, PLAIN = datetime(2024, 1, 1, 2, tzinfo=BERLIN), datetime(2024, 1, 1)
MORE: dict[AttributeType, list[Any]] = {
    optional(DATETIME): [None, ZONED, PLAIN],
    optional(DECIMAL): [None, Decimal("1.0"), Decimal("1.00"), Decimal("NaN")],
    list_of(DATETIME): [(), (ZONED,), (PLAIN,), (ZONED, PLAIN)],
}
KINDS = VALUES | MORE
# What Arrow cannot hold: instants that are in no year of UTC, and Decimals that are not of 20 and 18 digits.
REFUSED: dict[AttributeType, list[Any]] = {
    DATETIME: [datetime.min.replace(tzinfo=EAST)],
    DECIMAL: [
        *map(Decimal, ("1E-400", "1E+400", "NaN", "-NaN", "Infinity", "-Infinity")),
        *map(Decimal, ("12345678901234567890123456789012345678901234567890", "NaN7")),
    ],
    optional(DECIMAL): [Decimal("NaN")],
    list_of(DATETIME): [(ZONED, PLAIN)],
}


def applied(function: Callable[[Any], Any], library: str, kind: AttributeType, values: list[Any]) -> list[Any]:
    tuple_type = TupleType("One", (("a", kind),))
    frame = Frame(np.arange(len(values)), (), {"a": from_values(values, kind)})
    return to_list(batches.apply(operator_of(function, library, tuple_type), frame, tuple_type)["a"])


def operator_of(function: Callable[[Any], Any], library: str, tuple_type: TupleType) -> MapBatches:
    return MapBatches(
        name="m",
        inputs=(StreamRef("s"),),
        outputs=(tuple_type,),
        where=HERE,
        function=Function(function, HERE),
        library=library,
    )


def alone(library: str, kind: AttributeType) -> tuple[list[Any], list[Any], list[Any]]:
    """The values that a batch of one row can hold, what they become, and those that are refused."""
    held: list[Any] = []
    became: list[Any] = []
    refused: list[Any] = []
    for value in KINDS[kind]:
        try:
            became += applied(lambda table: table, library, kind, [value])
            held.append(value)
        except TypeError:
            refused.append(value)
    return held, became, refused


@pytest.mark.parametrize("library", ["arrow", "polars"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_type(kind: AttributeType, library: str) -> None:
    held, became, refused = alone(library, kind)
    assert repr(refused) == repr(REFUSED.get(kind, []))
    assert [canonical(v) for v in became] == [canonical(v) for v in held], "equal to what they were"
    assert repr(applied(lambda table: table, library, kind, held)) == repr(became), "the same among others"
    assert repr(applied(lambda table: table, library, kind, held[::-1])) == repr(became[::-1])
    for value in refused:
        with pytest.raises(TypeError, match=r"^a: expected (a value that fits .*|datetimes that all have)"):
            applied(lambda table: table, library, kind, [*held, value])


@pytest.mark.parametrize("library", ["arrow", "polars"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_types_that_are_found_by_the_values(kind: AttributeType, library: str) -> None:
    """A function that makes its table of Python values leaves the types to Arrow, which goes by all rows."""
    if library == "polars":
        again: Callable[[Any], Any] = lambda frame: pl.DataFrame({"a": frame["a"].to_list()}, strict=False)
    else:
        again = lambda table: pa.table({"a": table["a"].to_pylist()})
    held, _, _ = alone("arrow", kind)
    one_by_one = [value for v in held for value in applied(again, library, kind, [v])]
    assert repr(applied(again, library, kind, held)) == repr(one_by_one)


class Deal(tw.Tuple):
    n: int
    price: Decimal
    at: datetime
    note: str | None
    where: Point


def deals(library: str, on_error: str = "fail") -> tw.App:
    app = tw.App("deals")
    source = app.source(tw.files("deals"), Deal, name="deals")
    source.map_batches(lambda batch: batch, Deal, library=library, on_error=on_error).sink(tw.collect(), name="out")
    return app


DEALS = [
    Deal(1, Decimal("1.0"), PLAIN, None, Point(0.5, [])),
    Deal(2, Decimal("1.00"), ZONED, "a", Point(-0.0, ["b"])),
    Deal(3, Decimal("-2"), datetime(2024, 1, 1, tzinfo=UTC), None, Point(1.5, ["", "é"])),
]


@pytest.mark.parametrize("library", ["arrow", "polars"])
def test_a_run_gives_what_the_reference_gives(library: str) -> None:
    found = testing.run(deals(library), {"deals": DEALS})["out"]
    assert [str(deal.price) for deal in found] == [f"{p}.000000000000000000" for p in (1, 1, -2)]
    assert [deal.at for deal in found] == [deal.at for deal in DEALS]
    assert [deal.at.tzinfo for deal in found] == [None, UTC, UTC]
    assert [(deal.note, deal.where) for deal in found] == [(deal.note, deal.where) for deal in DEALS]
    testing.assert_plan_invariant(deals(library), {"deals": DEALS})


def test_a_value_that_no_batch_holds_fails_its_tuple() -> None:
    bad = Deal(4, Decimal("NaN"), PLAIN, None, Point(0.5, []))
    with pytest.raises(TupleError, match=r"price: expected a value that fits decimal128\(38, 18\)") as caught:
        testing.run(deals("arrow"), {"deals": [*DEALS, bad]})
    assert "n=4" in str(caught.value.found)
    assert len(testing.run(deals("arrow", "skip"), {"deals": [*DEALS, bad, *DEALS]})["out"]) == 6


class Number(tw.Tuple):
    a: int | None


def named(on_error: str) -> tw.App:
    app = tw.App("named")
    checked = app.source(tw.files("numbers"), Number, name="numbers").map_batches(
        check_named, Number, on_error=on_error, name="checked"
    )
    checked.sink(tw.collect(), name="out")
    if on_error == "dead_letter":
        checked.dead_letters.sink(tw.collect(), name="letters")
    return app


def check_named(table: Any) -> Any:
    """Fails on zeros, which it names, and on nines, which it does not."""
    values = table["a"].to_pylist()
    if zeros := [row for row, a in enumerate(values) if a == 0]:
        raise tw.FailedRows(zeros if len(zeros) % 2 else pa.array(zeros), "a zero")
    if 9 in values:
        raise ValueError("a nine")
    return table


@pytest.mark.parametrize("values", [[0], [0, 0], [1, 0, 2], [9, 0, 9, 3, 0], [5, 4, 0, 9, 0, 9, 1], [0, None, 9, None]])
def test_rows_that_a_function_names(values: list[int | None]) -> None:
    rows = {"numbers": [Number(a) for a in values]}
    for policy in ("skip", "dead_letter"):
        testing.assert_plan_invariant(named(policy), rows)
    found = testing.run(named("dead_letter"), rows)
    assert [n.a for n in found["out"]] == [a for a in values if a not in (0, 9)]
    texts = {0: "FailedRows: a zero", 9: "ValueError: a nine"}
    assert [letter.error for letter in found["letters"]] == [texts[a] for a in values if a in texts]
    with pytest.raises(TupleError) as caught:
        testing.run(named("fail"), rows)
    first = next(a for a in values if a in (0, 9))
    assert f"a={first}" in str(caught.value.found)


def noting(failed: list[int]) -> Callable[[list[int], BaseException], bool]:
    def note(rows: list[int], error: BaseException) -> bool:
        failed.extend(rows)
        return True

    return note


def test_a_function_that_names_its_failing_rows_is_called_three_times() -> None:
    calls: list[int] = []

    def checked(table: Any) -> Any:
        calls.append(table.num_rows)
        return check_named(table)

    frame = Frame(np.arange(6), (), {"a": from_values([1, 0, 2, 0, 0, 3], INT)})
    tuple_type = TupleType("One", (("a", INT),))
    failed: list[int] = []
    slices = batches.Slices(operator_of(checked, "arrow", tuple_type), frame, tuple_type, noting(failed))
    slices.split(np.arange(6), tw.FailedRows([1, 3, 4]))
    assert (failed, calls, slices.rows.tolist()) == ([1, 3, 4], [1, 2], [0, 2, 5])


@pytest.mark.parametrize("rows", [[6], [-1], []])
def test_rows_that_the_batch_does_not_have_are_searched(rows: list[int]) -> None:
    def wrong(table: Any) -> Any:
        if 0 in table["a"].to_pylist():
            raise tw.FailedRows(rows, "a zero")
        return table

    frame = Frame(np.arange(6), (), {"a": from_values([1, 0, 2, 0, 0, 3], INT)})
    tuple_type = TupleType("One", (("a", INT),))
    failed: list[int] = []
    slices = batches.Slices(operator_of(wrong, "arrow", tuple_type), frame, tuple_type, noting(failed))
    slices.split(np.arange(6), tw.FailedRows(rows))
    assert (failed, slices.rows.tolist()) == ([1, 3, 4], [0, 2, 5])


def test_a_mask_is_not_a_list_of_rows() -> None:
    masks: list[Any] = [[True, False], np.array([True]), pa.array([False])]
    for mask in masks:
        with pytest.raises(TypeError, match="a mask has to be converted to indices"):
            tw.FailedRows(mask)
    given: list[Any] = [[1], np.array([1]), pa.array([1]), {np.int32(1): "why"}]
    for rows in given:
        assert tw.FailedRows(rows).inside(2) == [1]


def test_rows_named_in_a_batch_that_is_taken_apart() -> None:
    """Datetimes with and without a time zone are passed in batches of one row."""

    def checked(table: Any) -> Any:
        if table["n"][0].as_py() == 2:
            raise tw.FailedRows([0], "two")
        return table

    app = tw.App("apart")
    source = app.source(tw.files("deals"), Deal, name="deals")
    source.map_batches(checked, Deal, on_error="skip").sink(tw.collect(), name="out")
    assert [deal.n for deal in testing.run(app, {"deals": DEALS})["out"]] == [1, 3]


def odd_types(table: Any) -> Any:
    """Fails on zeros; the type of its result depends on the rows."""
    values = table["a"].to_pylist()
    if 0 in values:
        raise ValueError(f"a zero in {len(values)} rows")
    return pa.table({"a": pa.array(values, pa.int32() if len(values) % 2 else pa.int64())})


@pytest.mark.parametrize("kind", [INT, optional(INT)], ids=str)
@pytest.mark.parametrize("zeros", [(), (0,), (6,), (3, 4), (0, 1, 2, 3, 4, 5, 6), (2, 5)])
@pytest.mark.parametrize("goes_on", [True, False])
def test_the_rows_that_fail_are_found(kind: AttributeType, zeros: tuple[int, ...], goes_on: bool) -> None:
    values = [0 if i in zeros else i + 1 for i in range(7)]
    frame = Frame(np.arange(7), (), {"a": from_values(values, kind)})
    tuple_type = TupleType("One", (("a", kind),))
    failed: list[tuple[int, str]] = []

    def on_failure(rows: list[int], error: BaseException) -> bool:
        failed.extend((row, str(error)) for row in rows)
        return goes_on

    slices = batches.Slices(operator_of(odd_types, "arrow", tuple_type), frame, tuple_type, on_failure)
    slices.split(np.arange(7), ValueError())
    seen = 7 if goes_on or not zeros else zeros[0]
    kept = [i for i in range(seen) if i not in zeros]
    assert failed == [(row, "a zero in 1 rows") for row in (zeros if goes_on else zeros[:1])]
    assert slices.rows.tolist() == kept
    if kept:
        assert to_list(slices.columns()["a"]) == [values[i] for i in kept]

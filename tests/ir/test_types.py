"""Attribute types: how they print, travel and compare, and what values they take."""

from __future__ import annotations

import pickle
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal
from importlib import resources
from types import SimpleNamespace
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest
from pyspark import cloudpickle

from tests.values import BERLIN, BOXED, POINT, VALUES, Point
from thalweg.ir.types import (
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    DECIMAL,
    FLOAT,
    INT,
    STR,
    AttributeType,
    TupleType,
    accepts,
    conform,
    list_of,
    nested,
    optional,
)
from thalweg.verify.compare import same_bits

SCALARS = (INT, FLOAT, STR, BOOL, BYTES, DATETIME, DATE, DECIMAL)


def test_types_print_as_the_user_writes_them() -> None:
    names = ["int", "float", "str", "bool", "bytes", "datetime", "date", "Decimal"]
    assert [str(kind) for kind in SCALARS] == names
    assert str(optional(INT)) == "int | None"
    assert str(optional(list_of(optional(STR)))) == "list[str | None] | None"
    assert str(POINT) == "Point"
    assert str(TupleType("Out", (("p", list_of(POINT)), ("n", INT)))) == "Out(p: list[Point], n: int)"


def test_the_fingerprint_of_stored_state_sees_every_part() -> None:
    """It is made of `repr`; that of the first four types is what older checkpoints hold."""
    assert repr(INT) == "<AttributeType.INT: 'int'>"
    other = nested(TupleType("Point", (("x", FLOAT), ("tags", list_of(BYTES)))))
    assert str(other) == str(POINT)
    assert repr(other) != repr(POINT)
    assert len({repr(kind) for kind in VALUES}) == len(VALUES)


@pytest.mark.parametrize("kind", VALUES, ids=str)
@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
def test_types_travel(kind: AttributeType, dumps: Any) -> None:
    again = pickle.loads(dumps(kind))
    assert again == kind
    assert hash(again) == hash(kind)
    if kind in SCALARS:
        assert again is kind


def test_a_class_and_its_types_travel_by_value() -> None:
    """The class refers to its type, the type to the class, and a method to a second type that contains the class."""

    source = """
import thalweg as tw

class Part(tw.Tuple):
    x: int
    def whole(self):
        return Whole([self])

class Whole(tw.Tuple):
    parts: list[Part]
"""
    module: dict[str, Any] = {"__name__": "__main__"}
    exec(source, module)
    for name in ("Part", "Whole"):
        found: Any = pickle.loads(cloudpickle.dumps(module[name].tuple_type))
        assert found == module[name].tuple_type
        assert found.python.tuple_type is found
        assert found.names == module[name].tuple_type.names


def test_optional_of_optional_is_optional() -> None:
    assert optional(optional(INT)) == optional(INT)
    assert optional(INT).required is INT
    assert INT.required is INT


@pytest.mark.parametrize(
    ("declared", "found", "fits"),
    [
        (INT, INT, True),
        (FLOAT, INT, True),
        (INT, FLOAT, False),
        (INT, BOOL, False),
        (optional(INT), INT, True),
        (INT, optional(INT), False),
        (optional(FLOAT), optional(INT), True),
        (DATE, DATETIME, False),
        (DATETIME, DATE, False),
        (DECIMAL, INT, False),
        (list_of(FLOAT), list_of(INT), True),
        (list_of(INT), list_of(optional(INT)), False),
        (list_of(INT), INT, False),
        (POINT, nested(TupleType("Other", (("x", INT), ("tags", list_of(STR))))), True),
        (POINT, nested(TupleType("Other", (("tags", list_of(STR)), ("x", FLOAT)))), False),
        (POINT, nested(TupleType("Other", (("x", FLOAT),))), False),
    ],
)
def test_what_can_stand_where(declared: AttributeType, found: AttributeType, fits: bool) -> None:
    assert accepts(declared, found) == fits


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_carried_values_conform_and_stay_as_they_are(kind: AttributeType) -> None:
    for value in VALUES[kind]:
        assert same_bits(conform(value, kind), value)


class Pair(NamedTuple):
    tags: list[str]
    x: int


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (3, FLOAT, 3.0),
        (3, optional(FLOAT), 3.0),
        ([1, 2.5, None], list_of(optional(FLOAT)), (1.0, 2.5, None)),
        ([[1]], list_of(list_of(FLOAT)), ((1.0,),)),
        (Point(1, ["a"]), POINT, (1.0, ("a",))),
        ({"tags": [], "x": 2}, POINT, (2.0, ())),
        ((2, ("b",)), POINT, (2.0, ("b",))),
        (SimpleNamespace(x=1, tags=["a"], more=None), POINT, (1.0, ("a",))),
        (Pair(["a"], 1), POINT, (1.0, ("a",))),
        ([Point(1, []), {"x": 0, "tags": ["t"]}], list_of(POINT), ((1.0, ()), (0.0, ("t",)))),
    ],
)
def test_what_is_converted(value: Any, kind: AttributeType, expected: Any) -> None:
    assert same_bits(conform(value, kind), expected)


class Elsewhere(tzinfo):
    def utcoffset(self, when: datetime | None) -> timedelta:
        return timedelta(0)

    def dst(self, when: datetime | None) -> timedelta:
        return timedelta(0)

    def tzname(self, when: datetime | None) -> str:
        return "elsewhere"


class Stamp(datetime):
    pass


with resources.files("tzdata").joinpath("zoneinfo/UTC").open("rb") as _stream:
    FROM_STREAM = ZoneInfo.from_file(_stream, key="UTC")


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (True, INT, "v: expected int, found bool (True)"),
        (1, BOOL, "v: expected bool, found int (1)"),
        (2**63, INT, "v: 9223372036854775808 does not fit into a 64-bit int"),
        (10**400, FLOAT, "v: int too large to convert to float"),
        (None, INT, "v: expected int, found NoneType (None)"),
        (None, list_of(INT), "v: expected list[int], found NoneType (None)"),
        ("1", optional(INT), "v: expected int, found str ('1')"),
        ([2**63], list_of(INT), "v[0]: 9223372036854775808 does not fit into a 64-bit int"),
        (bytearray(b"a"), BYTES, "v: expected bytes, found bytearray (bytearray(b'a'))"),
        ("a", BYTES, "v: expected bytes, found str ('a')"),
        (datetime(2024, 1, 1), DATE, "v: expected date, found datetime (datetime.datetime(2024, 1, 1, 0, 0))"),
        (date(2024, 1, 1), DATETIME, "v: expected datetime, found date (datetime.date(2024, 1, 1))"),
        (Stamp(2024, 1, 1), DATETIME, "v: expected datetime, found Stamp (Stamp(2024, 1, 1, 0, 0))"),
        (1, DECIMAL, "v: expected Decimal, found int (1)"),
        (0.5, DECIMAL, "v: expected Decimal, found float (0.5)"),
        (Decimal("sNaN"), DECIMAL, "v: expected Decimal, found a signaling NaN"),
        ({1}, list_of(INT), "v: expected list[int], found set ({1})"),
        ("ab", list_of(STR), "v: expected list[str], found str ('ab')"),
        ([[1.0], ["a"]], list_of(list_of(FLOAT)), "v[1][0]: expected float, found str ('a')"),
        (3, POINT, "v: expected Point(x: float, tags: list[str]), found int (3)"),
        ((1.0,), POINT, "v: expected Point(x: float, tags: list[str]), found tuple ((1.0,))"),
        ({"x": 1}, POINT, "v: expected Point(x: float, tags: list[str]), found dict ({'x': 1})"),
        ({"x": "a", "tags": []}, POINT, "v.x: expected float, found str ('a')"),
        ([Point(0, []), Point(1, ["a", None])], list_of(POINT), "v[1].tags[1]: expected str, found NoneType (None)"),
        (datetime(2024, 1, 1, tzinfo=Elsewhere()), DATETIME, "v: expected a time zone of `datetime` or `zoneinfo`"),
        (datetime(2024, 1, 1, tzinfo=FROM_STREAM), optional(DATETIME), "v: expected a time zone of `datetime`"),
    ],
)
def test_what_is_refused(value: Any, kind: AttributeType, message: str) -> None:
    with pytest.raises((TypeError, OverflowError)) as caught:
        conform(value, kind, "v")
    assert str(caught.value).startswith(message)


def test_without_a_path_the_parts_are_named() -> None:
    with pytest.raises(TypeError, match=r"^tags\[0\]: expected str"):
        conform(Point(1, [2]), POINT)


def test_a_lone_surrogate_has_no_encoding() -> None:
    with pytest.raises(UnicodeEncodeError):
        conform(["\ud800"], list_of(STR))


def test_which_types_are_held_as_python_values() -> None:
    assert set(VALUES) - set(BOXED) == {INT, FLOAT, STR, BOOL}
    assert [kind for kind in BOXED if kind.composite] == [k for k in BOXED if "list" in str(k) or "Point" in str(k)]
    assert BERLIN.key == "Europe/Berlin"

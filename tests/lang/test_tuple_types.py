"""How tuple types are declared, extended and put together."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from typing import Annotated, Any, Optional

import pytest
from pyspark import cloudpickle

import thalweg as tw
from tests.values import Point
from thalweg.errors import GraphError


class Named(tw.Tuple):
    name: str

    def loud(self) -> str:
        return self.name.upper()


class Placed(tw.Tuple):
    at: Point
    when: datetime.datetime | None


class Everything(tw.Tuple):
    i: int
    x: float
    s: str
    b: bool
    data: bytes
    when: datetime.datetime
    day: datetime.date
    price: Decimal
    maybe: int | None
    old_style: Optional[str]  # noqa: UP045
    numbers: list[int]
    grid: list[list[float | None]]
    point: Point
    path: list[Point] | None
    noted: Annotated[int, "a note for somebody else"]


class Event(Named, Placed):
    """Of two types, and one attribute more."""

    level: int


class Later(Event):
    delay: float


Both = tw.concat("Both", Placed, Named)


def test_every_type_prints_as_it_was_written() -> None:
    assert str(Everything.tuple_type) == (
        "Everything(i: int, x: float, s: str, b: bool, data: bytes, when: datetime, day: date, price: Decimal, "
        "maybe: int | None, old_style: str | None, numbers: list[int], grid: list[list[float | None]], "
        "point: Point, path: list[Point] | None, noted: int)"
    )


def test_a_subclass_has_the_attributes_of_its_bases_before_its_own() -> None:
    assert str(Event.tuple_type) == "Event(name: str, at: Point, when: datetime | None, level: int)"
    assert Later.tuple_type.names == ("name", "at", "when", "level", "delay")
    assert Event("a", Point(0, []), None, 3).loud() == "A"
    assert Named.tuple_type.names == ("name",), "the base stays as it was"


def test_a_subclass_that_declares_nothing_is_its_base() -> None:
    class Renamed(Named):
        pass

    assert Renamed.tuple_type is Named.tuple_type


def test_concat_keeps_the_order_of_its_parts() -> None:
    assert str(Both.tuple_type) == "Both(at: Point, when: datetime | None, name: str)"
    assert Both.tuple_type.python is Both
    assert Both(Point(0, []), None, "b").loud() == "B"  # type: ignore[attr-defined]
    assert pickle.loads(cloudpickle.dumps(Both)) is Both, "found by its name in the module that made it"


def test_what_two_types_share_by_inheritance_is_there_once() -> None:
    class Left(Named):
        a: int

    class Right(Named):
        b: int

    assert tw.concat("All", Left, Right).tuple_type.names == ("name", "a", "b")


def test_classes_of_a_function() -> None:
    class Inner(tw.Tuple):
        x: int

    class Outer(tw.Tuple):
        inner: Inner
        more: list[Inner]

    class Extended(Outer):
        y: int

    assert str(Extended.tuple_type) == "Extended(inner: Inner, more: list[Inner], y: int)"


def clash_in_a_subclass() -> Any:
    class Twice(Named):
        name: str


def clash_of_two_bases() -> Any:
    class Other(tw.Tuple):
        name: int

    return tw.concat("Clash", Named, Other)


def of_itself() -> Any:
    class Node(tw.Tuple):
        child: Node | None


def without_attributes() -> Any:
    class Nothing(tw.Tuple):
        pass

    class Holder(tw.Tuple):
        nothing: Nothing


def annotated(hint: Any) -> Any:
    return type("Wrong", (tw.Tuple,), {"__annotations__": {"a": hint}, "__module__": __name__})


MISTAKES: list[tuple[Any, str, str | None, str | None]] = [
    # what, message, found, hint
    (clash_in_a_subclass, "tuple type Twice has name twice", "name of Named and of Twice", None),
    (clash_of_two_bases, "tuple type Clash has name twice", "name of Named and of Other", None),
    (lambda: tw.concat("Same", Named, Named), "concat needs different tuple types", "Named, Named", None),
    (lambda: tw.concat("None"), "concat needs different tuple types", "none", None),
    (lambda: tw.concat("Of", Named, dict), "not a tuple type", "<class 'dict'>", None),  # type: ignore[arg-type]
    (lambda: tw.concat("Up", Named, Event), "Up cannot be made from these types", None, None),
    (of_itself, "tuple type Node: name 'Node' is not defined", None, None),
    (without_attributes, "attribute nothing of Holder has an unknown type", "Nothing", None),
    (lambda: annotated(complex), "attribute a of Wrong has an unknown type", "complex", None),
    (lambda: annotated(list), "attribute a of Wrong has an unknown type", "list", "list[T] holds several"),
    (lambda: annotated(set[int]), "has an unknown type", "set[int]", "list[T] holds several"),
    (lambda: annotated(dict[str, int]), "has an unknown type", "dict[str, int]", "as a separate tw.Tuple"),
    (lambda: annotated(tuple[int, str]), "has an unknown type", "tuple[int, str]", "list[T]"),
    (lambda: annotated(int | str), "has an unknown type", "int | str", "only None is allowed in addition"),
    (lambda: annotated(int | str | None), "has an unknown type", "int | str | None", "only None"),
    (lambda: annotated(list[complex | None]), "has an unknown type", "complex", None),
    (lambda: annotated(None), "has an unknown type", "NoneType", None),
    (lambda: annotated("wrong ("), "tuple type Wrong: ", None, None),
]


@pytest.mark.parametrize(("mistake", "message", "found", "hint"), MISTAKES)
def test_mistake(mistake: Any, message: str, found: str | None, hint: str | None) -> None:
    with pytest.raises(GraphError) as caught:
        mistake()
    error = caught.value
    assert message in error.message
    assert found is None or error.found == found
    assert hint is None or hint in str(error.hint)
    assert error.where is not None
    assert error.where.file == __file__

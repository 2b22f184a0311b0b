"""Classes, attributes of functions and globals() in captured code."""

from __future__ import annotations

import abc
import enum
import functools
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

import thalweg as tw
from thalweg import agg, window
from thalweg.errors import GraphError
from thalweg.ir.frozen_code import Freezer

LIMIT = 5
LOCK = threading.Lock()
NONE = type(None)
OTHER_TYPES = [type(...), type({}.keys()), types.ModuleType, types.MethodType, types.CodeType]
VIEWED = {"limit": 5}
VIEW = types.MappingProxyType(VIEWED)


@pytest.fixture(autouse=True)
def _restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "LIMIT", 5)


class Row(tw.Tuple):
    n: int


class Sized(Protocol):
    def size(self) -> int: ...


class Box(Sized):
    content = {"limit": 2}

    def size(self) -> int:
        return LIMIT + self.content["limit"]


class Shape:
    """It lists its subclasses, and their options."""

    known: dict[str, type] = {}
    corners = 0

    def __init_subclass__(cls, *, corners: int, **options: Any) -> None:
        super().__init_subclass__(**options)
        assert cls.__name__ not in Shape.known
        Shape.known[cls.__name__] = cls
        cls.corners = corners

    def more(self) -> int:
        return self.corners + LIMIT


class Square(Shape, corners=4):
    pass


class Triangle(Shape, corners=3):
    corners = 0


class Tree:
    nodes: list[type] = []


class Leaf(Tree):
    pass


Tree.nodes.append(Leaf)


class Least:
    """A descriptor."""

    def __init__(self, least: dict[str, int]) -> None:
        self.least = least

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, instance: object, owner: type) -> tuple[bool, str, int]:
        return self.owner is owner, self.name, self.least["limit"] + LIMIT


class Described:
    least = Least({"limit": 1})

    def plus(self, n: int) -> int:
        return n + LIMIT

    plus_two = functools.partialmethod(plus, 2)

    @functools.singledispatchmethod
    def kind(self, value: object) -> str:
        return f"object {LIMIT}"

    @kind.register
    def _(self, value: int) -> str:
        return f"int {LIMIT}"


class Abstract(abc.ABC):  # noqa: B024
    pass


@Abstract.register
class Registered:
    pass


@functools.singledispatch
def kind(value: object) -> str:
    return f"object {LIMIT}"


@kind.register
def _(value: int) -> str:
    return f"int {LIMIT}"


def limited() -> int:
    return limited.limits["limit"]  # type: ignore[attr-defined, no-any-return]


def plain() -> int:
    return 0


limited.limits = {"limit": 5}  # type: ignore[attr-defined]
plain.limits = {"limit": 5}  # type: ignore[attr-defined]


def new_shape() -> int:
    class Line(Shape, corners=2):
        pass

    found = len(Shape.known) * 10 + Line.corners
    del Shape.known["Line"]
    return found


# Each returns the same now, in a copy after all of these values have changed, and in a worker.
CODES: dict[str, tuple[Callable[[], Any], Any]] = {
    "the type of None": (lambda: (isinstance(None, NONE), NONE is type(None)), (True, True)),
    "a view of a dict": (lambda: VIEW["limit"], 5),
    "a protocol": (lambda: Box().size(), 7),
    "subclasses with options": (
        lambda: (Square().more(), Triangle().more(), list(Shape.known)),
        (9, 8, ["Square", "Triangle"]),
    ),
    "a list of subclasses": (lambda: (Shape.known["Square"] is Square, Tree.nodes[0] is Leaf), (True, True)),
    "a new subclass": (new_shape, 32),
    "a descriptor": (lambda: Described().least, (True, "least", 6)),
    "a partial method": (lambda: Described().plus_two(), 7),
    "a method by type": (lambda: (Described().kind(1), Described().kind("")), ("int 5", "object 5")),
    "a function by type": (lambda: (kind(1), kind("")), ("int 5", "object 5")),
    "a registered class": (lambda: (isinstance(Registered(), Abstract), isinstance(1, Abstract)), (True, False)),
    "an attribute of a function": (lambda: (limited(), plain.limits["limit"]), (5, 5)),  # type: ignore[attr-defined]
}


def _change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "LIMIT", 100)
    least: Any = vars(Described)["least"]
    for values in (Box.content, least.least, limited.limits, plain.limits, VIEWED):  # type: ignore[attr-defined]
        monkeypatch.setitem(values, "limit", 100)


@pytest.mark.parametrize("code", CODES)
def test_captured_code_does_the_same_in_a_copy(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, expected = CODES[code]
    tw.App("copies")  # so the code of this module is sent to workers
    known = dict(Shape.known)
    made = Freezer().freeze(function)
    assert Shape.known == known
    _change(monkeypatch)
    assert made() == expected


@pytest.mark.parametrize("degree", [1, 2])
def test_so_it_does_in_an_operator(degree: int, monkeypatch: pytest.MonkeyPatch) -> None:
    app = tw.App("copies")
    rows = app.source(tw.beacon(lambda i: Row(i), count=2), Row)
    for number, (function, expected) in enumerate(CODES.values()):
        as_expected = _as_expected(function, expected)
        rows.filter(as_expected, name=f"code_{number}").sink(tw.collect(), name=f"sink_{number}")
    _change(monkeypatch)
    result = tw.run(app, engine="local", degree=degree)
    found = {code: len(result.tuples(f"sink_{number}")) for number, code in enumerate(CODES)}
    assert found == dict.fromkeys(CODES, 2)


def _as_expected(function: Callable[[], Any], expected: Any) -> Callable[[Any], bool]:
    return tw.declare(state="stateless", effects="none")(lambda t: function() == expected)


@pytest.mark.parametrize("cls", OTHER_TYPES)
def test_types_of_python_are_not_copied(cls: type) -> None:
    assert Freezer().freeze(lambda: cls)() is cls


class Locked(enum.Enum):
    ONE = 1

    def method(self) -> object:
        return LOCK


class LockedError(Exception):
    lock = LOCK


class Holder:
    least = Least({"limit": LOCK})  # type: ignore[dict-item]


def locked() -> None:
    pass


locked.lock = LOCK  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (lambda t: Locked.ONE, "Locked.method captures LOCK"),
        (lambda t: LockedError, "LockedError has the attribute lock"),
        (lambda t: Holder, "Holder has the attribute least"),
        (lambda t: locked(), "locked captures its attribute lock"),
    ],
)
def test_attributes_that_cannot_be_sent_are_refused(code: Any, message: str) -> None:
    rows = tw.App("refused").source(tw.iterable([]), Row)
    with pytest.raises(GraphError, match=message) as found:
        rows.filter(code, name="locked")
    assert found.value.operator == "locked"
    assert str(found.value.found) == "TypeError: cannot pickle '_thread.lock' object"


PLACES: dict[str, Callable[[tw.Stream], object]] = {
    "filter": lambda s: s.filter(lambda t: t.n > globals()["LIMIT"]),
    "a nested function": lambda s: s.filter(lambda t: [globals()["LIMIT"] for _ in range(t.n)] == []),
    "an operator class": lambda s: s.custom(WithGlobals(), Row),
    "an aggregate": lambda s: s.aggregate(window.running(), n=agg.sum(lambda t: t.n + globals()["LIMIT"])),
    "a beacon": lambda s: s.app.source(tw.beacon(lambda i: globals()["Row"](i), count=1), Row),
    "an iterable": lambda s: s.app.source(tw.iterable(lambda: [globals()["Row"](1)]), Row),
}


class WithGlobals(tw.Operator):
    def process(self, t: Any, port: int) -> None:
        if t.n > globals()["LIMIT"]:
            self.submit(t)


@pytest.mark.parametrize("place", PLACES)
def test_globals_are_refused(place: str) -> None:
    """They were missing from the frozen function, which ended in a KeyError, or in a default value."""
    rows = tw.App("names").source(tw.iterable([]), Row)
    with pytest.raises(GraphError, match=r"calls globals\(\)") as found:
        PLACES[place](rows)
    assert found.value.where is not None
    assert Path(found.value.where.file) == Path(__file__)

"""The methods of tuple types see captured values as they were when the type was passed to Thalweg."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from thalweg import agg, testing, window
from thalweg.errors import GraphError
from thalweg.ir.frozen_code import Freezer

LIMIT = 5
TABLE = {"limit": 5}


@pytest.fixture(autouse=True)
def _restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "LIMIT", 5)
    monkeypatch.setitem(globals(), "TABLE", {"limit": 5})


def limit() -> int:
    return LIMIT


class Part(tw.Tuple):
    n: int

    def above(self) -> bool:
        return self.n > LIMIT


class Count(tw.Tuple):
    n: int


class Base(tw.Tuple):
    k: str

    def above_base(self) -> bool:
        return self.n > LIMIT  # type: ignore[attr-defined, no-any-return]


class Row(Base):
    n: int
    part: Part
    parts: list[Part]

    least = {"n": 5}

    def above(self) -> bool:
        return self.n > LIMIT

    def above_all(self) -> bool:
        return super().above_base() and self.n > self.least["n"]

    @property
    def above_helper(self) -> bool:
        return self.n > limit()

    @classmethod
    def make(cls, k: str, n: int) -> Row:
        return cls(k, n + LIMIT, Part(n), [Part(n)])

    @staticmethod
    def above_table(n: int) -> bool:
        return n > TABLE["limit"]


def rows(*numbers: int) -> list[Row]:
    return [Row("ab"[n % 2], n, Part(n), [Part(n)]) for n in numbers]


def change() -> None:
    global LIMIT
    LIMIT = TABLE["limit"] = Row.least["n"] = -100


def forget(stream: Any) -> Any:
    """A function that cannot be read, so that the methods are called."""
    return repr(stream) != ""


PLACES: dict[str, Any] = {
    "method": lambda t: forget(t) and t.above(),
    "method, read": lambda t: t.above(),
    "super": lambda t: forget(t) and t.above_all(),
    "method of a base": lambda t: forget(t) and t.above_base(),
    "property": lambda t: forget(t) and t.above_helper,
    "static method": lambda t: forget(t) and t.above_table(t.n),
    "of the class": lambda t: forget(t) and Row.above_table(t.n),
    "nested": lambda t: forget(t) and t.part.above(),
    "in a list": lambda t: forget(t) and t.parts[0].above(),
    "of a new tuple": lambda t: forget(t) and Row(t.k, t.n, t.part, t.parts).above(),
    "of a tuple of the class's own": lambda t: forget(t) and Row.make(t.k, t.n - 5).above(),
    "by the class": lambda t: isinstance(t, Row) and isinstance(t, Base) and isinstance(t.part, Part) and t.above(),
}


def app_of_all_places() -> tw.App:
    app = tw.App("methods")
    source = app.source(tw.beacon(lambda i: rows(4, 6)[i], count=2), Row, name="rows")
    for number, predicate in enumerate(PLACES.values()):
        source.filter(predicate).map(lambda t: {"n": t.n}).sink(tw.collect(), name=f"place_{number}")
    made = source.map(lambda t: Row.make(t.k, t.n), Row, name="made")
    made.map(lambda t: {"n": t.n}).sink(tw.collect(), name="made_rows")
    applied = source.apply(window.tumbling(count=2), lambda ts: [{"n": sum(t.above() for t in ts)}], Count)
    applied.sink(tw.collect(), name="applied")
    collected = source.aggregate(window.tumbling(count=2), parts=agg.collect("part"))
    collected.map(lambda t: {"n": sum(p.above() for p in t.parts)}, Count).sink(tw.collect(), name="collected")
    source.custom(Keeping(), Row, by="k").map(lambda t: {"n": t.n}).sink(tw.collect(), name="kept")
    return app


class Keeping(tw.Operator):
    """Tuples in its state have methods, too."""

    def __init__(self) -> None:
        self.first: Row | None = None

    def process(self, t: Any, port: int) -> None:
        self.first = self.first or t
        if self.first.above() and t is not self.first:
            self.submit(t)


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_methods_see_the_values_of_when_the_graph_was_built(engine: Any, degree: int, tmp_path: Path) -> None:
    app = app_of_all_places()
    app.graph()
    change()
    try:
        found = tw.run(app, engine=engine, degree=degree, checkpoint=tmp_path / "checkpoint")
    finally:
        Row.least["n"] = 5
    for number, place in enumerate(PLACES):
        assert found.tuples(f"place_{number}") == [(6,)], place
    assert found.tuples("made_rows") == [(9,), (11,)]
    assert found.tuples("applied") == found.tuples("collected") == [(1,)]
    assert found.tuples("kept") == []


def test_so_does_the_reference() -> None:
    app = tw.App("reference")
    source = app.source(tw.iterable([]), Row, name="rows")
    source.filter(lambda t: forget(t) and t.above()).map(lambda t: {"n": t.n}).sink(tw.collect(), name="out")
    app.graph()
    change()
    Row.least["n"] = 5
    assert testing.run(app, {"rows": rows(4, 6)})["out"] == [(6,)]


def test_the_users_class_is_not_changed() -> None:
    app = tw.App("own")
    app.source(tw.iterable([]), Row, name="rows").sink(tw.none())
    change()
    Row.least["n"] = 5
    assert rows(4)[0].above()


def test_a_type_without_code_is_not_copied() -> None:
    class Plain(tw.Tuple):
        n: int

    assert Freezer().tuple_type(Plain.tuple_type) is Plain.tuple_type


def test_operators_made_in_a_loop_have_their_own_values() -> None:
    app = tw.App("loop")
    source = app.source(tw.iterable([]), Row, name="rows")
    for value in (2, 5, 8):
        globals()["LIMIT"] = value
        for kind, predicate in (("called", PLACES["method"]), ("read", PLACES["method, read"])):
            found = source.filter(predicate).filter(lambda t: bool(repr(t)))
            found.map(lambda t: {"n": t.n}).sink(tw.collect(), name=f"{kind}_{value}")
    for degree in (1, 2):
        result = testing.run(app, {"rows": rows(1, 4, 7, 9)}, degree=degree)
        for kind in ("called", "read"):
            numbers = [[row.n for row in result[f"{kind}_{value}"]] for value in (2, 5, 8)]
            assert numbers == [[4, 7, 9], [7, 9], [9]]


@dataclass
class Money:
    amount: int


class Paid(tw.Tuple):
    n: int

    def money(self) -> Money:
        return Money(self.n)

    def found(self) -> object:
        return MISSING

    def check(self) -> None:
        raise TooLittle


class TooLittle(Exception):
    pass


MISSING = object()


def is_caught(t: Paid) -> bool:
    try:
        t.check()
    except TooLittle:
        return True
    return False


@pytest.mark.parametrize("degree", [1, 2])
def test_functions_and_methods_share_classes_and_objects(degree: int) -> None:
    """Python compares the classes of dataclasses and exceptions, and sentinels, by identity."""
    app = tw.App("shared")
    source = app.source(tw.iterable([]), Paid, name="rows").filter(lambda t: bool(repr(t)))
    shared = tw.declare(state="stateless")(
        lambda t: t.money() == Money(t.n) and t.found() is MISSING and is_caught(t) and isinstance(t.money(), Money)
    )
    source.filter(shared).sink(tw.collect(), name="out")
    assert testing.run(app, {"rows": [Paid(1)]}, degree=degree)["out"] == [(1,)]


@pytest.mark.parametrize("degree", [1, 2])
def test_tuples_in_immediate_loops_have_the_methods_of_their_operator(degree: int) -> None:
    app = tw.App("immediate")
    back = app.feedback(Count, immediate=True)
    merged = app.source(tw.iterable([]), Part, name="rows").map(lambda t: {"n": t.n}, Count).union(back)
    more = merged.map(lambda t: {"n": t.n + 1}, Part)
    more.filter(lambda t: bool(repr(t)) and not t.above()).map(lambda t: {"n": t.n}, Count).feed(back)
    more.sink(tw.collect(), name="out")
    app.graph()
    change()
    Row.least["n"] = 5
    assert testing.run(app, {"rows": [Part(3)]}, degree=degree)["out"] == [(4,), (5,), (6,)]


class Abstract(tw.Tuple, ABC):
    n: int

    @abstractmethod
    def above(self) -> bool: ...


class Concrete(Abstract):
    m: int

    def above(self) -> bool:
        return self.n > LIMIT


def test_copies_of_one_type_are_one_type() -> None:
    for cls in (Row, Concrete):
        one, other = (Freezer().tuple_type(cls.tuple_type).python for _ in range(2))
        assert one is not None
        assert other is not None
        assert one is not other
        made: object = object.__new__(one)
        assert isinstance(made, other)
        assert issubclass(one, other)
        assert not isinstance(object.__new__(Part), other)


class Locked(tw.Tuple):
    n: int

    def locked(self) -> bool:
        with LOCK:
            return True


LOCK = threading.Lock()


def test_a_method_that_captures_what_cannot_be_sent_is_refused() -> None:
    with pytest.raises(GraphError, match=r"Locked\.locked captures LOCK") as found:
        tw.App("locked").source(tw.iterable([]), Locked, name="rows")
    assert found.value.operator == "rows"
    assert found.value.where is not None

"""Generated row loops do what `rows.unpack` does, tuple by tuple, and end or go on where it raises."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import thalweg as tw
from thalweg.ir.types import STR, TupleType
from thalweg.ir.user_tuples import unpack
from thalweg.runtime.columns import from_values, to_list
from thalweg.runtime.frame import Frame
from thalweg.runtime.row_functions import rows
from thalweg.runtime.row_loops import filter_rows, map_rows


class In(tw.Tuple):
    i: int
    x: float
    s: str
    b: bool

    def twice(self) -> int:
        return self.i * 2


class Out(tw.Tuple):
    i: int
    x: float
    s: str
    b: bool


class OwnInit(tw.Tuple):
    i: int

    def __init__(self, i: int) -> None:
        self.i = i + 1


ONE = TupleType("One", Out.tuple_type.attributes[:1])
FRAME = Frame(
    np.arange(4),
    (),
    {
        "i": np.array([1, 2, 2**62, -5]),
        "x": np.array([0.5, np.nan, -0.0, 1e308]),
        "s": from_values(["a", "é", "", "日本"], STR),
        "b": np.array([True, False, True, False]),
    },
)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "dict": lambda t: {"i": t.i, "x": t.x, "s": t.s, "b": t.b},
    "a different order": lambda t: {"b": t.b, "s": t.s, "x": t.x, "i": t.i},
    "tuple": lambda t: Out(t.i, t.x, t.s, t.b),
    "by name": lambda t: Out(b=t.b, s=t.s, x=t.x, i=t.i),
    "itself": lambda t: t,
    "namespace": lambda t: SimpleNamespace(i=t.i, x=t.x, s=t.s, b=t.b, more=1),
    "mapping": lambda t: UserDict({"i": t.i, "x": t.x, "s": t.s, "b": t.b}),
    "method": lambda t: Out(t.twice() // 2, t.x, t.s, t.b),
    "int for float": lambda t: {"i": t.i, "x": t.i, "s": t.s, "b": t.b},
    "missing": lambda t: {"i": t.i, "x": t.x, "s": t.s} if t.i == 2 else t,
    "another key": lambda t: {"i": t.i, "x": t.x, "s": t.s, "c": t.b} if t.i == 2 else t,
    "too many": lambda t: {"i": t.i, "x": t.x, "s": t.s, "b": t.b, "c": 1} if t.i == 2 else t,
    "too large": lambda t: Out(t.i * 4, t.x, t.s, t.b),
    "bool for int": lambda t: Out(t.b if t.i == 2 else 1, t.x, t.s, t.b),
    "int for bool": lambda t: Out(t.i, t.x, t.s, 1 if t.i == 2 else t.b),
    "text for float": lambda t: Out(t.i, "1" if t.i == 2 else t.x, t.s, t.b),
    "surrogate": lambda t: Out(t.i, t.x, "\ud800" if t.i == 2 else t.s, t.b),
    "none": lambda t: None if t.i == 2 else t,
    "raises": lambda t: Out(1 // (t.i - 2), t.x, t.s, t.b),
    "key error of its own": lambda t: {1: t}[t.i],
    "attribute error of its own": lambda t: t.nothing,
}


class Failures:
    """What a loop reports: the index of each tuple that failed, with the error."""

    def __init__(self, *, stops: bool) -> None:
        self.stops = stops
        self.found: list[tuple[int, str]] = []

    def __call__(self, index: int, error: BaseException) -> bool:
        self.found.append((index, f"{type(error).__name__}: {error}"))
        return not self.stops


def no_failure(index: int, error: BaseException) -> bool:
    raise error


def one_by_one(
    function: Callable[[Any], Any], output: TupleType, stops: bool
) -> tuple[list[int], list[tuple[Any, ...]], list[tuple[int, str]]]:
    at: list[int] = []
    done: list[tuple[Any, ...]] = []
    failed: list[tuple[int, str]] = []
    for index, row in enumerate(rows(FRAME, In.tuple_type)):
        try:
            done.append(unpack(function(row), output))
            at.append(index)
        except Exception as error:
            failed.append((index, f"{type(error).__name__}: {error}"))
            if stops:
                break
    return at, done, failed


@pytest.mark.parametrize("stops", [True, False], ids=["stops", "goes on"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "output", [Out.tuple_type, TupleType("Other", Out.tuple_type.attributes)], ids=["class", "none"]
)
def test_map(name: str, output: TupleType, stops: bool) -> None:
    at, wanted, failed = one_by_one(FUNCTIONS[name], output, stops)
    failures = Failures(stops=stops)
    found = map_rows(FUNCTIONS[name], FRAME, In.tuple_type, output, failures, stops=stops)
    assert found.at.tolist() == at
    assert repr(list(zip(*map(to_list, found.made.values()), strict=True))) == repr(wanted)
    assert failures.found == failed


def test_a_map_to_no_attributes() -> None:
    nothing = TupleType("Nothing", ())
    assert len(map_rows(lambda t: {}, FRAME, In.tuple_type, nothing, no_failure).at) == 4
    for stops, at in ((True, [0]), (False, [0, 2, 3])):
        failures = Failures(stops=stops)
        function = lambda t: {} if t.i != 2 else {"a": 1}
        found = map_rows(function, FRAME, In.tuple_type, nothing, failures, stops=stops)
        assert found.at.tolist() == at
        assert [index for index, _ in failures.found] == [1]


def test_a_frame_without_columns() -> None:
    bare = FRAME.with_columns({})
    found = map_rows(lambda t: {"i": 3}, bare, TupleType("Bare", ()), ONE, no_failure)
    assert to_list(found.made["i"]) == [3, 3, 3, 3]
    kept = filter_rows(lambda t: True, bare, TupleType("Bare", ()), no_failure)
    assert (kept.made, kept.at.tolist()) == ([True] * 4, [0, 1, 2, 3])


def test_filter() -> None:
    assert filter_rows(lambda t: t.s, FRAME, In.tuple_type, no_failure).made == [True, True, False, True]
    for stops, at in ((True, [0, 1]), (False, [0, 1, 3])):
        failures = Failures(stops=stops)
        found = filter_rows(lambda t: 1 // (t.i - 2**62), FRAME, In.tuple_type, failures, stops=stops)
        assert (found.made, found.at.tolist()) == ([True] * len(at), at)
        assert failures.found == [(2, "ZeroDivisionError: integer division or modulo by zero")]


def test_each_tuple_is_processed_once_whatever_fails() -> None:
    """The state of a function is as if it was called tuple by tuple."""
    frame = Frame(np.arange(3000), (), {"i": np.arange(3000)})
    seen: list[int] = []

    def function(t: Any) -> dict[str, Any]:
        seen.append(t.i)
        if t.i % 7 == 0:
            raise ValueError(t.i)
        return {"i": t.i if t.i % 5 else "wrong"}

    failures = Failures(stops=False)
    found = map_rows(function, frame, ONE, ONE, failures)
    good = [i for i in range(3000) if i % 7 and i % 5]
    assert seen == list(range(3000))
    assert found.at.tolist() == to_list(found.made["i"]) == good
    assert sorted(index for index, _ in failures.found) == sorted(set(range(3000)) - set(good))


def test_each_tuple_is_an_object_of_its_own() -> None:
    """The function may keep them."""
    kept: list[Any] = []
    filter_rows(kept.append, FRAME, In.tuple_type, no_failure)
    assert [t.i for t in kept] == [1, 2, 2**62, -5]


def test_a_function_may_use_its_dict_again() -> None:
    again: dict[str, Any] = {}

    def reuse(t: Any) -> dict[str, Any]:
        again.update(i=t.i, x=t.x, s=t.s, b=t.b)
        return again

    found = map_rows(reuse, FRAME, In.tuple_type, Out.tuple_type, no_failure)
    assert to_list(found.made["i"]) == [1, 2, 2**62, -5]
    assert to_list(found.made["s"]) == ["a", "é", "", "日本"]


@pytest.mark.parametrize("rows", [1023, 1024, 1025, 3000])
@pytest.mark.parametrize("bad", [None, 0, 1023, 1024, 2000])
def test_many_rows(rows: int, bad: int | None) -> None:
    """Results are checked in runs of 1024 tuples."""
    frame = Frame(np.arange(rows), (), {"i": np.arange(rows)})

    def function(t: Any) -> dict[str, Any]:
        return {"i": t.i if t.i != bad else 0.5, "x": t.i if t.i % 2 else 0.5, "s": str(t.i), "b": True}

    failures = Failures(stops=True)
    found = map_rows(function, frame, ONE, Out.tuple_type, failures, stops=True)
    done = rows if bad is None else min(bad, rows)
    assert found.at.tolist() == list(range(done))
    assert to_list(found.made["i"]) == list(range(done))
    assert to_list(found.made["x"]) == [float(i) if i % 2 else 0.5 for i in range(done)]
    assert to_list(found.made["s"]) == [str(i) for i in range(done)]
    assert [index for index, _ in failures.found] == ([] if done == rows else [done])


def test_types_with_the_same_attributes_keep_their_methods() -> None:
    def declared(value: int) -> type[tw.Tuple]:
        class Same(tw.Tuple):
            i: int

            def number(self) -> int:
                return value

        return Same

    frame = FRAME.select(["i"])
    found = [map_rows(lambda t: {"i": t.number()}, frame, declared(v).tuple_type, ONE, no_failure) for v in (1, 2)]
    assert [to_list(m.made["i"]) for m in found] == [[1] * 4, [2] * 4]


def test_an_init_of_ones_own_is_called() -> None:
    assert OwnInit(1).i == 2
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'"):
        Out(1, 0.5, "a")
    with pytest.raises(TypeError, match="declares no attributes"):
        tw.Tuple(1)

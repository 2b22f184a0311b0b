"""`thalweg check` finds declarations that do not hold, with the tuple that shows it."""

from __future__ import annotations

from typing import Any

import pytest

import thalweg as tw
from thalweg.lang.app import Stream
from thalweg.verify.check import CheckResult, check

COUNT = {"n": 0}


class In(tw.Tuple):
    k: str
    a: int


def checked(build: Any) -> CheckResult:
    app = tw.App("declared")
    numbers = app.source(tw.beacon(lambda i: {"k": "ab"[i % 2], "a": i}, count=30), In, name="in")
    build(numbers).sink(tw.collect(), name="out")
    return check(app.graph(), tuples=30, plans=6, seed=0, cut_invariant=True, progress=lambda done: None)


def wrong_declaration(build: Any) -> dict[str, str]:
    result = checked(build)
    assert result.wrong_declaration is not None
    assert result.difference == str(result.wrong_declaration)
    return result.wrong_declaration.as_json()


def counting(t: Any) -> Any:
    COUNT["n"] += 1
    return {"k": t.k, "a": COUNT["n"]}


CACHE: dict[int, int] = {}


def caching(t: Any) -> Any:
    return {"k": t.k, "a": CACHE.setdefault(t.a, t.a * 2)}


@tw.declare(state="stateless")
class Keeps(tw.Operator):
    def __init__(self) -> None:
        self.last = -1

    def process(self, t: Any, port: int) -> None:
        self.submit({"k": t.k, "a": self.last})
        self.last = t.a


@pytest.mark.parametrize("said", [{"state": "stateless"}, {"effects": "none"}])
def test_hidden_state(said: Any) -> None:
    COUNT["n"] = 0
    found = wrong_declaration(lambda s: s.map(tw.declare(**said)(lambda t: counting(t)), In, name="op"))
    assert (found["operator"], found["declared"]) == ("op", "stateless")
    assert found["tuple"] == "In(k='b', a=29)"
    assert found["found"] == "first ('b', 30), then ('b', 31)"


def test_a_cache_is_not_a_wrong_declaration() -> None:
    result = checked(lambda s: s.map(tw.declare(state="stateless")(lambda t: caching(t)), In, name="op"))
    assert result.wrong_declaration is None
    assert result.difference is None


def test_state_of_a_class() -> None:
    found = wrong_declaration(lambda s: s.custom(Keeps(), In, name="op"))
    assert found["found"] == "first ('b', 28), then ('b', -1)"


def some(t: Any) -> Any:
    return [{"k": t.k, "a": t.a}] * (t.a % 3)


@pytest.mark.parametrize(
    ("bounds", "tuple_", "found"), [((0, 1), "In(k='a', a=2)", "2 tuples"), (1, "In(k='a', a=0)", "0 tuples")]
)
def test_selectivity(bounds: Any, tuple_: str, found: str) -> None:
    shown = wrong_declaration(lambda s: s.flat_map(tw.declare(selectivity=bounds)(lambda t: some(t)), In, name="op"))
    assert (shown["tuple"], shown["found"]) == (tuple_, found)


def test_forwards() -> None:
    def changed(s: Stream) -> Stream:
        said = tw.declare(forwards="all")(lambda t: {"k": t.k, "a": abs(t.a - 3) if t.a > 4 else t.a})
        return s.map(said, In, name="op")

    shown = wrong_declaration(changed)
    assert shown["declared"] == "a is forwarded from a"
    assert shown["found"] == "a=2 of a=5"


def test_a_correct_declaration_is_accepted() -> None:
    said = tw.declare(state="stateless", selectivity=(0, 2), forwards="all", effects="none")
    assert checked(lambda s: s.flat_map(said(lambda t: some(t)), In, name="op")).wrong_declaration is None

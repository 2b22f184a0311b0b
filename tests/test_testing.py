"""`thalweg.testing`: docs/testing.md is executed, and what it does not show is here."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import thalweg as tw
from tests.graphs import Tick
from thalweg import agg, testing, window
from thalweg.errors import InputError, PlanError
from thalweg.runtime.pe import PE
from thalweg.runtime.turn import Turn

GUIDE = (Path(__file__).parent.parent / "docs" / "testing.md").read_text()
TESTS = re.findall(r"<!-- test -->\n```python\n(.*?)```", GUIDE, re.DOTALL)


@pytest.fixture
def alerts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    found = re.search(r"<!-- file: alerts.py -->\n```python\n(.*?)```", GUIDE, re.DOTALL)
    assert found is not None
    (tmp_path / "alerts.py").write_text(found.group(1))
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("alerts", None)


@pytest.mark.usefixtures("alerts")
@pytest.mark.parametrize("number", range(len(TESTS)))
def test_the_guide(tmp_path: Path, number: int) -> None:
    file = tmp_path / f"guide_{number}.py"
    file.write_text(TESTS[number])
    module = ModuleType(file.stem)
    exec(compile(TESTS[number], str(file), "exec"), module.__dict__)
    tests = [value for name, value in vars(module).items() if name.startswith("test_")]
    assert tests
    for test in tests:
        test()
    assert {p.name for p in tmp_path.iterdir()} <= {"alerts.py", "__pycache__", file.name}, "it wrote something"


def two_sources() -> tw.App:
    app = tw.App("two")
    left = app.source(tw.files("left"), Tick)
    right = app.source(tw.files("right"), Tick)
    both = left.union(right)
    both.sink(tw.files("out"), name="out")
    return app


def tick(volume: int, **more: Any) -> dict[str, Any]:
    return {"kind": "T", "symbol": "A", "price": 1.0, "volume": volume} | more


def test_epochs_of_two_sources_belong_together() -> None:
    inputs = {"left": [[tick(1)], [], [tick(2), tick(3)]], "right": [[tick(-1)], [tick(-2)]]}
    result = testing.run(two_sources(), inputs)
    assert [row.volume for row in result["out"]] == [1, -1, -2, 2, 3]
    assert [[row.volume for row in rows] for rows in result.by_epoch("out")] == [[1, -1], [-2], [2, 3], []]
    assert testing.reference(two_sources(), inputs) == result


def test_an_int_is_taken_for_a_float_and_rows_are_found_by_name() -> None:
    (row,) = testing.run(two_sources(), {"left": [tick(1, price=2)], "right": []})["out"]
    assert (row.price, type(row.price)) == (2.0, float)
    assert row == Tick("T", "A", 2.0, 1)
    assert row == {"volume": 1, "price": 2.0, "symbol": "A", "kind": "T"}
    assert row == ("T", "A", 2.0, 1)
    assert row != ("T", "A", 2.0, 2)
    assert row != ("T", "A", 2.0)
    assert repr(row) == "Tick(kind='T', symbol='A', price=2.0, volume=1)"
    with pytest.raises(AttributeError, match="has no attribute 'amount'"):
        _ = row.amount


MISTAKES: dict[str, tuple[dict[str, list[Any]], dict[str, Any], type[tw.ThalwegError], str]] = {
    "unknown source": ({"left": [], "rihgt": []}, {}, InputError, "no source 'rihgt'"),
    "unfed source": ({"left": []}, {}, InputError, "no tuples are given for the source right"),
    "type": (
        {"left": [tick(1), tick(2, price="x")], "right": []},
        {},
        InputError,
        "tuple 1 of left does not match its type",
    ),
    "attribute": ({"left": [{"kind": "T"}], "right": []}, {}, InputError, "tuple 0 of left does not match its type"),
    "short tuple": ({"left": [("T", "A")], "right": []}, {}, InputError, "tuple 0 of left does not match its type"),
    "in a later epoch": ({"left": [[tick(1)], [tick(2**63)]], "right": []}, {}, InputError, "tuple 1 of left"),
    "mixed": ({"left": [tick(1), [tick(2)]], "right": []}, {}, InputError, "tuples and epochs are mixed"),
    "epochs twice": ({"left": [[tick(1)]], "right": []}, {"epochs": 2}, InputError, "epochs are specified twice"),
    "no epoch": ({"left": [tick(1)], "right": []}, {"epochs": 0}, InputError, "must be at least 1"),
    "engine": ({"left": [], "right": []}, {"engine": "flink"}, PlanError, "unknown engine"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake: str) -> None:
    inputs, options, error, message = MISTAKES[mistake]
    with pytest.raises(error, match=message):
        testing.run(two_sources(), inputs, **options)


def test_a_misspelt_sink() -> None:
    result = testing.run(two_sources(), {"left": [], "right": []})
    assert result["out"] == []
    with pytest.raises(PlanError, match="no sink 'uot'") as error:
        _ = result["uot"]
    assert error.value.hint == "did you mean `out`?"
    with pytest.raises(PlanError, match="not split by epoch"):
        testing.reference(two_sources(), {"left": [], "right": []}).by_epoch("out")


def test_a_different_order_is_reported_and_nan_equals_nan() -> None:
    nan = {"price": math.nan}
    rows = testing.run(two_sources(), {"left": [tick(1, **nan), tick(2)], "right": []})["out"]
    testing.assert_same(rows, [tick(1, **nan), tick(2)])
    with pytest.raises(AssertionError, match="all tuples are present, in a different order"):
        testing.assert_same(rows, [tick(2), tick(1, **nan)])
    with pytest.raises(AssertionError, match="the end, after 1 tuples"):
        testing.assert_same(rows, [tick(1, **nan)])
    with pytest.raises(AssertionError, match="the end, after 0 tuples"):
        testing.assert_same([], [tick(1)])
    with pytest.raises(AssertionError, match="not a valid expected tuple"):
        testing.assert_same(rows, [{"price": 1.0}])
    with pytest.raises(AssertionError, match=r"… and 4 more"):
        testing.assert_same(rows, [tick(1, **nan), tick(2), *(tick(n) for n in range(9))])


def summed() -> tw.App:
    app = tw.App("summed")
    ticks = app.source(tw.files("ticks"), Tick)
    dear = ticks.filter(lambda t: t.price > 0.5)
    sums = dear.aggregate(window.running(by="symbol"), symbol=agg.any("symbol"), total=agg.sum("volume"))
    sums.sink(tw.collect(), name="out")
    return app


TICKS = {"ticks": [tick(n, symbol="ABC"[n % 3]) for n in range(30)]}


def test_a_broken_engine_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that cannot fail would prove nothing: here the filter loses a tuple."""
    testing.assert_plan_invariant(summed(), TICKS)
    right = PE.filter

    def loses_one(self: PE, *arguments: Any) -> Any:
        frame = right(self, *arguments)
        return frame if frame is None or len(frame) < 2 else frame.window(1, len(frame))

    monkeypatch.setattr(PE, "filter", loses_one)
    with pytest.raises(AssertionError, match="answer differs from the reference"):
        testing.run(summed(), TICKS)
    assert testing.run(summed(), TICKS, against_reference=False)["out"] != testing.reference(summed(), TICKS)["out"]
    with pytest.raises(AssertionError, match=r"first differs after dear \(filter, .*test_testing.py:\d+\)") as error:
        testing.assert_plan_invariant(summed(), TICKS)
    assert "tuple 0 of its stream" in str(error.value)


def test_a_plan_that_fails_alone_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: PE, turn: Turn, name: str, frame: Any, *arguments: Any) -> Any:
        if frame is not None:
            self._fail(turn, name, frame, 0, ValueError("broken"))

    monkeypatch.setattr(PE, "filter", fails)
    with pytest.raises(AssertionError, match="the plan fails and the reference does not"):
        testing.run(summed(), TICKS)
    with pytest.raises(AssertionError, match="the plan fails there: ValueError: broken"):
        testing.assert_plan_invariant(summed(), TICKS)

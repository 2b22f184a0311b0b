"""`check` on an engine that is broken on purpose: the first operator whose output differs is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.small import Small
from thalweg.engine.inputs.sample_log import sample_log
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import StreamRef
from thalweg.optimize.passes import make_plan
from thalweg.runtime.frame import Frame
from thalweg.runtime.pe import PE
from thalweg.runtime.turn import Turn
from thalweg.verify.check import CheckResult, check
from thalweg.verify.diagnose import first_divergence, tapped
from thalweg.verify.reference import Reference


@pytest.fixture
def graph(tmp_path: Path) -> LogicalGraph:
    return Small.make(tmp_path / "small").graph()


def checked(graph: LogicalGraph) -> CheckResult:
    return check(graph, tuples=200, plans=6, seed=0, cut_invariant=True, progress=lambda done: None)


def break_kernel(
    monkeypatch: pytest.MonkeyPatch, kind: str, operator: str, change: Callable[[Frame], Frame | None]
) -> None:
    """What the operator's kernel emits is changed on its way out."""
    right = getattr(PE, kind)

    def wrong(self: PE, turn: Turn, name: str, *arguments: Any) -> Any:
        frame = right(self, turn, name, *arguments)
        return change(frame) if name == operator and frame is not None else frame

    monkeypatch.setattr(PE, kind, wrong)


def nudged(frame: Frame) -> Frame:
    """The last bit of one value differs."""
    values = np.array(frame.columns["vwap"])
    values[-1] = np.nextafter(values[-1], np.inf)
    return frame.with_columns({**frame.columns, "vwap": values})


def test_a_sound_engine_has_no_divergence(graph: LogicalGraph) -> None:
    assert checked(graph).difference is None
    assert first_divergence(make_plan(graph, degree=2), sample_log(graph, 200, 50, Path("unused"))) is None


def test_taps_change_nothing(graph: LogicalGraph) -> None:
    log = sample_log(graph, 200, 50, Path("unused"))
    watched, taps = tapped(graph)
    answer, alone = Reference(watched).run(log), Reference(graph).run(log)
    assert {name: answer[name] for name in alone} == alone
    assert list(taps.values()) == list(graph.streams)
    assert answer["tap bargains"] == alone["files"]


def test_the_last_bit_of_an_aggregate(graph: LogicalGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    break_kernel(monkeypatch, "aggregate", "vwap", nudged)
    result = checked(graph)
    found = result.divergence
    assert found is not None
    assert (found.operator, found.kind, found.stream) == ("vwap", "aggregate", "vwap")
    assert found.where == graph.by_name["vwap"].where
    assert found.attributes == ("symbol", "vwap")
    assert found.expected is not None
    assert found.found is not None
    assert found.expected[0] == found.found[0]
    assert found.found[1] == np.nextafter(found.expected[1], np.inf)
    text = str(found)
    assert f"first differs after vwap (aggregate, {found.where})" in text
    assert f"tuple {found.position} of its stream, counted from 0: vwap differs" in text
    assert found.as_json()["position"] == found.position
    # The position is that of the last tuple of the first slice: with whole epochs, the last trade.
    trades = Reference(tapped(graph)[0]).run(sample_log(graph, 200, 200, Path("unused")))["tap vwap"]
    assert trades[found.position] == found.expected


def test_a_lost_tuple(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Small.make(tmp_path / "small", files=1).graph()  # one frame, so that the lost tuple is the stream's last
    break_kernel(monkeypatch, "filter", "quotes", lambda frame: frame.window(0, len(frame) - 1))
    found = first_divergence(make_plan(graph), sample_log(graph, 200, 200, Path("unused")))
    assert found is not None
    assert (found.operator, found.found) == ("quotes", None)
    assert "found:    the end after" in str(found)
    assert "one of the streams has ended" in str(found)


def test_an_operator_after_a_split(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small = Small.make(tmp_path / "small")
    split = (
        'quotes = ticks.filter(lambda t: t.kind == "Q")',
        "_, quotes = ticks.split(lambda t: 1 if t.kind == 'Q' else 0, 2, name='parts')\n_.sink(tw.collect())",
    )
    right = PE.split

    def wrong(self: PE, *arguments: Any) -> Any:
        first, second = right(self, *arguments)
        return [first, None if second is None else second.window(0, 0)]

    monkeypatch.setattr(PE, "split", wrong)
    found = checked(small.graph(split)).divergence
    assert found is not None
    assert (found.operator, found.stream, found.position) == ("parts", str(StreamRef("parts", 1)), 0)
    assert "tuple 0 of its stream parts[1]" in str(found)


def test_a_plan_that_fails_where_the_reference_does_not(graph: LogicalGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    right = PE.filter

    def fails(self: PE, turn: Turn, name: str, frame: Any, *arguments: Any) -> Any:
        if name == "trades" and frame is not None:
            self._fail(turn, name, frame, 0, ValueError("broken"))
        return right(self, turn, name, frame, *arguments)

    monkeypatch.setattr(PE, "filter", fails)
    result = checked(graph)
    assert result.difference is not None
    assert "the plan fails and the reference does not: ValueError: broken" in result.difference
    assert result.divergence is not None
    assert result.divergence.operator == "trades"
    assert "the plan fails there: ValueError: broken" in str(result.divergence)

"""Classes derived from tw.Operator: setup and close, versions of their state."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from tests.properties.strategies import cut_all
from thalweg.engine.core.run import RunOptions
from thalweg.engine.local.run import run_local
from thalweg.engine.local.serial import LocalEngine
from thalweg.engine.storage.checkpoint import EpochReport
from thalweg.engine.storage.manifest import check_restart, make_manifest
from thalweg.errors import CheckpointError, TupleError
from thalweg.optimize.passes import make_plan
from thalweg.optimize.request import Held, PlanRequest
from thalweg.planning.run_plan import plan_run
from thalweg.runtime.columns import to_list

pytestmark = pytest.mark.slow


class Number(tw.Tuple):
    k: str
    i: int


class Model(tw.Operator):
    """Uses something that is expensive to make."""

    def __init__(self, log: str) -> None:
        self.log = log

    def setup(self) -> int:
        self._say("setup")
        return 10

    def close(self, resource: Any) -> None:
        self._say(f"close {resource}")

    def _say(self, event: str) -> None:
        with open(self.log, "a") as file:  # from whatever process
            file.write(f"{event}\n")

    def process(self, t: Any, port: int) -> None:
        self.submit(Number(t.k, t.i * self.resource))


class Total(tw.Operator):
    def __init__(self, factor: int) -> None:
        self.factor = factor
        self.total = 0

    def process(self, t: Any, port: int) -> None:
        self.total += t.i * self.factor
        self.submit(Number(t.k, self.total))


class NewTotal(Total):
    """The same state under another name, and a version for it."""

    version = 2

    def __init__(self, factor: int) -> None:
        self.factor = factor
        self.sum = 0

    def process(self, t: Any, port: int) -> None:
        self.sum += t.i * self.factor
        self.submit(Number(t.k, self.sum))


class Upgrading(NewTotal):
    def upgrade(self, attributes: dict[str, Any], version: int) -> dict[str, Any]:
        assert version == 1
        return {"sum": attributes["total"]}


def app_with(code: tw.Operator) -> tw.App:
    app = tw.App("users")
    numbers = app.source(tw.beacon(lambda i: {"k": "ab"[i % 2], "i": i}, count=12), Number, name="numbers")
    numbers.custom(code, Number, by="k", name="code").sink(tw.collect(), name="out")
    return app


class Stop(Exception):
    pass


def stop_after_two(report: EpochReport) -> None:
    if report.epoch == 1:
        raise Stop


def run(code: tw.Operator, checkpoint: Path, watch: Any = lambda report: None, degree: int = 2) -> list[int]:
    plan = make_plan(app_with(code).graph(), degree=degree)
    return [row[1] for row in run_local(plan, RunOptions(checkpoint, max_tuples_per_epoch=3), watch).tuples()]


@pytest.mark.parametrize("degree", [1, 3])
def test_setup_once_per_worker_and_close_at_the_end(tmp_path: Path, degree: int) -> None:
    log = tmp_path / "log"
    assert run(Model(str(log)), tmp_path / "checkpoint", degree=degree) == [10 * i for i in range(12)]
    assert sorted(log.read_text().split("\n")) == ["", *["close 10"] * degree, *["setup"] * degree]


class Failing(Model):
    def process(self, t: Any, port: int) -> None:
        if t.i == 7:
            raise ValueError("seven")
        super().process(t, port)


@pytest.mark.parametrize("degree", [1, 3])
def test_close_also_where_a_run_stops_or_fails(tmp_path: Path, degree: int) -> None:
    stopped, failed = tmp_path / "stopped", tmp_path / "failed"
    with pytest.raises(Stop):
        run(Model(str(stopped)), tmp_path / "first", stop_after_two, degree=degree)
    with pytest.raises(TupleError, match="seven"):
        run(Failing(str(failed)), tmp_path / "second", degree=degree)
    for log in (stopped, failed):
        said = log.read_text().split()
        assert said.count("close") == said.count("setup") >= 1


class Configured(tw.Operator):
    """Another start may give it another resource."""

    def setup(self) -> int:
        return int(os.environ["FACTOR"])

    def process(self, t: Any, port: int) -> None:
        self.submit(Number(t.k, t.i * self.resource))


@pytest.mark.parametrize("by", ["k", None])
def test_every_start_sets_up_for_itself(monkeypatch: pytest.MonkeyPatch, by: str | None) -> None:
    """Spark's workers stay alive, and they are not notified that a run was paused."""
    app = tw.App("users")
    numbers = app.source(tw.beacon(lambda i: {"k": "ab"[i % 2], "i": i}, count=3), Number, name="numbers")
    numbers.custom(Configured(), Number, by=by, name="code").sink(tw.collect(), name="out")
    plan = make_plan(app.graph())
    for factor in (1, 2):
        monkeypatch.setenv("FACTOR", str(factor))
        frame = LocalEngine(plan).run_epoch(cut_all(plan.graph, 3)[0])["out"]
        assert frame is not None
        assert to_list(frame.columns["i"]) == [0, factor, 2 * factor]


def renamed(cls: type[Any]) -> type[Any]:
    """What a user's edit does: other code under the same name."""
    return type("Total", cls.__bases__, dict(vars(cls)) | {"__qualname__": "Total"})


CHANGED = "the custom code is not as it was at the last start"


def test_settings_follow_the_program_and_state_stays(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        run(Total(1), tmp_path / "checkpoint", stop_after_two)
    with pytest.warns(tw.ThalwegWarning, match=CHANGED):
        assert run(Total(100), tmp_path / "checkpoint")[6:] == [606, 709, 1406, 1609, 2406, 2709]


def test_a_different_version_needs_an_upgrade(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        run(Total(1), tmp_path / "checkpoint", stop_after_two)
    with pytest.raises(CheckpointError) as caught, pytest.warns(tw.ThalwegWarning, match=CHANGED):
        run(renamed(NewTotal)(1), tmp_path / "checkpoint")
    assert "upgrade" in (caught.value.hint or "")
    with pytest.warns(tw.ThalwegWarning, match=CHANGED):
        assert run(renamed(Upgrading)(1), tmp_path / "checkpoint")[6:] == [12, 16, 20, 25, 30, 36]


class Passes(tw.Operator):
    def process(self, t: Any, port: int) -> None:
        self.submit(t)


def test_a_state_in_a_checkpoint_stays_although_nothing_is_kept_in_it(tmp_path: Path) -> None:
    """It was written before the operator was found to keep nothing, or before its code was changed."""
    app = tw.App("passes")
    numbers = app.source(tw.beacon(lambda i: {"k": "a", "i": i}, count=3), Number, name="numbers")
    numbers.custom(Passes(), Number, name="passes").sink(tw.collect(), name="out")
    graph = app.graph()
    assert not plan_run(graph, PlanRequest(), tmp_path).plan.graph.stateful
    old = make_manifest(make_plan(graph, held=Held(frozenset(("passes",)))), "local", ())
    (tmp_path / "manifest.json").write_bytes(old.to_json())
    again = plan_run(graph, PlanRequest(), tmp_path).plan
    assert [o.name for o in again.graph.stateful] == ["passes"]
    check_restart(old, make_manifest(again, "local", ()))


class Seen(tw.Tuple):
    what: str
    now: int | None


class Watch(tw.Operator):
    """Reports the event time wherever it is called."""

    def process(self, t: Any, port: int) -> None:
        self.submit(Seen(f"tuple {t.i}", self.now))

    def on_mark(self, time: int) -> None:
        self.submit(Seen(f"mark {time}", self.now))

    def at_end(self) -> None:
        self.submit(Seen("end", self.now))


@pytest.mark.parametrize("per_epoch", [1, 2, 100])
def test_now_is_the_event_time_wherever_it_is_read(per_epoch: int) -> None:
    """The mark comes before the tuple that moves it; a key is called from its first tuple on."""
    numbers = [Number("a", 1), Number("b", 4), Number("a", 3), Number("b", 12)]
    app = tw.App("watch")
    source = app.source(tw.iterable(numbers), Number, name="numbers")
    source.event_time("i").custom(Watch(), Seen, by="k").sink(tw.collect(), name="timed")
    source.punctor(lambda t: t.i == 4).custom(Watch(), Seen, by="k").sink(tw.collect(), name="marked")
    result = tw.run(app, engine="local", max_tuples_per_epoch=per_epoch)
    assert result.tuples("timed") == [
        *(("tuple 1", 1), ("mark 4", 4), ("tuple 4", 4), ("tuple 3", 4)),
        *(("mark 12", 12), ("mark 12", 12), ("tuple 12", 12), ("end", 12), ("end", 12)),
    ]
    assert {now for _, now in result.tuples("marked")} == {None}

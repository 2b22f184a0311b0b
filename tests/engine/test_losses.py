"""Lost tuples: late, skipped and dead-lettered ones, per epoch and at the end, the same after a crash."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from tests.engine.test_crash import die_at_write, finished, in_child
from tests.small import thalweg
from thalweg import agg, window
from thalweg.engine.core.run import RunOptions, RunResult
from thalweg.engine.core.stop import Stop
from thalweg.engine.local.run import run_local
from thalweg.engine.state.migrate import migrate
from thalweg.engine.storage.checkpoint import EpochReport
from thalweg.engine.storage.report import Lost
from thalweg.errors import ThalwegWarning
from thalweg.lang.app import App, Stream
from thalweg.optimize.request import PlanRequest
from thalweg.planning.run_plan import plan_run


class Row(tw.Tuple):
    at: int
    n: int


class Few(tw.Tuple):
    then: int
    n: int


ROWS = [(1, 1), (5, 0), (30, 2), (2, 3), (31, 4), (3, 0), (60, 5), (61, 0), (4, 6), (90, 7)]
LATE = 3  # (2, 3), (3, 0), (4, 6)
ZEROS = 3


def written(folder: Path) -> Path:
    if (folder / "in").exists():
        return folder / "in"
    (folder / "in").mkdir(parents=True)
    for number, rows in enumerate((ROWS[:4], ROWS[4:7], ROWS[7:])):
        lines = [f'{{"at": {at}, "n": {n}}}\n' for at, n in rows]
        (folder / "in" / f"{number}.jsonl").write_text("".join(lines) + ("oops\n" if number == 1 else ""))
    return folder / "in"


def source(app: App, folder: Path, on_error: str = "skip") -> Stream:
    return app.source(tw.files(written(folder), format="jsonl", on_error=on_error), Row, name="rows")


def troubled(folder: Path) -> App:
    """An invalid line, divisions by zero, and late tuples."""
    app = tw.App("troubled")
    shares = source(app, folder).map(
        lambda t: {"at": t.at, "n": t.n, "share": 60 // t.n}, on_error="skip", name="shares"
    )
    timed = shares.event_time("at", name="timed")
    counts = timed.aggregate(window.tumbling(time=10, by="n"), n=agg.any("n"), total=agg.sum("share"), name="counts")
    counts.sink(tw.collect(), name="out")
    return app


EXPECTED = {
    "rows": Lost(11, skipped=1),
    "shares": Lost(10, skipped=ZEROS),
    "counts": Lost(7, late=2),
}
TEXTS = (
    'rows: 1 of 11 rows are not valid and were left out; on_error="fail" shows the first one, '
    'on_error="dead_letter" keeps them',
    'shares: 3 of 10 tuples failed and were skipped; on_error="fail" shows the first one, '
    'on_error="dead_letter" keeps them',
    "counts: 2 of 7 tuples came too late and were dropped; allow more lateness or use counts.late",
)


def run(app: App, degree: int = 1, watch: Any = lambda report: None, checkpoint: Path | None = None) -> RunResult:
    plan = plan_run(app.graph(), PlanRequest.of(degree=degree)).plan
    return run_local(plan, RunOptions(checkpoint, max_tuples_per_epoch=4, in_process=True), watch)


@pytest.mark.parametrize("degree", [1, 3])
def test_each_epoch_and_the_end_under_any_plan(tmp_path: Path, degree: int) -> None:
    reports: list[EpochReport] = []
    done = run(troubled(tmp_path), degree, reports.append)
    assert done.lost == EXPECTED
    assert done.warnings == TEXTS
    assert [r.lost["shares"] for r in reports] == [Lost(4, skipped=1), Lost(3, skipped=1), Lost(3, skipped=1), Lost(0)]
    assert reports[-1].lost_in_run == EXPECTED


def test_tw_run_warns_and_returns_it(tmp_path: Path) -> None:
    with pytest.warns(ThalwegWarning) as said:
        done = tw.run(troubled(tmp_path), engine="local")
    assert done.lost == EXPECTED
    assert done.warnings == TEXTS == tuple(str(one.message) for one in said)


@pytest.mark.slow
def test_after_a_crash_at_every_write(tmp_path: Path) -> None:
    """The figures are those of an undisturbed run; also if it died between an epoch's report and its commit."""

    def dying(number: int, folder: Path) -> None:
        die_at_write(number, half=False)
        run(troubled(folder), checkpoint=folder / "checkpoint")

    for number in count(1):
        folder = tmp_path / str(number)
        if finished(in_child(lambda: dying(number, folder))):
            break
        if (folder / "checkpoint" / "ended").exists():
            continue
        assert run(troubled(folder), checkpoint=folder / "checkpoint").lost == EXPECTED, number
    assert number > 20


def test_after_a_migration(tmp_path: Path) -> None:
    stop = Stop()
    options = RunOptions(tmp_path / "old", max_tuples_per_epoch=4, stop=stop)
    run_local(plan_run(troubled(tmp_path).graph(), PlanRequest()).plan, options, lambda report: stop.request())
    migrate(tmp_path / "old", tmp_path / "new", PlanRequest.of(degree=2))
    assert run(troubled(tmp_path), 2, checkpoint=tmp_path / "new").lost == EXPECTED


TIME: dict[str, Callable[[Stream], Stream]] = {
    "aggregate": lambda t: t.aggregate(window.tumbling(time=10), n=agg.count(), name="op"),
    "sliding": lambda t: t.aggregate(window.sliding(time=10, slide=5), n=agg.count(), name="op"),
    "by a key": lambda t: t.aggregate(window.tumbling(time=10, by="n"), n=agg.any("n"), name="op"),
    "apply": lambda t: t.apply(window.tumbling(time=10), lambda rows: rows[:1], Row, name="op"),
    "top_k": lambda t: t.top_k(1, "n", window=window.tumbling(time=10), name="op"),
    "skyline": lambda t: t.skyline(window=window.tumbling(time=10), most="n", name="op"),
    "sort": lambda t: t.sort("n", window=window.tumbling(time=10), name="op"),
}


@pytest.mark.parametrize("kind", list(TIME))
def test_every_window_in_event_time(tmp_path: Path, kind: str) -> None:
    app = tw.App("late")
    made = TIME[kind](source(app, tmp_path).event_time("at"))
    made.sink(tw.collect(), name="out")
    assert run(app).lost["op"] == Lost(10, late=LATE)
    app = tw.App("late")
    made = TIME[kind](source(app, tmp_path).event_time("at"))
    made.sink(tw.collect(), name="out")
    made.late.sink(tw.none(), name="read")
    assert "op" not in run(app).lost, "a late stream that is read is no loss"


@pytest.mark.parametrize("read", [(), ("late",), ("late_other",), ("late", "late_other")])
def test_a_join_within_a_time_has_two_late_streams(tmp_path: Path, read: tuple[str, ...]) -> None:
    app = tw.App("late")
    timed = source(app, tmp_path).event_time("at", name="timed")
    few = timed.filter(lambda t: t.n < 6, name="few").map(lambda t: {"then": t.at, "n": t.n}, Few, name="renamed")
    made = few.event_time("then").join(timed, window.within(10), on="n", name="op")
    made.sink(tw.collect(), name="out")
    for name in read:
        getattr(made, name).sink(tw.none(), name=f"{name}.sink")
    done = run(app)
    late = {(): 5, ("late",): 3, ("late_other",): 2}.get(read)
    assert done.lost.get("op") == (late and Lost(18, late=late))
    unread = " and ".join(f"op.{name}" for name in ("late", "late_other") if name not in read)
    assert [text for text in done.warnings if text.startswith("op")] == (
        [f"op: {late} of 18 tuples came too late and were dropped; allow more lateness or use {unread}"] if late else []
    )


def test_dead_letters_that_are_read_are_no_loss(tmp_path: Path) -> None:
    app = tw.App("letters")
    rows = source(app, tmp_path, "dead_letter")
    shares = rows.map(lambda t: {"share": 60 // t.n}, on_error="dead_letter", name="shares")
    shares.sink(tw.collect(), name="out")
    rows.dead_letters.sink(tw.none(), name="bad")
    shares.dead_letters.sink(tw.none(), name="letters")
    done = run(app)
    assert (done.lost, done.warnings, done.left_out) == ({}, (), {"rows": 1})


APP = """
import thalweg as tw
from thalweg import agg, window

class Row(tw.Tuple):
    at: int
    n: int

app = tw.App("troubled")
rows = app.source(tw.files("in", format="jsonl", on_error="skip"), Row)
shares = rows.map(lambda t: {"at": t.at, "n": t.n, "share": 60 // t.n}, on_error="skip")
timed = shares.event_time("at")
counts = timed.aggregate(window.tumbling(time=10, by="n"), n=agg.any("n"), total=agg.sum("share"))
counts.sink(tw.none(), name="out")
"""


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_in_the_text_and_with_json(tmp_path: Path, engine: str) -> None:
    written(tmp_path)
    (tmp_path / "app.py").write_text(APP)
    command = ("run", "app.py", "--engine", engine, "--max-tuples-per-epoch", "4")
    done = thalweg(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "; lost: 1 skipped at shares" in done.stdout
    assert "late at counts" in done.stdout
    for text in TEXTS:
        assert f"warning: {text}" in " ".join(done.stderr.split())
    done = thalweg(*command, "--json", cwd=tmp_path)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert tuple(e["message"] for e in events if e["event"] == "warning") == TEXTS
    assert events[-1]["event"] == "end"
    assert {name: Lost(**lost) for name, lost in events[-1]["lost"].items()} == EXPECTED
    assert [Lost(**e["lost_in_run"]["counts"]) for e in events if e["event"] == "epoch"][-1] == EXPECTED["counts"]

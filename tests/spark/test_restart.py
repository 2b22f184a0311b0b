"""Restarts on Spark: the refusals of tests/engine/test_restart.py, and what only Spark can get wrong."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from tests.changed_code import CHANGES_CODE
from tests.engine.test_restart import REFUSALS, STATELESS_CODE, tuples_by_sink
from tests.small import HOLDING, PER_EPOCH, Small, Stop, contents, stop_after, undisturbed
from tests.spark.processes import Run
from tests.spark.test_errors import FAILING_MAP, FAILS_IN
from thalweg.engine.core.run import RunOptions
from thalweg.engine.spark.read_state import committed_epochs
from thalweg.engine.spark.run import run_spark
from thalweg.engine.state.inspect_checkpoint import read_manifest
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.errors import CheckpointError, InputError, ThalwegWarning, TupleError
from thalweg.optimize.passes import make_plan
from thalweg.verify.reference import Reference

pytestmark = [pytest.mark.spark, CHANGES_CODE]


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small.make(tmp_path / "small")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.usefixtures("spark")
def test_refusals_lose_nothing(small: Small, expected: dict[str, bytes]) -> None:
    """All on one checkpoint; then changed stateless code resumes and ends, and a start after the end runs nothing."""
    with pytest.raises(Stop):
        small.run("spark", watch=stop_after(2))
    before = contents(small.checkpoint)
    for message, changes, options in REFUSALS.values():
        with pytest.raises(CheckpointError, match=message):
            small.run("spark", *changes, **options)  # type: ignore[arg-type]
    with pytest.raises(CheckpointError, match="belongs to a different engine"):
        small.run("local")
    assert contents(small.checkpoint) == before
    with pytest.warns(ThalwegWarning, match="the filter bargains is not as it was at the last start"):
        small.run("spark", STATELESS_CODE)
    assert small.output() == expected
    before = contents(small.checkpoint)
    assert small.run("spark", STATELESS_CODE).already_finished
    assert contents(small.checkpoint) == before
    assert small.output() == expected


@pytest.mark.usefixtures("spark")
def test_input_files_must_be_what_was_logged(small: Small, expected: dict[str, bytes]) -> None:
    """Vanished, then changed, then put back: the epoch that was cut is replayed as it was logged."""
    with pytest.raises(TupleError):
        small.run("spark", FAILING_MAP)
    log = small.log()
    begun = log[FAILS_IN].chunks[0]
    assert (len(log), begun.start) == (FAILS_IN + 1, 20)
    file, away = Path(begun.path), small.folder / "elsewhere"
    stat = file.stat()
    file.rename(away)
    vanished = pytest.raises(InputError, match="disappeared before it was fully processed")
    with vanished, pytest.warns(ThalwegWarning, match="is not as it was at the last start"):
        small.run("spark")
    away.rename(file)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1_000_000))
    with pytest.raises(InputError, match="changed after it was taken"):
        small.run("spark")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    small.run("spark")
    assert small.output() == expected
    assert small.log()[: len(log)] == log


@pytest.mark.usefixtures("spark")
def test_follow_pauses_and_resumes(small: Small, tmp_path: Path) -> None:
    """Ctrl-C in a terminal, in the middle of an epoch: the driver's whole process group gets SIGINT. The epoch becomes
    whole, no other begins, and nothing is said but that."""
    said, hold, metrics = tmp_path / "said", small.folder / "hold", tmp_path / "metrics.jsonl"
    run = Run(small.command("--follow", "--metrics", str(metrics), app=small.app(HOLDING)), said)
    assert run.wait_until(lambda: len(list((small.checkpoint / "progress").glob("0*.json"))) == 6)
    with pytest.raises(CheckpointError, match="another process is working on"):
        small.run("spark")
    hold.touch()
    small.add_ticks(4)
    assert run.wait_until((small.folder / "held").exists)
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.wait_until(lambda: "stopping" in said.read_text())
    hold.unlink()
    assert run.wait() == 130
    lines = said.read_text().splitlines()
    (stopping,) = [i for i, line in enumerate(lines) if line.startswith("stopping")]
    assert lines[stopping] == "stopping after epoch 6; interrupt again to stop immediately"
    assert lines[stopping + 1].startswith("epoch     6          40 in ")
    assert lines[stopping + 2] == ""
    assert lines[stopping + 3].startswith("280 tuples in 7 epochs and ")
    assert lines[-1] == "paused by Ctrl-C; run the same command to resume"
    log, checkpoint = small.log(), Checkpoint(small.checkpoint)
    assert len(log) == committed_epochs(checkpoint, read_manifest(small.checkpoint)) == 7
    assert not any(epoch.final for epoch in log)
    check_metrics([json.loads(line) for line in metrics.read_text().splitlines()], small)
    with pytest.warns(ThalwegWarning, match="the filter quotes is not as it was at the last start"):
        small.run("spark")
    assert tuples_by_sink(small.output()) == tuples_by_sink(undisturbed(tmp_path / "undisturbed", files=5))


def check_metrics(lines: list[dict[str, Any]], small: Small) -> None:
    """What each operator took and gave is what the reference counts; every part of the time is there."""
    assert [line["epoch"] for line in lines] == list(range(7))
    reference = Reference(small.graph())
    reference.run(small.log())
    for name in ("ticks", "trades", "quotes", "vwap", "bargains.join", "bargains"):
        assert sum(line["operators"][name]["tuples_out"][0] for line in lines) == reference.counts.sent[name, 0]
    assert lines[-1]["operators"]["bargains.join"]["tuples_in"] == [
        lines[-1]["operators"][name]["tuples_out"][0] for name in ("quotes", "vwap")
    ]
    assert [line["backlog"] for line in lines] == [200, 160, 120, 80, 40, 0, 20]
    for line in lines:
        assert {"cut", "plan", "log", "run", "sinks", "commit", "other"} == set(line["parts"])
        assert set(line["pes"]) == {"0.0", "1.0"}
        assert line["pes"]["1.0"]["cpu_s"] > 0
        assert line["state_bytes"] > 0


@pytest.mark.usefixtures("spark")
def test_follow_ends_a_run_whose_final_epoch_was_cut(small: Small, expected: dict[str, bytes]) -> None:
    """In the input log this epoch is final, whatever the options of the restart."""
    with pytest.raises(Stop):
        small.run("spark", watch=stop_after(6))
    assert small.log()[-1].final
    assert not (small.checkpoint / "ended").exists()
    options = RunOptions(small.checkpoint, follow=True, max_tuples_per_epoch=PER_EPOCH, interval_s=0.05)
    run_spark(make_plan(small.graph(), degree=2), options, lambda report: None)
    assert small.output() == expected
    assert (small.checkpoint / "ended").exists()


class Number(tw.Tuple):
    i: int
    k: int


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("before", "after"), [(2, 4), (4, 2)])
def test_a_different_degree_without_state(tmp_path: Path, before: int, after: int) -> None:
    """Spark keeps the number of partitions that the first start had, and the channels share them."""
    app = tw.App("stateless")
    numbers = app.source(tw.beacon(lambda i: {"i": i, "k": i % 7}, count=60), Number)
    numbers.filter(lambda t: t.k != 3).parallel(key="k").sink(tw.collect(), name="out")
    graph, options = app.graph(), RunOptions(tmp_path / "checkpoint", max_tuples_per_epoch=20, master="local[2]")
    with pytest.raises(Stop):
        run_spark(make_plan(graph, degree=before), options, stop_after(0))
    with pytest.raises(CheckpointError, match="the stateful stages changed") as refused:  # Spark would not have it
        run_spark(make_plan(graph), options, lambda report: None)
    assert (refused.value.expected, refused.value.found) == ("a stage without state", "none")
    found = run_spark(make_plan(graph, degree=after), options, lambda report: None)
    assert found.tuples() == [(i, i % 7) for i in range(60) if i % 7 != 3]


@pytest.mark.usefixtures("spark")
def test_a_signal_to_all_processes_is_reported_as_the_signal(small: Small, tmp_path: Path) -> None:
    """As `timeout` and systemd send it. Java ends at SIGTERM, in the middle of the epoch, which is then run again."""
    said, hold = tmp_path / "said", small.folder / "hold"
    hold.touch()
    run = Run(small.command(app=small.app(HOLDING)), said)
    assert run.wait_until((small.folder / "held").exists)
    os.killpg(run.process.pid, signal.SIGTERM)
    assert run.wait() == 143
    last = said.read_text().splitlines()[-1]
    assert re.fullmatch(r"paused by SIGTERM( \(.*\))?; run the same command to resume", last)
    hold.unlink()
    small.run("spark", HOLDING)
    assert tuples_by_sink(small.output()) == tuples_by_sink(undisturbed(tmp_path / "undisturbed"))

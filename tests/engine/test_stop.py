"""Ctrl-C, SIGTERM, SIGHUP: the first stops after the current epoch, the second at once; no data is lost either way."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.small import HOLDING, Small, undisturbed
from tests.waiting import PATIENCE_S, wait_for
from thalweg.cli.signals import SIGNALS
from thalweg.engine.core.run import RunOptions
from thalweg.engine.core.stop import Stop
from thalweg.engine.local.run import run_local
from thalweg.engine.storage.checkpoint import Checkpoint, EpochReport, LocalState
from thalweg.optimize.passes import make_plan

pytestmark = pytest.mark.slow


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small.make(tmp_path / "small")


def heed_signals() -> None:
    """A shell's background job ignores Ctrl-C, one of `nohup` ignores SIGHUP, and their children inherit that."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def held(small: Small, *options: str) -> Iterator[subprocess.Popen[str]]:
    """`thalweg run` in the middle of its first epoch, in which it stays until the file `hold` is gone."""
    (small.folder / "hold").touch()
    command = small.command("--engine", "local", *options, app=small.app(HOLDING))
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_signals,
    )
    try:
        wait_for((small.folder / "held").exists)
        yield process
    finally:
        process.kill()
        process.communicate()


NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP"}


@pytest.mark.parametrize("group", [False, True], ids=["driver", "group"])
@pytest.mark.parametrize("number", NAMES)
def test_the_epoch_in_progress_is_completed(small: Small, tmp_path: Path, number: signal.Signals, group: bool) -> None:
    """`timeout` signals the process and then its whole group, with the workers: that is one stop, not two."""
    with held(small) as process:
        assert process.stderr is not None
        if not group or number != signal.SIGINT:
            process.send_signal(number)
        if group:
            os.killpg(process.pid, number)
        assert process.stderr.readline() == "stopping after epoch 0; interrupt again to stop immediately\n"
        (small.folder / "hold").unlink()
        assert process.stderr.read() == f"paused by {NAMES[number]}; run the same command to resume\n"
        assert process.wait(PATIENCE_S) == 128 + number
    committed = LocalState(Checkpoint(small.checkpoint)).load()
    assert committed is not None
    assert committed[0] == len(small.log()) == 1
    small.run("local", HOLDING)
    assert small.output() == undisturbed(tmp_path / "undisturbed")


@pytest.mark.parametrize("degree", [1, 2])
def test_the_second_one_stops_immediately(small: Small, tmp_path: Path, degree: int) -> None:
    """With several channels the driver waits for its workers, one of which stays in its function."""
    with held(small, "--degree", str(degree)) as process:
        assert process.stderr is not None
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == "stopping after epoch 0; interrupt again to stop immediately\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "paused by Ctrl-C; run the same command to resume\n"
        assert process.wait(PATIENCE_S) == 130
    assert LocalState(Checkpoint(small.checkpoint)).load() is None
    assert len(small.log()) == 1
    (small.folder / "hold").unlink()
    small.run("local", HOLDING, degree=degree)
    assert small.output() == undisturbed(tmp_path / "undisturbed")


def test_without_a_checkpoint_it_is_just_stopped(small: Small) -> None:
    app = small.app(HOLDING)
    (small.folder / "hold").touch()
    command = [*small.command(app=app)[:3], "run", str(app), "--engine", "local", "--follow", "--json"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
    ) as process:
        wait_for((small.folder / "held").exists)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert '"plan"' in process.stdout.readline()
        assert process.stdout.readline() == '{"event": "stopping", "epoch": 0}\n'
        (small.folder / "hold").unlink()
        out, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, err) == (130, "stopped by Ctrl-C\n")
    epoch, end = out.splitlines()
    assert '"event": "epoch"' in epoch
    assert end.startswith('{"event": "end", "stopped": true, ')


def test_a_program_stops_its_own_run(small: Small, tmp_path: Path) -> None:
    """A stop may be requested from anywhere; here by the watch function. In its final epoch, a run ends anyway."""
    stop, seen = Stop(), list[int]()

    def watch(report: EpochReport) -> None:
        seen.append(report.epoch)
        if report.epoch == 2 or report.final:
            stop.request()

    options = RunOptions(small.checkpoint, max_tuples_per_epoch=40, stop=stop)
    plan = make_plan(small.graph(), degree=2)
    first = run_local(plan, options, watch)
    assert (first.stopped, first.epochs, seen) == (True, 3, [0, 1, 2])
    stop.requested = False
    second = run_local(plan, options, watch)
    assert (second.stopped, seen) == (False, list(range(7)))
    assert small.output() == undisturbed(tmp_path / "undisturbed")

"""Restarts on Spark: the refusals of tests/engine/test_restart.py, and what only Spark can get wrong."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.engine.test_restart import REFUSALS, STATELESS_CODE, tuples_by_sink
from tests.small import PER_EPOCH, Small, Stop, contents, stop_after, undisturbed
from tests.spark.processes import Run
from tests.spark.test_errors import FAILING_MAP, FAILS_IN
from thalweg.engine.run import RunOptions
from thalweg.engine.spark.run import run_spark
from thalweg.errors import CheckpointError, InputError, TupleError
from thalweg.optimize.passes import make_plan

pytestmark = pytest.mark.spark


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small.make(tmp_path / "small")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.usefixtures("spark")
def test_refusals_lose_nothing(small: Small, expected: dict[str, bytes]) -> None:
    """All on one checkpoint; then other stateless code goes on, ends, and a start after the end is refused."""
    with pytest.raises(Stop):
        small.run("spark", watch=stop_after(2))
    before = contents(small.checkpoint)
    for message, changes, options in REFUSALS.values():
        with pytest.raises(CheckpointError, match=message):
            small.run("spark", *changes, **options)  # type: ignore[arg-type]
    with pytest.raises(CheckpointError, match="belongs to another engine"):
        small.run("local")
    assert contents(small.checkpoint) == before
    small.run("spark", STATELESS_CODE)
    assert small.output() == expected
    with pytest.raises(CheckpointError, match="has ended"):
        small.run("spark")
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
    with pytest.raises(InputError, match="has vanished before it was wholly processed"):
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
def test_follow_pauses_and_goes_on(small: Small, tmp_path: Path) -> None:
    """Ctrl-C in a terminal: the driver's whole process group gets SIGINT."""
    run = Run(small.command("--follow"), tmp_path / "said")
    assert run.wait_until(lambda: len(list((small.checkpoint / "progress").glob("0*.json"))) == 6)
    with pytest.raises(CheckpointError, match="another process is working on"):
        small.run("spark")
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.wait() == 130
    said = (tmp_path / "said").read_text()
    assert said.endswith("paused; the same command goes on\n")
    assert "Traceback" not in said
    assert not any(epoch.final for epoch in small.log())
    small.add_ticks(4)
    small.run("spark")
    assert tuples_by_sink(small.output()) == tuples_by_sink(undisturbed(tmp_path / "undisturbed", files=5))


@pytest.mark.usefixtures("spark")
def test_follow_ends_a_run_whose_final_epoch_was_cut(small: Small, expected: dict[str, bytes]) -> None:
    """The input log says that this epoch is final, whatever the restart wants."""
    with pytest.raises(Stop):
        small.run("spark", watch=stop_after(6))
    assert small.log()[-1].final
    assert not (small.checkpoint / "ended").exists()
    options = RunOptions(small.checkpoint, follow=True, max_tuples_per_epoch=PER_EPOCH, interval_s=0.05)
    run_spark(make_plan(small.graph(), degree=2), options, lambda report: None)
    assert small.output() == expected
    assert (small.checkpoint / "ended").exists()

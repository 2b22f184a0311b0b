"""kill -9 of a run on Spark, driver, JVM and workers: after the restarts the sinks hold the same, bit for bit.

`KILLS` of tests/amount.py is the number of random moments.
"""

from __future__ import annotations

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.amount import KILLS
from tests.small import THALWEG, Small, undisturbed
from tests.spark import dying_driver
from tests.spark.processes import Run, moment, starved

pytestmark = pytest.mark.spark

SEED = 11
FILES = 6  # nine epochs and the final one
FINAL = 9

# One sequence of deaths on one checkpoint.
DEATHS = (
    ("after_log", 2),
    ("before_sinks", 3),
    ("inside_sink", 4),
    ("after_sinks", 5),
    ("while_reading", 7),
    ("before_sinks", FINAL),
    ("before_mark", FINAL),
)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What the local engine writes; Spark writes the same bytes."""
    return undisturbed(tmp_path_factory.mktemp("undisturbed"), FILES)


@pytest.mark.processes
def test_killed_at_every_point_of_an_epoch(expected: dict[str, bytes], tmp_path: Path) -> None:
    small = Small.make(tmp_path, FILES)
    said = tmp_path / "said"
    driver = [sys.executable, str(Path(dying_driver.__file__))]
    for point, epoch in DEATHS:
        died = _exit_code([*driver, point, str(epoch), *small.command()[len(THALWEG) :]], said)
        assert died == -9, f"{point} of epoch {epoch} did not kill the run:\n{said.read_text()}"
        assert not (small.checkpoint / "ended").exists()
    assert _exit_code(small.command(), said) == 0, said.read_text()
    assert small.output() == expected
    assert (small.checkpoint / "ended").exists()
    assert [epoch.final for epoch in small.log()] == [False] * FINAL + [True]


def _exit_code(command: list[str], said: Path) -> int:
    """How a run ended; it is started again if the machine was too busy for Spark, which is one more crash."""
    for _ in range(3):
        code = Run(command, said).wait()
        if code in (0, -9) or not starved(said):
            break
    return code


def test_killed_at_random_moments(expected: dict[str, bytes], tmp_path: Path) -> None:
    """Two lanes at a time: while one waits for the disk or for a single thread of the JVM, the other continues."""
    with ThreadPoolExecutor(2) as lanes:
        halves = [lanes.submit(_kill, tmp_path / f"lane{lane}", -(-KILLS // 2), SEED + lane) for lane in range(2)]
        outputs = [output for half in halves for output in half.result()]
    assert len(outputs) >= 2
    assert all(output == expected for output in outputs)


def _kill(folder: Path, kills: int, seed: int) -> list[dict[str, bytes]]:
    """Chains of kills on one checkpoint until the run ends, then a new chain. What the sinks held after each chain."""
    chance, killed = random.Random(seed), 0
    outputs: list[dict[str, bytes]] = []
    while killed < kills:
        small = Small.make(folder / str(len(outputs)), FILES)
        said = small.folder / "said"
        while not (small.checkpoint / "ended").exists():
            run = Run(small.command(), said)
            if killed < kills:
                killed += run.wait_until(moment(small.checkpoint, chance))
                run.kill()
            code = run.wait()
            assert code in (0, -9) or starved(said), f"exit code {code}, seed {seed}:\n{said.read_text()}"
        outputs.append(small.output())
    return outputs

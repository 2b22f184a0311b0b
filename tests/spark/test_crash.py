"""kill -9 of a run on Spark, driver, JVM and workers: after the restarts the sinks hold the same, bit for bit.

THALWEG_KILLS sets the number of random moments.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.small import THALWEG, Small, undisturbed
from tests.spark import dying_driver
from tests.spark.processes import Run

pytestmark = pytest.mark.spark

KILLS = int(os.environ.get("THALWEG_KILLS", "20"))
SEED = 11
FILES = 6  # nine epochs and the final one
FINAL = 9

# One chain of deaths on one checkpoint, each behind the one before; the final epoch dies four times.
DEATHS = (
    ("after_log", 0),
    ("before_sinks", 1),
    ("after_log", 3),
    ("inside_sink", 4),
    ("between_sinks", 5),
    ("after_sinks", 6),
    ("while_reading", 7),
    ("after_log", FINAL),
    ("before_sinks", FINAL),
    ("after_report", FINAL),
    ("before_mark", FINAL),
)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What the local engine writes; Spark writes the same bytes."""
    return undisturbed(tmp_path_factory.mktemp("undisturbed"), FILES)


@pytest.mark.usefixtures("spark")
def test_undisturbed(expected: dict[str, bytes], tmp_path: Path) -> None:
    small = Small.make(tmp_path, FILES)
    assert small.run("spark").epochs == FINAL + 1
    assert small.output() == expected


def test_killed_at_every_point_of_an_epoch(expected: dict[str, bytes], tmp_path: Path) -> None:
    small = Small.make(tmp_path, FILES)
    said = tmp_path / "said"
    driver = [sys.executable, str(Path(dying_driver.__file__))]
    for point, epoch in DEATHS:
        died = Run([*driver, point, str(epoch), *small.command()[len(THALWEG) :]], said)
        assert died.wait() == -9, f"{point} of epoch {epoch} did not kill the run:\n{said.read_text()}"
        assert not (small.checkpoint / "ended").exists()
    assert Run(small.command(), said).wait() == 0, said.read_text()
    assert small.output() == expected
    assert (small.checkpoint / "ended").exists()
    assert [epoch.final for epoch in small.log()] == [False] * FINAL + [True]


def test_killed_at_random_moments(expected: dict[str, bytes], tmp_path: Path) -> None:
    """Chains of kills on one checkpoint until the run ends, then a new chain. Most of them while epochs run."""
    chance, kills, chains = random.Random(SEED), 0, 0
    while kills < KILLS:
        small = Small.make(tmp_path / str(chains), FILES)
        said = small.folder / "said"
        ended = False
        while not ended:
            run = Run(small.command(), said)
            if kills < KILLS:
                run.wait_until(_moment(small, chance))
                kills += run.alive
                run.kill()
                ended = run.process.returncode == 0
            else:
                ended = run.wait() == 0
                assert ended, said.read_text()
            assert run.process.returncode in (0, -9), said.read_text()
        assert small.output() == expected, f"chain {chains}, seed {SEED}"
        chains += 1


def _moment(small: Small, chance: random.Random) -> Callable[[], bool]:
    """One in six while Spark starts, else a random time after the first to third epoch that the run cuts."""
    if chance.randrange(6) == 0:
        then = time.monotonic() + chance.uniform(0.5, 8.0)
        return lambda: time.monotonic() > then
    epochs, delay = _cut(small) + chance.randint(1, 3), chance.uniform(0.0, 0.8)
    reached: list[float] = []

    def moment() -> bool:
        if not reached and _cut(small) >= epochs:
            reached.append(time.monotonic())
        return bool(reached) and time.monotonic() > reached[0] + delay

    return moment


def _cut(small: Small) -> int:
    """How many epochs are in the input log."""
    folder = small.checkpoint / "log"
    return len(list(folder.glob("*.json"))) if folder.exists() else 0

"""kill -9 of the local engine: at every file that it writes, and at random moments."""

from __future__ import annotations

import os
import random
import signal
import time
import traceback
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from tests.amount import KILLS
from tests.small import Small, undisturbed
from thalweg.engine.storage import small_files as storage
from thalweg.engine.storage.checkpoint import Checkpoint

pytestmark = pytest.mark.slow

FILES = 2  # three epochs and the final one
MOMENTS = 4 * KILLS


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return undisturbed(tmp_path_factory.mktemp("undisturbed"), FILES)


def in_child(work: Callable[[], object]) -> int:
    """Do the work in a fork: it costs milliseconds, and a kill there is a kill."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def finished(child: int) -> bool:
    """Wait; whether it ended by itself. Anything but that and SIGKILL is a failure."""
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    assert status == 0, "the run failed"
    return True


def die_at_write(number: int, *, half: bool) -> None:
    """Patch this process to die before its write of that number, or when half of it is on the disk."""
    write_part, numbers = storage._write_part, count(1)

    def dying(file: Path, data: bytes, *, durable: bool, private: bool = True) -> Path:
        if next(numbers) < number:
            return write_part(file, data, durable=durable, private=private)
        if half:
            write_part(file, data[: len(data) // 2], durable=durable, private=private)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    storage._write_part = dying


def dying_run(small: Small, number: int, *, half: bool) -> None:
    die_at_write(number, half=half)
    small.run()


def test_killed_at_every_write(expected: dict[str, bytes], tmp_path: Path) -> None:
    kills = 0
    for half in (False, True):
        for number in count(1):
            small = Small.make(tmp_path / f"{half}-{number}", FILES)
            if finished(in_child(lambda: dying_run(small, number, half=half))):
                break
            kills += 1
            if not (small.checkpoint / "ended").exists():  # otherwise the last write was after the end
                assert finished(in_child(small.run))
            assert small.output() == expected, f"killed at write {number}, half of it written: {half}"
            assert (small.checkpoint / "ended").exists()
    assert kills > 50, "log, state, sinks, commit and progress of each epoch should be among them"


def test_killed_at_random_moments(expected: dict[str, bytes], tmp_path: Path) -> None:
    """Chains of kills on one checkpoint, each after a random time, until the run ends; then a new chain."""
    chance, kills, chains = random.Random(7), 0, 0
    while kills < MOMENTS:
        small = Small.make(tmp_path / f"{chains}", FILES)
        while not (small.checkpoint / "ended").exists():
            child = in_child(small.run)
            time.sleep(chance.uniform(0.0, 0.2))
            os.kill(child, signal.SIGKILL)
            kills += not finished(child)
        assert small.output() == expected, f"chain {chains}"
        assert [epoch.final for epoch in Checkpoint(small.checkpoint).log].index(True) == len(small.log()) - 1
        chains += 1

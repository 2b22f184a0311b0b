"""Processes that die under a run, and tuples that kill them: a clear stop that names what it can, and nothing lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.changed_code import CHANGES_CODE
from tests.small import PER_EPOCH, Small, thalweg, undisturbed
from tests.spark.processes import Run, session_members
from thalweg.api import run_plan
from thalweg.engine.core.run import RunOptions
from thalweg.errors import EngineError
from thalweg.optimize.passes import make_plan

pytestmark = [pytest.mark.spark, CHANGES_CODE]

FUNCTION = 'gains = bargains.map(lambda q: {"symbol": q.symbol, "gain": (q.vwap - q.price) * q.volume})'
POISONED = """
import ctypes
import os
import time


class Gain(tw.Tuple):
    symbol: str
    gain: float


@tw.declare(state="stateless")  # or the cured function would need another stage than the poisoned one
def gain(q):
    if q.volume in POISON:
        POISON[q.volume](0)
    return Gain(q.symbol, (q.vwap - q.price) * q.volume)


POISON = {}
gains = bargains.map(gain, Gain)
"""


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.usefixtures("spark")
def test_a_tuple_that_kills_its_worker(tmp_path: Path, expected: dict[str, bytes]) -> None:
    """By exiting, by a segmentation fault, and by never ending, one after the other on the same checkpoint."""
    small = Small.make(tmp_path / "small")
    for poison, message, found in (
        ("{35: os._exit}", "a Python worker died", "in PE "),
        ("{35: ctypes.string_at}", "a Python worker died", "Segmentation fault, in PE "),
        (
            "{35: lambda _: time.sleep(3600)}",
            "a Python worker did not respond for too long and was terminated",
            "in PE ",
        ),
    ):
        change = (FUNCTION, POISONED.replace("{}", poison))
        conf = {f"spark.sql.execution.pyspark.udf.{k}": v for k, v in LIMIT.items()} if "sleep" in poison else {}
        options = RunOptions(small.checkpoint, max_tuples_per_epoch=PER_EPOCH, interval_s=0.05, conf=conf)
        with pytest.raises(EngineError, match=message) as error:
            run_plan(make_plan(small.graph(change), degree=2, fuse="none"), "spark", options)
        assert error.value.operator == "gains"
        assert str(error.value.where).startswith(str(small.app(change)))
        assert str(error.value.found).startswith(found)
    small.run("spark", fuse="none")
    assert small.output() == expected


LIMIT = {"idleTimeoutSeconds": "10", "killOnIdleTimeout": "true"}


def test_processes_of_sparks_that_die(tmp_path: Path, expected: dict[str, bytes]) -> None:
    """Its source process, which cuts the epochs, then its JVM: an error and no hang; the next start resumes."""
    small = Small.make(tmp_path / "small")
    for victim, after, message in (
        ("python_streaming_source_runner", 1, "engine error: Spark's source process died"),
        ("org.apache.spark.deploy.SparkSubmit", 3, "engine error: Spark's JVM died\n  found: killed by signal 9"),
    ):
        said = tmp_path / f"said{after}"
        run = Run(small.command(), said)
        assert run.wait_until(lambda: len(small.log()) > after), said.read_text()
        (process,) = [pid for pid in session_members(run.process.pid) if victim in _command(pid)]
        os.kill(process, signal.SIGKILL)
        assert run.wait() == 1, said.read_text()
        assert message in said.read_text()
        assert "Traceback" not in said.read_text()
    ended = thalweg(*small.command()[3:])
    assert ended.returncode == 0, ended.stderr
    assert small.output() == expected


@pytest.mark.usefixtures("spark")
def test_a_module_that_workers_lack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read of the program does not name it, so it does not travel."""
    small = Small.make(tmp_path / "small", files=1)
    (tmp_path / "small" / "nameless.py").write_text("def keep(q):\n    return [q.vwap > q.price][0]\n")
    change = ("filter(lambda q: q.vwap > q.price)", "filter(__import__('name' + 'less').keep)")
    with pytest.raises(EngineError, match="a Python worker cannot import nameless"):
        small.run("spark", change)


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")

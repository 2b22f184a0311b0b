"""What tasks find when they look for the checkpoint and the inputs, and what is said of workers that cannot work."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException

from thalweg.engine.spark.check_reachable import _looking, _unfit, unreachable


def seen(token: Path, *inputs: Path) -> str:
    """As a worker runs it: from its pickle."""
    look = cloudpickle.loads(cloudpickle.dumps(_looking(str(token), tuple(map(str, inputs)))))
    (batch,) = look([])
    (row,) = batch.to_pylist()
    assert row["host"] == socket.gethostname()
    return str(row["problem"])


def test_what_a_task_sees(tmp_path: Path) -> None:
    token, data = tmp_path / "checkpoint" / "token", tmp_path / "data"
    assert seen(token) == f"the checkpoint {token.parent} is not visible"
    token.parent.mkdir()
    token.touch()
    assert seen(token) == ""
    assert seen(token, tmp_path, data) == f"the input {data} is not visible"
    data.mkdir()
    assert seen(token, tmp_path, data) == ""


def test_nothing_of_thalweg_is_needed_to_look(tmp_path: Path) -> None:
    (tmp_path / "look").write_bytes(cloudpickle.dumps(_looking(str(tmp_path / "look"), ())))
    code = (
        "import sys; sys.modules['thalweg'] = None; from pyspark import cloudpickle;"
        "print([b.to_pylist()[0]['problem'] for b in cloudpickle.load(open('look', 'rb'))([])])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, text=True) == "['']\n"


def test_a_task_without_its_checkpoint(tmp_path: Path) -> None:
    error = unreachable(tmp_path)
    assert error is not None
    assert str(tmp_path) in error.message
    assert socket.gethostname() in error.message
    (tmp_path / "manifest.json").touch()
    assert unreachable(tmp_path) is None


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("…\nModuleNotFoundError: No module named 'pandas'\n…", "a Python worker of the cluster cannot import pandas"),
        ('java.io.IOException: Cannot run program "/opt/py": error=2', "an executor has no Python at /opt/py"),
        ("something\nSomeException: else\n", "the cluster's Python workers cannot run tasks"),
    ],
)
def test_workers_that_cannot_work(said: str, message: str) -> None:
    assert _unfit(PySparkException(said)).message == message

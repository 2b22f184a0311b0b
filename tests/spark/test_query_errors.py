"""The error of a query that Spark stopped, from the text of Spark's exception."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import StreamingQueryException

import thalweg as tw
from thalweg.engine.spark import process_deaths
from thalweg.engine.spark.process_deaths import query_error
from thalweg.engine.spark.worker_notes import NoteFolder
from thalweg.errors import EngineError

pytestmark = pytest.mark.spark


class Row(tw.Tuple):
    i: int


IN_A_WORKER = """[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted due to stage failure.
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/lib/thalweg/runtime/pe.py", line 47, in run
    except MemoryError as error:
  File "/home/me/app.py", line 4, in f
    raise KeyboardInterrupt
KeyboardInterrupt
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)
"""


def test_an_error_of_a_jvm_that_is_about_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """It closes its context first, so that calls fail although the process is still there."""
    ending = subprocess.Popen(["sh", "-c", "sleep 1; exit 143"])
    monkeypatch.setattr(process_deaths, "_jvm", lambda: ending)
    with pytest.raises(EngineError, match="Spark's JVM died") as caught, process_deaths.report_jvm_death():
        raise Py4JError("the context was shut down")
    assert caught.value.found == "exit code 143"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (IN_A_WORKER, "KeyboardInterrupt"),
        (
            "Query failed\njava.io.IOException: no route\n\tat java.net.Error.raise(A.java)",
            "java.io.IOException: no route",
        ),
        ("Query failed\nfor a reason", "Query failed"),
    ],
)
def test_the_cause_is_an_exception_and_not_a_line_of_its_trace(text: str, found: str, tmp_path: Path) -> None:
    app = tw.App("small")
    app.source(tw.beacon(lambda i: {"i": i}, count=1), Row).sink(tw.none())
    error = query_error(StreamingQueryException(text), tmp_path, NoteFolder.of(tmp_path), app.graph())
    assert error.found == found

"""The error of a query that Spark stopped, from the text of Spark's exception."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException

import thalweg as tw
from thalweg.engine.spark.process_deaths import query_error
from thalweg.engine.spark.worker_notes import NoteFolder

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

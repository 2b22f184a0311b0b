"""What of the JVM's output reaches the user's terminal."""

from __future__ import annotations

import subprocess
import threading

import pytest

from thalweg.engine.spark.jvm_output import quiet

pytestmark = pytest.mark.spark

CLOSED = """Exception in thread "stateConnectionListenerThread" java.io.IOException: Broken pipe
\tat java.base/sun.nio.ch.FileDispatcherImpl.write0(Native Method)
Caused by: java.io.EOFException
\t... 3 more
"""
OTHER = """Exception in thread "dag-scheduler" java.lang.OutOfMemoryError: Java heap space
\tat org.apache.spark.Scheduler.run(Scheduler.scala:1)
"""


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        (f"one\n{CLOSED}two\n", "one\ntwo\n"),
        (f"{CLOSED}{CLOSED}{OTHER}three\n", f"{OTHER}three\n"),
        (f"{OTHER}{CLOSED}", OTHER),
    ],
)
def test_a_thread_whose_connection_was_closed(text: str, passed: str, capfd: pytest.CaptureFixture[str]) -> None:
    before = set(threading.enumerate())
    with quiet():
        program = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    program.communicate(text.encode())
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert capfd.readouterr().err == passed

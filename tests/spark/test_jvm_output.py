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


QUERY = """Exception in thread "stream execution thread for app [id = 8]" org.apache.spark.SparkException: await
\tat org.apache.spark.sql.execution.streaming.StreamExecution.runStream(StreamExecution.scala:408)
Caused by: org.apache.spark.rpc.RpcEnvStoppedException: RpcEnv already stopped.
\t... 8 more
"""
FAILED = QUERY.replace("org.apache.spark.rpc.RpcEnvStoppedException: RpcEnv already stopped.", "java.lang.Error: other")


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        (f"one\n{CLOSED}two\n", "one\ntwo\n"),
        (f"{CLOSED}{CLOSED}{OTHER}three\n", f"{OTHER}three\n"),
        (f"{OTHER}{CLOSED}", OTHER),
        (f"one\n{QUERY}two\n", "one\ntwo\n"),
        (f"{FAILED}{QUERY}{OTHER}{QUERY}", f"{FAILED}{OTHER}"),
        (f"{QUERY}{FAILED}", FAILED),
    ],
)
def test_a_thread_that_ends_with_its_connection(text: str, passed: str, capfd: pytest.CaptureFixture[str]) -> None:
    before = set(threading.enumerate())
    with quiet():
        program = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    program.communicate(text.encode())
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert capfd.readouterr().err == passed

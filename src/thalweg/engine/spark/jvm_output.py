"""Filter the JVM's routine output from the user's terminal and pass on everything else.

The JVM and all Python workers inherit the driver's standard error, so the output that users print in their operators
takes this path too. A thread forwards it line by line and drops the lines that every normal start prints.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_TRACEBACK = b"Traceback (most recent call last):"
_STACK_TRACE = b'Exception in thread "'
_IN_STACK_TRACE = (b"\tat ", b"\t... ", b"\tSuppressed: ", b"Caused by: ")
# What a thread of the JVM reports when a Python worker ends before it: not the reason why the worker ended.
_CLOSED = re.compile(
    rb"java\.io\.(EOFException|IOException: (Broken pipe|Connection reset|Stream closed|Socket closed))"
    rb"|java\.net\.SocketException|java\.nio\.channels\.\w*Close\w*Exception"
)
# A query's thread that is interrupted by the end of the JVM, as after a SIGTERM: only the causes in its stack trace
# show that. The driver reports how the query ended.
_QUERY_TRACE = b'Exception in thread "stream execution thread '
_STOPPED = re.compile(rb"RpcEnvStoppedException|Shutdown in progress|stopped SparkContext|SparkContext was shut down")
_CHATTER = (
    b"WARNING: Using incubator modules",
    b"Setting default log level to",
    b"To adjust logging level use",
    b"Using Spark's default log4j profile",
    b"Starting Streaming TransformWithState",
    b"Streaming TransformWithState",
    b"BrokenPipeError: [Errno 32] Broken pipe",  # the rest of two interleaved tracebacks
)


@contextmanager
def quiet() -> Iterator[None]:
    """Give processes that are started in the block a filtered standard error, which also gets their standard output."""
    ours = os.dup(2), os.dup(1)
    reading, writing = os.pipe()
    os.dup2(writing, 2)
    os.dup2(writing, 1)
    os.close(writing)
    try:
        yield
    finally:
        os.dup2(ours[0], 2)
        os.dup2(ours[1], 1)
        os.close(ours[1])
        threading.Thread(target=_pass_on, args=(reading, ours[0]), daemon=True).start()


def _pass_on(reading: int, stderr: int) -> None:
    with open(reading, "rb") as lines:
        traceback: list[bytes] = []
        in_closed = False  # the stack trace of a thread whose connection was closed
        for line in _without_stopped_queries(lines):
            in_closed = (in_closed and line.startswith(_IN_STACK_TRACE)) or (
                line.startswith(_STACK_TRACE) and _CLOSED.search(line) is not None
            )
            if in_closed:
                continue
            if traceback and line.startswith((b"  ", _TRACEBACK)):  # two workers may write at the same time
                traceback.append(line)
                continue
            if traceback and not _is_shutdown(traceback, line):
                os.write(stderr, b"".join([*traceback, line]))
            elif not traceback and line.strip() and not line.startswith((*_CHATTER, _TRACEBACK)):
                os.write(stderr, line)
            traceback = [line] if line.startswith(_TRACEBACK) else []


def _without_stopped_queries(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines without the stack traces of queries that ended with the JVM. Such a trace is held until it is complete;
    all other lines are passed on at once."""
    trace: list[bytes] = []
    for line in lines:
        if trace and line.startswith(_IN_STACK_TRACE):
            trace.append(line)
            continue
        if not _STOPPED.search(b"".join(trace)):
            yield from trace
        trace = [line] if line.startswith(_QUERY_TRACE) else []
        if not trace:
            yield line
    if not _STOPPED.search(b"".join(trace)):
        yield from trace


def _is_shutdown(traceback: list[bytes], error: bytes) -> bool:
    """Whether this is an idle worker that reports a closed pipe because the session has ended."""
    return error.startswith(b"BrokenPipeError") and any(b"pyspark/daemon.py" in line for line in traceback)

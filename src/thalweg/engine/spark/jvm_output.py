"""Keep the JVM's chatter off the user's terminal, and let everything else through.

The JVM inherits our standard error, and with it every Python worker, so what users print in their operators comes
this way too. A thread passes it on line by line and drops the lines that every healthy start prints.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_TRACEBACK = b"Traceback (most recent call last):"
_CHATTER = (
    b"WARNING: Using incubator modules",
    b"Setting default log level to",
    b"To adjust logging level use",
    b"Using Spark's default log4j profile",
    b"Starting Streaming TransformWithState",
    b"Streaming TransformWithState",
    b"BrokenPipeError: [Errno 32] Broken pipe",  # what is left of two tracebacks that came at once
)


@contextmanager
def quiet() -> Iterator[None]:
    """What is started inside the block gets a filtered standard error, and no standard output of ours."""
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
        for line in lines:
            if traceback and line.startswith((b"  ", _TRACEBACK)):  # two workers may speak at once
                traceback.append(line)
                continue
            if traceback and not _is_shutdown(traceback, line):
                os.write(stderr, b"".join([*traceback, line]))
            elif not traceback and line.strip() and not line.startswith((*_CHATTER, _TRACEBACK)):
                os.write(stderr, line)
            traceback = [line] if line.startswith(_TRACEBACK) else []


def _is_shutdown(traceback: list[bytes], error: bytes) -> bool:
    """Idle workers find their pipe closed when the session ends, and say so."""
    return error.startswith(b"BrokenPipeError") and any(b"pyspark/daemon.py" in line for line in traceback)

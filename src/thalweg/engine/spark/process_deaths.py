"""Processes that die under a run, as errors: the JVM, a Python worker, Spark's source process."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from thalweg.engine.spark.worker_notes import Note, Notes
from thalweg.engine.storage.small_files import NO_SPACE, cannot_write
from thalweg.errors import EngineError, ThalwegError, Where
from thalweg.ir.graph import LogicalGraph

_AGAIN = "with a --checkpoint the same command goes on, and nothing is lost"


@contextmanager
def jvm_deaths_said() -> Iterator[None]:
    """Whatever fails inside the block because the JVM is dead, fails with an error that says so."""
    try:
        yield
    except ThalwegError:
        raise
    except Exception as error:
        process = _jvm()
        if process is not None and isinstance(error, Py4JNetworkError | ConnectionError):
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)  # its connections close before it is gone
        if process is None or process.poll() is None:
            raise
        raise EngineError(
            "Spark's JVM died", found=_ending(process.returncode), hint=f"{_AGAIN}; was there enough memory?"
        ) from error


def let_us_say_it(spark: SparkSession) -> None:
    """What py4j and pyspark print, from threads of theirs, when the JVM's connections break: tracebacks, no reason."""
    logging.getLogger().addFilter(_is_not_py4j)
    server = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is not None:
        printed = server.handle_error

        def handle_error(request: object, address: object) -> None:
            if not isinstance(sys.exception(), EOFError | ConnectionError):
                printed(request, address)

        server.handle_error = handle_error


def _is_not_py4j(record: logging.LogRecord) -> bool:
    """It is the root logger's filter, so it sees only what is said in nobody's name."""
    return f"{os.sep}py4j{os.sep}" not in record.pathname


def stop(spark: SparkSession) -> None:
    """End a session, also one whose JVM is dead: then pyspark is told to forget it, or no other could be started."""
    process = _jvm()
    if process is None or process.poll() is None:
        spark.stop()
        return
    with warnings.catch_warnings(), suppress(Py4JError, ConnectionError):
        warnings.simplefilter("ignore", RuntimeWarning)  # that it is not cleanly shut down
        spark.stop()
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None


def _jvm() -> subprocess.Popen[bytes] | None:
    """The JVM that this process started, if it did."""
    process: subprocess.Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)
    return process


def _ending(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def query_error(error: StreamingQueryException, checkpoint: Path, notes: Notes, graph: LogicalGraph) -> ThalwegError:
    """What made Spark stop the query, as far as it says."""
    message = str(error)
    full = next((words for words in NO_SPACE if words in message), None)
    if full is not None:  # met by the JVM, or by a process of ours that could not even write down its error
        return cannot_write(checkpoint, full)
    missing = re.search(r"ModuleNotFoundError: No module named '([^']+)'", message)
    if missing is not None:
        return EngineError(
            f"a Python worker cannot import {missing.group(1)}",
            hint="install it where the workers run (what PYSPARK_PYTHON names), or keep it beside the application: "
            "docs/clusters.md",
        )
    if "Python worker" in message and ("crashed" in message or "idle timeout" in message):
        return _worker_died(message, notes, graph)
    if "Python worker failed to connect back" in message:
        return EngineError(
            "a Python worker did not start within the ten seconds that Spark gives it",
            hint=f"the machine is busy with other things: start again; {_AGAIN}",
        )
    if "Job aborted" not in message and "PythonStreamingSourceRunner" in getattr(error, "_stackTrace", ""):
        return EngineError(
            "Spark's source process died, a Python process that cuts the epochs", found=_cause(message), hint=_AGAIN
        )
    return EngineError(
        "Spark stopped the query",
        found=_cause(message),
        hint=f"--debug shows all that Spark said; {_AGAIN}",
    )


def _cause(message: str) -> str:
    """The last line that names an error, and is not a line of a stack."""
    lines = [line.strip() for line in message.splitlines()]
    named = [line for line in lines if ("Error" in line or "Exception" in line) and not line.startswith("at ")]
    return (named or [message])[-1][:400]


def _worker_died(message: str, notes: Notes, graph: LogicalGraph) -> EngineError:
    task = re.search(r"Lost task \S+ in stage \S+ \(TID (\d+)\)", message)
    left = notes.left(int(task.group(1))) if task is not None else []
    operators = [graph.by_name[name] for note in left for name in note.operators]
    place = _fault(message, {o.where.file for o in operators})
    slow = "idle timeout" in message
    return EngineError(
        "a Python worker said nothing for too long and was ended" if slow else "a Python worker died",
        operator=" or ".join(o.name for o in operators) or None,
        where=place or (operators[0].where if len(operators) == 1 else None),
        found=_found(message, left),
        hint=f"a function of these operators ended the process, or native code or the memory did; {_AGAIN}"
        if not slow
        else f"a function of these operators does not come back; {_AGAIN}",
    )


def _found(message: str, left: list[Note]) -> str:
    fatal = re.search(r"Fatal Python error: ([^\n]+)", message)
    at = "; ".join(f"PE {note.pe} on {note.host}" for note in left) or "no task of Thalweg's"
    return f"{fatal.group(1)}, in {at}" if fatal else f"in {at}"


def _fault(message: str, files: set[str]) -> Where | None:
    """The user's line at which the process was, where Python could still say it."""
    for file, line in re.findall(r'File "([^"]+)", line (\d+) in ', message):
        if file in files:
            return Where(file, int(line))
    return None

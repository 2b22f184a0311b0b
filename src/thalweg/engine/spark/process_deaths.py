"""Errors for processes that die during a run: the JVM, a Python worker, Spark's source process."""

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

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from thalweg.engine.spark.worker_notes import Note, NoteFolder
from thalweg.engine.storage.small_files import NO_SPACE, cannot_write
from thalweg.errors import EngineError, ThalwegError, Where
from thalweg.ir.graph import LogicalGraph

_NAMED = re.compile(r"(?:Caused by: )?[\w.$]*(?:Error|Exception|Interrupt|Exit)(?::|$)")
_ENDING_S = 10  # on a busy machine
_AGAIN = "with --checkpoint no data is lost: run the same command to resume"


@contextmanager
def report_jvm_death() -> Iterator[None]:
    """Replace any exception in the block that is caused by the death of the JVM with an error that reports it."""
    try:
        yield
    except ThalwegError:
        raise
    except Exception as error:
        process = _jvm()
        lost = isinstance(error, Py4JError | ConnectionError)  # a JVM that ends still answers, with errors
        if process is None or not (_ends(process) if lost else process.poll() is not None):
            raise
        raise EngineError(
            "Spark's JVM died", found=_ending(process.returncode), hint=f"check that there is enough memory; {_AGAIN}"
        ) from error


def silence_py4j(spark: SparkSession) -> None:
    """Suppress the tracebacks that threads of py4j and pyspark print, without a cause, when the JVM is gone."""
    logging.getLogger().addFilter(_is_not_py4j)
    logging.getLogger("py4j").propagate = False  # what a callback raised is reported by the run
    server = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is not None:
        printed = server.handle_error

        def handle_error(request: object, address: object) -> None:
            if not isinstance(sys.exception(), EOFError | ConnectionError):
                printed(request, address)

        server.handle_error = handle_error


def _is_not_py4j(record: logging.LogRecord) -> bool:
    """A filter of the root logger: it sees only records that were logged directly to that logger."""
    return f"{os.sep}py4j{os.sep}" not in record.pathname


def stop(spark: SparkSession) -> None:
    """End a session, even if its JVM is dead or dies now. In that case pyspark's references are reset so that a new one
    can be started."""
    process = _jvm()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # about the unclean shutdown
            spark.stop()
    except (Py4JError, ConnectionError):
        if process is None or not _ends(process):
            raise
    if process is not None and process.poll() is not None:
        SparkSession._instantiatedSession = SparkSession._activeSession = None
        SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None


def _jvm() -> subprocess.Popen[bytes] | None:
    """The JVM that this process started, if it did."""
    process: subprocess.Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)
    return process


def _ends(process: subprocess.Popen[bytes]) -> bool:
    """Whether the JVM ends: its connections close before the process exits."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(_ENDING_S)
    return process.poll() is not None


def _ending(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def query_error(
    error: StreamingQueryException, checkpoint: Path, notes: NoteFolder, graph: LogicalGraph
) -> ThalwegError:
    """The reason why Spark stopped the query, as far as Spark reports it."""
    message = str(error)
    full = next((words for words in NO_SPACE if words in message), None)
    if full is not None:  # raised in the JVM, or in a Thalweg process that could not record its error
        return cannot_write(checkpoint, full)
    missing = re.search(r"ModuleNotFoundError: No module named '([^']+)'", message)
    if missing is not None:
        return EngineError(
            f"a Python worker cannot import {missing.group(1)}",
            hint="install it in the workers' Python (PYSPARK_PYTHON), or put it next to the application: "
            "see docs/clusters.md",
        )
    if "Python worker" in message and ("crashed" in message or "idle timeout" in message):
        return _worker_died(message, notes, graph)
    if "Python worker failed to connect back" in message:
        return EngineError(
            "a Python worker did not start within the ten seconds that Spark allows",
            hint=f"the machine is overloaded: try again; {_AGAIN}",
        )
    if "Job aborted" not in message and "PythonStreamingSourceRunner" in getattr(error, "_stackTrace", ""):
        return EngineError(
            "Spark's source process died (the Python process that cuts the epochs)", found=_cause(message), hint=_AGAIN
        )
    return EngineError(
        "Spark stopped the query",
        found=_cause(message),
        hint=f"--debug shows Spark's full error message; {_AGAIN}",
    )


def _cause(message: str) -> str:
    """The last line that begins with the class of an exception: others are part of a stack trace."""
    named = [line for line in map(str.strip, message.splitlines()) if _NAMED.match(line)]
    return (named or message.splitlines()[:1] or [""])[-1][:400]


def _worker_died(message: str, notes: NoteFolder, graph: LogicalGraph) -> EngineError:
    task = re.search(r"Lost task \S+ in stage \S+ \(TID (\d+)\)", message)
    left = notes.left(int(task.group(1))) if task is not None else []
    operators = [graph.by_name[name] for note in left for name in note.operators]
    place = _fault(message, {o.where.file for o in operators})
    slow = "idle timeout" in message
    return EngineError(
        "a Python worker did not respond for too long and was terminated" if slow else "a Python worker died",
        operator=" or ".join(o.name for o in operators) or None,
        where=place or (operators[0].where if len(operators) == 1 else None),
        found=_found(message, left),
        hint=f"a function of these operators exited, native code crashed, or the memory was exhausted; {_AGAIN}"
        if not slow
        else f"a function of these operators does not return; {_AGAIN}",
    )


def _found(message: str, left: list[Note]) -> str:
    fatal = re.search(r"Fatal Python error: ([^\n]+)", message)
    at = "; ".join(f"PE {note.pe} on {note.host}" for note in left) or "no Thalweg task"
    return f"{fatal.group(1)}, in {at}" if fatal else f"in {at}"


def _fault(message: str, files: set[str]) -> Where | None:
    """The line of user code that was running, if Python could still report it."""
    for file, line in re.findall(r'File "([^"]+)", line (\d+) in ', message):
        if file in files:
            return Where(file, int(line))
    return None

"""Check that executors can reach the checkpoint, where they keep state, and the files that they read."""

from __future__ import annotations

import re
import socket
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from thalweg.errors import EngineError
from thalweg.ir.graph import LogicalGraph

_SCHEMA = "host string, problem string"
_HINT = "all machines of a cluster must share it, under the same path: see docs/clusters.md"


def check_reach(spark: SparkSession, checkpoint: Path, graph: LogicalGraph) -> None:
    """Check the paths in tasks before the query starts, with one task per core that the cluster has now. If a machine
    joins later, a task that fails there checks again (`unreachable`)."""
    folders = [s.endpoint.folder for s in graph.sources]
    inputs = tuple(folder for folder in folders if folder is not None and Path(folder).exists())
    token = checkpoint / f"reach-{uuid.uuid4().hex}"
    token.touch()
    tasks = spark.sparkContext.defaultParallelism

    try:
        rows = spark.range(0, tasks, 1, tasks).mapInArrow(_looking(str(token), inputs), _SCHEMA).collect()
    except PySparkException as error:
        raise _unfit(error) from error
    finally:
        token.unlink()
    for row in rows:
        if row["problem"]:
            raise EngineError(f"{row['problem']} from the executor on {row['host']}", hint=_HINT)


def _looking(token: str, inputs: tuple[str, ...]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function that does not import Thalweg: where the checkpoint is not visible, Thalweg cannot be imported."""

    def look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        import socket

        import pyarrow as pa

        for _ in batches:
            pass
        folder, problem = os.path.dirname(token), ""
        missing = [path for path in inputs if not os.path.exists(path)]
        if not os.path.exists(token):
            problem = f"the checkpoint {folder} is not visible"
        elif not os.access(folder, os.W_OK):
            problem = f"the checkpoint {folder} cannot be written"
        elif missing:
            problem = f"the input {missing[0]} is not visible"
        yield pa.RecordBatch.from_pylist([{"host": socket.gethostname(), "problem": problem}])

    return look


def unreachable(checkpoint: Path) -> EngineError | None:
    """In a task that failed: the cause, if it is that this machine cannot reach the checkpoint."""
    if (checkpoint / "manifest.json").exists():
        return None
    message = f"the checkpoint {checkpoint} is not visible from the executor on {socket.gethostname()}"
    return EngineError(message, hint=_HINT)


def _unfit(error: PySparkException) -> EngineError:
    """The error for workers that cannot run any task."""
    message = str(error)
    missing = re.search(r"ModuleNotFoundError: No module named '([^']+)'", message)
    if missing is not None:
        hint = "the Python that PYSPARK_PYTHON points to needs Thalweg's dependencies: see docs/clusters.md"
        return EngineError(f"a Python worker of the cluster cannot import {missing.group(1)}", hint=hint)
    program = re.search(r'Cannot run program "([^"]+)"', message)
    if program is not None:
        hint = "set PYSPARK_PYTHON to a path at which all machines have the interpreter"
        return EngineError(f"an executor has no Python at {program.group(1)}", hint=hint)
    lines = [line.strip() for line in message.splitlines() if "Error" in line or "Exception" in line]
    return EngineError(
        "the cluster's Python workers cannot run tasks",
        found=(lines or [message[:400]])[-1],
        hint="--debug shows Spark's full error message",
    )

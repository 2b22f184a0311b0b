"""Before a query starts: send its code to the workers and check that they can reach its files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from thalweg.engine.spark.check_reachable import check_reach
from thalweg.engine.spark.modules import code_of, own_code
from thalweg.engine.spark.session import is_local
from thalweg.engine.spark.ship_modules import shipped
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.ir.graph import LogicalGraph


@contextmanager
def deployed(spark: SparkSession, graph: LogicalGraph, checkpoint: Checkpoint) -> Iterator[None]:
    """Make code that is sent to workers in the block run there, with only Python and the dependencies installed.

    The workers of a local master see the driver's files and have the driver's import path from the start of Spark.
    """
    local = is_local(str(spark.sparkContext.master))
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep) if local else []
    codes = {"thalweg": () if local else own_code(), "application": code_of(graph, known)}
    with shipped(spark, codes, checkpoint.folder / "code"):
        if not local:
            check_reach(spark, checkpoint.folder, graph)
        yield

"""Connectors of Spark's that are no part of PySpark: fetched when Thalweg starts the session, asked for otherwise."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

from thalweg.engine.sinks.writers import WriteRows
from thalweg.errors import EngineError
from thalweg.ir.endpoints import Connector
from thalweg.ir.graph import LogicalGraph

_PACKAGES, _JARS = "spark.jars.packages", "spark.jars"


def package(connector: Connector) -> str:
    """The artifact of PySpark's own version."""
    return f"org.apache.spark:{connector.artifact}:{pyspark.__version__}"


def connectors_of(graph: LogicalGraph) -> list[Connector]:
    endpoints = [*(s.endpoint for s in graph.sources), *(s.endpoint for s in graph.sinks)]
    needed = {e.connector.artifact: e.connector for e in endpoints if e.connector is not None}
    return list(needed.values())


def with_packages(graph: LogicalGraph, conf: Mapping[str, str]) -> Mapping[str, str]:
    """The settings of a new session with what the graph needs. A connector that the user names is not added again."""
    named = ",".join(filter(None, (conf.get(_PACKAGES), conf.get(_JARS))))
    missing = [package(connector) for connector in connectors_of(graph) if connector.artifact not in named]
    return {**conf, _PACKAGES: ",".join(filter(None, (conf.get(_PACKAGES), *missing)))} if missing else conf


def check_connectors(spark: SparkSession, graph: LogicalGraph) -> None:
    """Before anything starts: whether this session can do what the graph asks of it. No server is asked for that."""
    for connector in connectors_of(graph):
        wanted = package(connector)
        try:
            spark.readStream.format(connector.format).options(**connector.trial).load()
        except Exception as error:
            raise EngineError(
                f"this Spark session has no {connector.name} connector",
                expected=wanted,
                found=first_line(error),
                hint=f"SparkSession.builder.config({_PACKAGES!r}, {wanted!r}), before the session is started",
            ) from error


def rows_writer(spark: SparkSession) -> WriteRows:
    """Writes rows through a format of Spark's. One task writes them: in a Kafka partition their order is kept."""

    def write(table: pa.Table, format: str, options: Mapping[str, str]) -> None:
        try:
            spark.createDataFrame(table).coalesce(1).write.format(format).options(**options).mode("append").save()
        except Exception as error:  # not all that the JVM says has a class of its own in PySpark
            raise EngineError(f"Spark could not write {format}", found=root_cause(error)) from error

    return write


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def root_cause(error: Exception) -> str:
    """What the innermost exception of a stack trace says: it is the one that names the broker, or the file."""
    lines = [line.strip() for line in str(error).splitlines()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    thrown = [line.removeprefix(": ") for line in lines if line.startswith(": ")]  # of an error without a class
    return [*thrown[:1], *causes][-1] if thrown or causes else first_line(error)

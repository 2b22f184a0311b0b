"""Spark connectors that are not part of PySpark: downloaded if Thalweg starts the session, otherwise required."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

from thalweg.engine.sinks.writers import WriteRows
from thalweg.engine.spark.settings import PACKAGES
from thalweg.errors import EngineError
from thalweg.ir.endpoints import Connector
from thalweg.ir.graph import LogicalGraph

_JARS = "spark.jars"


def package(connector: Connector) -> str:
    """The Maven coordinates of the connector, in the version of PySpark."""
    return f"org.apache.spark:{connector.artifact}:{pyspark.__version__}"


def connectors_of(graph: LogicalGraph) -> list[Connector]:
    endpoints = [*(s.endpoint for s in graph.sources), *(s.endpoint for s in graph.sinks)]
    needed = {e.connector.artifact: e.connector for e in endpoints if e.connector is not None}
    return list(needed.values())


def with_packages(graph: LogicalGraph, conf: Mapping[str, str]) -> Mapping[str, str]:
    """The settings of a new session, plus the connectors that the graph needs and the user has not listed."""
    named = ",".join(filter(None, (conf.get(PACKAGES), conf.get(_JARS))))
    missing = [package(connector) for connector in connectors_of(graph) if connector.artifact not in named]
    return {**conf, PACKAGES: ",".join(filter(None, (conf.get(PACKAGES), *missing)))} if missing else conf


def check_connectors(spark: SparkSession, graph: LogicalGraph) -> None:
    """Check that this session has the connectors that the graph needs, before anything starts. Contacts no server."""
    for connector in connectors_of(graph):
        wanted = package(connector)
        try:
            spark.readStream.format(connector.format).options(**connector.trial).load()
        except Exception as error:
            raise EngineError(
                f"this Spark session has no {connector.name} connector",
                expected=wanted,
                found=first_line(error),
                hint=f"SparkSession.builder.config({PACKAGES!r}, {wanted!r}), before the session is started",
            ) from error


def rows_writer(spark: SparkSession) -> WriteRows:
    """A function that writes rows in a Spark format, in one task, which keeps their order in a Kafka partition."""

    def write(table: pa.Table, format: str, options: Mapping[str, str]) -> None:
        try:
            spark.createDataFrame(table).coalesce(1).write.format(format).options(**options).mode("append").save()
        except Exception as error:  # PySpark does not have a class for every JVM error
            raise EngineError(f"Spark could not write {format}", found=root_cause(error)) from error

    return write


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def root_cause(error: Exception) -> str:
    """The message of the innermost exception of a stack trace: it is the one that names the broker or the file."""
    lines = [line.strip() for line in str(error).splitlines()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    thrown = [line.removeprefix(": ") for line in lines if line.startswith(": ")]  # without a PySpark class
    return [*thrown[:1], *causes][-1] if thrown or causes else first_line(error)

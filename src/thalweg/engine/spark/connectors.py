"""Connectors of Spark's that are no part of PySpark: fetched when Thalweg starts the session, asked for otherwise."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

from thalweg.engine.sinks.writers import WriteRows
from thalweg.errors import EngineError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.row_endpoints import Kafka

_ARTIFACT = "spark-sql-kafka-0-10_2.13"
KAFKA_PACKAGE = f"org.apache.spark:{_ARTIFACT}:{pyspark.__version__}"
_PACKAGES, _JARS = "spark.jars.packages", "spark.jars"


def uses_kafka(graph: LogicalGraph) -> bool:
    endpoints = [*(s.endpoint for s in graph.sources), *(s.endpoint for s in graph.sinks)]
    return any(isinstance(endpoint, Kafka) for endpoint in endpoints)


def with_packages(graph: LogicalGraph, conf: Mapping[str, str]) -> Mapping[str, str]:
    """The settings of a new session with what the graph needs. A connector that the user names is not added again."""
    named = ",".join(filter(None, (conf.get(_PACKAGES), conf.get(_JARS))))
    if not uses_kafka(graph) or _ARTIFACT in named:
        return conf
    packages = ",".join(filter(None, (conf.get(_PACKAGES), KAFKA_PACKAGE)))
    return {**conf, _PACKAGES: packages}


def check_connectors(spark: SparkSession, graph: LogicalGraph) -> None:
    """Before anything starts: whether this session can do what the graph asks of it. No broker is asked for that."""
    if not uses_kafka(graph):
        return
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "none:1").option("subscribe", "none")
    try:
        reader.load()
    except Exception as error:
        raise EngineError(
            "this Spark session has no Kafka connector",
            expected=KAFKA_PACKAGE,
            found=first_line(error),
            hint=f"SparkSession.builder.config({_PACKAGES!r}, {KAFKA_PACKAGE!r}), before the session is started",
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

"""The DataFrames that row sources begin with."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from thalweg.engine.inputs.spark_only import revealed, shown
from thalweg.engine.spark.connectors import root_cause
from thalweg.engine.spark.row_schema import spark_schema
from thalweg.errors import InputError, InternalError
from thalweg.ir.operators import Source
from thalweg.ir.row_endpoints import Kafka, SparkFormat, SparkFrame

_FILES = ("json", "csv", "parquet", "orc", "xml", "avro")  # what a file's columns are, Spark wants to be told


def rows_of(spark: SparkSession, source: Source, max_tuples: int) -> DataFrame:
    """The rows of a source, not yet asked for."""
    match source.endpoint:
        case SparkFrame(frame=DataFrame() as frame):
            return frame
        case SparkFormat(format=format, options=options):
            return _loaded(spark, source, format, revealed(options))
        case Kafka() as kafka:
            return _loaded(spark, source, "kafka", kafka_options(kafka, max_tuples))
        case _:
            raise InternalError(f"{source.name} has no rows", operator=source.name, where=source.where)


def kafka_options(kafka: Kafka, max_tuples: int) -> dict[str, str]:
    """What the user says counts. A batch is at most as long as an epoch, so that no backlog fills the memory."""
    return {
        "kafka.bootstrap.servers": kafka.servers,
        "subscribe": kafka.topic,
        "startingOffsets": kafka.starting,
        "maxOffsetsPerTrigger": str(max_tuples),
        **revealed(kafka.options),
    }


def _loaded(spark: SparkSession, source: Source, format: str, options: dict[str, str]) -> DataFrame:
    reader = spark.readStream.format(format).options(**options)
    if format.lower() in _FILES:
        reader = reader.schema(spark_schema(source.outputs[0]))
    try:
        return reader.load()
    except Exception as error:  # not all that the JVM says has a class of its own in PySpark
        assert isinstance(source.endpoint, SparkFormat | Kafka)
        raise InputError(
            f"{shown(source.endpoint)} cannot be read",
            operator=source.name,
            where=source.where,
            found=root_cause(error),
        ) from error

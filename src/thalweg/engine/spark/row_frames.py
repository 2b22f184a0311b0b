"""The DataFrames that row sources read."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from thalweg.engine.spark.connectors import root_cause
from thalweg.engine.spark.row_schema import spark_schema
from thalweg.errors import InputError
from thalweg.ir.endpoints import FedBySpark
from thalweg.ir.operators import Source

_FILES = ("json", "csv", "parquet", "orc", "xml", "avro")  # formats for which Spark requires a schema


def rows_of(spark: SparkSession, source: Source, endpoint: FedBySpark, max_tuples: int) -> DataFrame:
    """The rows of a source, not yet evaluated."""
    rows = endpoint.rows(max_tuples)
    return rows if isinstance(rows, DataFrame) else _loaded(spark, source, *rows)


def _loaded(spark: SparkSession, source: Source, format: str, options: Mapping[str, str]) -> DataFrame:
    reader = spark.readStream.format(format).options(**options)
    if format.lower() in _FILES:
        reader = reader.schema(spark_schema(source.outputs[0]))
    try:
        return reader.load()
    except Exception as error:  # PySpark does not have a class for every JVM error
        raise InputError(
            f"{source.endpoint.title} cannot be read",
            operator=source.name,
            where=source.where,
            found=root_cause(error),
        ) from error

"""One Spark session per test process: `run_spark` finds it active and uses it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from thalweg.engine.spark.session import STATIC, spark_session

# Hundreds of tiny queries: the JVM's optimizing compiler would cost more than it brings.
FAST_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    options = "spark.driver.extraJavaOptions"
    with spark_session("local[2]", {options: f"{STATIC[options]} {FAST_JAVA}"}, channels=2) as session:
        yield session

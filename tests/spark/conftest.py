"""One Spark session per test process: `run_spark` finds it active and uses it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.spark.processes import FAST_JAVA
from thalweg.engine.spark.session import JAVA_OPTIONS, spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with spark_session("local[2]", {JAVA_OPTIONS: FAST_JAVA}, channels=2) as session:
        yield session

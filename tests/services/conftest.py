"""Real services, each started once per test process. Run by `make test-services`, and by nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.services import kafka
from tests.services.jars import KAFKA_PACKAGE, PACKAGES, connector
from tests.services.kafka import Broker
from tests.services.postgres import Postgres, server
from tests.spark.processes import FAST_JAVA
from thalweg.engine.spark.session import JAVA_OPTIONS, spark_session


def pytest_report_header() -> str:
    found = "" if PACKAGES in connector() else ", which is not published; used: tests/services/jars.py, EARLIER"
    return f"Kafka connector: {KAFKA_PACKAGE}{found}"


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with kafka.broker(tmp_path_factory.mktemp("kafka")) as started:
        yield started


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with server() as started:
        yield started


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session with Spark's Kafka connector."""
    conf = {JAVA_OPTIONS: FAST_JAVA, **connector()}
    with spark_session("local[2]", conf, channels=2) as session:
        yield session

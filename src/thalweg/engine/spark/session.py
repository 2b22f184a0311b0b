"""The Spark session, with the settings that make an epoch cheap."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from thalweg.engine.spark.java import require_java
from thalweg.engine.spark.quiet import quiet
from thalweg.errors import EngineError

_PACKAGES = "spark.jars.packages"
_PACKAGES_HINT = (
    "it fetches {} from Maven Central, and keeps it; without a network name the jars by --conf spark.jars=FILE,FILE"
)

# Fixed when the JVM starts. Each is measured: benchmarks/spark/README.md.
STATIC: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    "spark.sql.warehouse.dir": "/tmp/thalweg-warehouse",  # never used; the default would litter the user's folder
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}",
}

# Set for the session of a query.
RUNTIME: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",  # it may coalesce the partitions that a plan chose
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",  # the source itself makes every epoch
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Without it Hadoop forks `readlink` and `chmod` for every checkpoint file. Right where rename is atomic.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}


@contextmanager
def spark_session(
    master: str | None, conf: Mapping[str, str], channels: int, given: SparkSession | None = None
) -> Iterator[SparkSession]:
    """Like the given session, or the active one if there is one, else a new one that ends with the block."""
    active = given or SparkSession.getActiveSession()
    spark = active or _start(master, conf)
    try:
        yield query_session(spark, conf, channels)
    finally:
        if active is None:
            spark.stop()


def query_session(spark: SparkSession, conf: Mapping[str, str], channels: int) -> SparkSession:
    """A session for one query, with the settings that it needs; the user's own session keeps its own."""
    session = spark.newSession()
    for key, value in {**RUNTIME, "spark.sql.shuffle.partitions": str(channels), **_settable(session, conf)}.items():
        session.conf.set(key, value)
    return session


def _start(master: str | None, conf: Mapping[str, str]) -> SparkSession:
    require_java()
    # Otherwise the workers run whatever `python3` is on the path.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(
        dict.fromkeys(p for p in sys.path if p)
    )  # modules beside the application
    builder = SparkSession.builder.appName("thalweg").master(master or "local[*]")
    for key, value in {**STATIC, **conf}.items():
        builder = builder.config(key, value)
    with quiet():
        try:
            return builder.getOrCreate()
        except PySparkRuntimeError as error:
            raise EngineError(
                "Spark did not start",
                found=str(error),
                hint=_PACKAGES_HINT.format(conf[_PACKAGES]) if _PACKAGES in conf else None,
            ) from error


def _settable(session: SparkSession, conf: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in conf.items() if session.conf.isModifiable(key)}

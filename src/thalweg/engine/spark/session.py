"""The Spark session, with the settings that make an epoch cheap."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from thalweg.engine.core.user_modules import register_modules
from thalweg.engine.spark.archive import mapping_options
from thalweg.engine.spark.java import require_java
from thalweg.engine.spark.jvm_output import quiet
from thalweg.engine.spark.process_deaths import report_jvm_death, silence_py4j, stop
from thalweg.engine.spark.settings import PACKAGES, refusals
from thalweg.engine.spark.spark_home import lean_home
from thalweg.engine.storage.small_files import private_temporary_folder

LOCAL = "local[*]"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_PACKAGES_HINT = (
    "Spark downloads {} once from Maven Central; without a network, pass the jars with --conf spark.jars=FILE,FILE"
)

# The JVM's optimizing compiler takes a third of the CPU time of a start, which pays off only after hundreds of epochs.
# A run that ends by itself does not use it; in any other run, code must run ten times as often before it is optimized.
_BRIEF = "-XX:TieredStopAtLevel=1"
_LONG = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000 "
    "-XX:Tier4BackEdgeThreshold=400000"
)

# Fixed when the JVM starts. Each is measured: benchmarks/spark/README.md, docs/decisions/0039-start-on-spark.md.
STATIC: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    "spark.sql.warehouse.dir": "/tmp/thalweg-warehouse",  # never used; the default is in the user's folder
    JAVA_OPTIONS: f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}",
}

# In local mode only this machine needs the driver's ports.
LOOPBACK: Mapping[str, str] = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
_LOCAL_IP = "SPARK_LOCAL_IP"
LOCAL_FOLDER = "spark.local.dir"  # Spark's folder for the tuples of exchanges, which it makes readable by all

# Set for the session of a query.
RUNTIME: Mapping[str, str] = {
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",  # a worker that crashes reports where
    "spark.sql.adaptive.enabled": "false",  # it might coalesce the partitions that a plan chose
    # A task that runs again sends the same tuples, but with different timings: Spark would treat that as different
    # output and fail the query if a consumer has already finished.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",  # would enable the checksum
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",  # the source creates every epoch
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Otherwise Hadoop forks `readlink` and `chmod` for every checkpoint file. Correct where rename is atomic.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}


@contextmanager
def spark_session(
    master: str | None,
    conf: Mapping[str, str],
    channels: int,
    given: SparkSession | None = None,
    *,
    brief: bool = False,
) -> Iterator[SparkSession]:
    """A session derived from the given one, or from the active one of the process, or else a new one that ends with the
    block. `brief`: the work of a new session ends by itself."""
    running = given or _running()
    spark = running or _start(master or LOCAL, conf, brief=brief)
    try:
        with report_jvm_death():
            yield query_session(spark, conf, channels)
    finally:
        if running is None:
            stop(spark)


def _running() -> SparkSession | None:
    """The session of the process. `getActiveSession` finds it only in the thread that created it."""
    return SparkSession.active() if SparkContext._active_spark_context is not None else None


def query_session(spark: SparkSession, conf: Mapping[str, str], channels: int) -> SparkSession:
    """A session for one query, with the settings that it needs. The settings of the user's session do not change."""
    register_modules()
    session = spark.newSession()
    for key, value in {**RUNTIME, "spark.sql.shuffle.partitions": str(channels), **_settable(session, conf)}.items():
        with refusals(f"Spark rejects the setting {key}"):
            session.conf.set(key, value)
    return session


def is_local(master: str) -> bool:
    """Whether workers are processes that the driver's JVM starts on this machine, so that they share its paths."""
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def _start(master: str, conf: Mapping[str, str], *, brief: bool) -> SparkSession:
    require_java()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = _python(master, conf)
    if is_local(master):
        # For modules next to the application. To other machines they are sent: ship_modules.py.
        os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(p for p in sys.path if p))
    settings = {
        **STATIC,
        **({**LOOPBACK, LOCAL_FOLDER: str(private_temporary_folder())} if is_local(master) else {}),
        **conf,
        JAVA_OPTIONS: _java_options(master, conf.get(JAVA_OPTIONS, ""), brief=brief),
    }
    builder = SparkSession.builder.appName("thalweg").master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    hint = _PACKAGES_HINT.format(conf[PACKAGES]) if PACKAGES in conf else None
    with (
        refusals("Spark did not start", hint),
        quiet(),
        own_interrupts(),
        lean_home() if is_local(master) else nullcontext(),
        _address(settings["spark.driver.bindAddress"]) if is_local(master) else nullcontext(),
    ):
        spark = builder.getOrCreate()
    silence_py4j(spark)
    return spark


@contextmanager
def _address(address: str) -> Iterator[None]:
    """The address of the web interface of a JVM that is started in the block. Spark has no setting for it."""
    if _LOCAL_IP in os.environ:
        yield
        return
    os.environ[_LOCAL_IP] = address
    try:
        yield
    finally:
        del os.environ[_LOCAL_IP]


def _java_options(master: str, own: str, *, brief: bool) -> str:
    """The user's options come last: for a JVM the last occurrence of an option wins."""
    archive = mapping_options() if is_local(master) and "Archive" not in own else ""
    compiler = f"{_BRIEF if brief else _LONG} -XX:+IgnoreUnrecognizedVMOptions"
    return " ".join(part for part in (STATIC[JAVA_OPTIONS], compiler, archive, own) if part)


def _python(master: str, conf: Mapping[str, str]) -> str:
    """The workers' interpreter. Without this setting they would run the first `python3` on the PATH."""
    configured = None if is_local(master) else os.environ.get("PYSPARK_PYTHON")
    return conf.get("spark.pyspark.python") or configured or sys.executable


@contextmanager
def own_interrupts() -> Iterator[None]:
    """Restore the program's handler for Ctrl-C, if it has one: PySpark replaces it with its own."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if main else None
    try:
        yield
    finally:
        if main and before is not signal.default_int_handler:
            signal.signal(signal.SIGINT, before)


def _settable(session: SparkSession, conf: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in conf.items() if session.conf.isModifiable(key)}

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
from thalweg.engine.spark.process_deaths import jvm_deaths_said, let_us_say_it, stop
from thalweg.engine.spark.settings import refusals
from thalweg.engine.spark.spark_home import lean_home

LOCAL = "local[*]"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_PACKAGES = "spark.jars.packages"
_PACKAGES_HINT = (
    "it fetches {} from Maven Central, and keeps it; without a network name the jars by --conf spark.jars=FILE,FILE"
)

# The JVM's optimizing compiler takes a third of the CPU time of a start, and its code gains that back after hundreds of
# epochs. A run that ends by itself does without it; any other runs its code ten times as often before it is optimized.
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
    "spark.sql.warehouse.dir": "/tmp/thalweg-warehouse",  # never used; the default would litter the user's folder
    JAVA_OPTIONS: f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}",
}

# Set for the session of a query.
RUNTIME: Mapping[str, str] = {
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",  # a worker that crashes says where
    "spark.sql.adaptive.enabled": "false",  # it may coalesce the partitions that a plan chose
    # A task that runs again sends the same tuples, but other timings beside them: Spark would take that for another
    # output and, where a consumer had finished already, end the query.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",  # would turn it on by itself
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
    master: str | None,
    conf: Mapping[str, str],
    channels: int,
    given: SparkSession | None = None,
    *,
    brief: bool = False,
) -> Iterator[SparkSession]:
    """Like the given session, or the process's if there is one, else a new one that ends with the block. `brief`: what
    it is for ends by itself."""
    running = given or _running()
    spark = running or _start(master or LOCAL, conf, brief=brief)
    try:
        with jvm_deaths_said():
            yield query_session(spark, conf, channels)
    finally:
        if running is None:
            stop(spark)


def _running() -> SparkSession | None:
    """The process's session. Not `getActiveSession`: in another thread than its maker's, that finds none."""
    return SparkSession.active() if SparkContext._active_spark_context is not None else None


def query_session(spark: SparkSession, conf: Mapping[str, str], channels: int) -> SparkSession:
    """A session for one query, with the settings that it needs; the user's own session keeps its own."""
    register_modules()
    session = spark.newSession()
    for key, value in {**RUNTIME, "spark.sql.shuffle.partitions": str(channels), **_settable(session, conf)}.items():
        with refusals(f"Spark refuses the setting {key}"):
            session.conf.set(key, value)
    return session


def is_local(master: str) -> bool:
    """Whether workers are processes of this machine that the driver's JVM starts, so that they share its paths."""
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def _start(master: str, conf: Mapping[str, str], *, brief: bool) -> SparkSession:
    require_java()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = _python(master, conf)
    if is_local(master):
        # Modules beside the application. To other machines they are sent: ship.py.
        os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(p for p in sys.path if p))
    settings = {**STATIC, **conf, JAVA_OPTIONS: _java_options(master, conf.get(JAVA_OPTIONS, ""), brief=brief)}
    builder = SparkSession.builder.appName("thalweg").master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    hint = _PACKAGES_HINT.format(conf[_PACKAGES]) if _PACKAGES in conf else None
    with (
        refusals("Spark does not start", hint),
        quiet(),
        own_interrupts(),
        lean_home() if is_local(master) else nullcontext(),
    ):
        spark = builder.getOrCreate()
    let_us_say_it(spark)
    return spark


def _java_options(master: str, own: str, *, brief: bool) -> str:
    """The user's come last: a JVM goes by the last word."""
    archive = mapping_options() if is_local(master) and "Archive" not in own else ""
    compiler = f"{_BRIEF if brief else _LONG} -XX:+IgnoreUnrecognizedVMOptions"
    return " ".join(part for part in (STATIC[JAVA_OPTIONS], compiler, archive, own) if part)


def _python(master: str, conf: Mapping[str, str]) -> str:
    """The workers' interpreter. Without a word they would run whatever `python3` is on the path."""
    said = None if is_local(master) else os.environ.get("PYSPARK_PYTHON")
    return conf.get("spark.pyspark.python") or said or sys.executable


@contextmanager
def own_interrupts() -> Iterator[None]:
    """PySpark puts its own handler of Ctrl-C in the place of the program's: put that back, if there was one."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if main else None
    try:
        yield
    finally:
        if main and before is not signal.default_int_handler:
            signal.signal(signal.SIGINT, before)


def _settable(session: SparkSession, conf: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in conf.items() if session.conf.isModifiable(key)}

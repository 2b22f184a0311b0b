"""An archive of the classes that Spark loads: with it Spark starts in two thirds of the CPU time.

A JVM can write what it made of its classes to a file when it ends, and map that file at its next start ("class data
sharing"). It looks at the class path and the dates of the jars, and goes without a file that does not fit.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from pyspark import SparkContext

from thalweg.engine.spark.java import find_java
from thalweg.engine.spark.spark_home import lean_folder

_UNSAID = "-Xlog:cds*=off -XX:+IgnoreUnrecognizedVMOptions"  # what the JVM thinks of a file that does not fit
_PATIENCE_S = 300


def archive_file() -> Path | None:
    """Where the archive for this Spark and this Java is, or would be."""
    folder, java = lean_folder(), find_java()
    return folder / f"classes-{pyspark.__version__}-{java.version}.jsa" if folder and java else None


def mapping_options() -> str:
    """The JVM's options for a start with the archive, if there is one."""
    file = archive_file()
    return f"-XX:SharedArchiveFile={file} {_UNSAID}" if file is not None and file.exists() else ""


@contextmanager
def archiving(file: Path) -> Iterator[str]:
    """The JVM that is started inside the block, with these options, leaves its classes in the file when the block ends.

    The file appears whole or not at all: a JVM that maps half of one dies.
    """
    beside = file.with_suffix(f".{os.getpid()}")
    try:
        yield f"-XX:ArchiveClassesAtExit={beside} {_UNSAID}"
        if _ended_well() and beside.exists():
            with beside.open("rb") as written:
                os.fsync(written.fileno())
            for older in file.parent.glob("*.jsa"):
                older.unlink()
            beside.rename(file)
    finally:
        beside.unlink(missing_ok=True)


def _ended_well() -> bool:
    """End the JVM, which pyspark leaves running as long as this process does."""
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()
    SparkContext._gateway = SparkContext._jvm = None
    try:
        return bool(gateway.proc.wait(_PATIENCE_S) == 0)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        return False

"""An archive of the classes that Spark loads: with it Spark starts in two thirds of the CPU time.

A JVM can write its loaded classes to a file when it ends and map that file at its next start ("class data sharing").
It checks the class path and the dates of the jars, and ignores a file that does not match.
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

_QUIET = "-Xlog:cds*=off -XX:+IgnoreUnrecognizedVMOptions"  # no warnings about a file that does not match
_PATIENCE_S = 300


def archive_file() -> Path | None:
    """The path of the archive for this Spark and this Java; the file may not exist."""
    folder, java = lean_folder(), find_java()
    return folder / f"classes-{pyspark.__version__}-{java.version}.jsa" if folder and java else None


def mapping_options() -> str:
    """The JVM options for a start with the archive, if it exists."""
    file = archive_file()
    return f"-XX:SharedArchiveFile={file} {_QUIET}" if file is not None and file.exists() else ""


@contextmanager
def archiving(file: Path) -> Iterator[str]:
    """A JVM that is started in the block with these options writes its classes to the file when the block ends.

    The file is created atomically: a JVM that maps an incomplete file crashes.
    """
    partial = file.with_suffix(f".{os.getpid()}")
    try:
        yield f"-XX:ArchiveClassesAtExit={partial} {_QUIET}"
        if _exited_normally() and partial.exists():
            with partial.open("rb") as written:
                os.fsync(written.fileno())
            for older in file.parent.glob("*.jsa"):
                older.unlink()
            partial.chmod(0o600)
            partial.rename(file)
    finally:
        partial.unlink(missing_ok=True)


def _exited_normally() -> bool:
    """End the JVM, which pyspark would keep running as long as this process; return whether it exited normally."""
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

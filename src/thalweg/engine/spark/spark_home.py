"""A SPARK_HOME in which Python workers start faster, and which has a place for the archive of Spark's classes."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from thalweg.engine.storage.small_files import private_folder

_PARTS = ("bin", "conf", "jars", "sbin")
_CACHE = "XDG_CACHE_HOME"


@contextmanager
def lean_home() -> Iterator[None]:
    """Give processes that are started in the block pyspark's folder without the zip archive of pyspark.

    Spark puts that archive first on its workers' import path, and it does not contain compiled code: every process that
    imports pyspark from it compiles it again, which takes most of a second. Without it they use the installed pyspark.
    """
    folder = lean_folder()
    if folder is None:
        yield
        return
    os.environ["SPARK_HOME"] = str(folder)
    try:
        yield
    finally:
        del os.environ["SPARK_HOME"]


def lean_folder() -> Path | None:
    """A folder of links, created once and kept: a JVM may read it as long as it runs, and it outlives its session.

    None: the folder cannot be created, or the user has set SPARK_HOME.
    """
    if "SPARK_HOME" in os.environ:
        return None
    installed = Path(pyspark.__file__).parent
    cache = Path(os.environ.get(_CACHE) or Path.home() / ".cache") / "thalweg"
    folder = cache / f"spark-{hashlib.sha256(str(installed).encode()).hexdigest()[:16]}"
    if folder.exists():
        return folder
    try:
        private_folder(cache)
        partial = Path(tempfile.mkdtemp(dir=cache))
    except OSError:  # then workers start as Spark starts them
        return None
    for part in _PARTS:
        if (installed / part).exists():
            (partial / part).symlink_to(installed / part)
    for other in cache.glob("spark-*"):
        if not (other / "jars").exists():  # its pyspark is no longer installed
            shutil.rmtree(other, ignore_errors=True)
    try:
        partial.rename(folder)
    except OSError:  # another process was first
        shutil.rmtree(partial)
    return folder

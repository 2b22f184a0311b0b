"""A home of Spark's in which Python workers start faster, and with a place for the archive of its classes."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

_PARTS = ("bin", "conf", "jars", "sbin")
_CACHE = "XDG_CACHE_HOME"


@contextmanager
def lean_home() -> Iterator[None]:
    """What is started inside the block sees pyspark's folder without the archive of pyspark itself.

    Spark puts that archive first on its workers' path, and it holds no compiled code: every process that imports
    pyspark from it compiles it anew, which takes most of a second of its time. Without it they find the installed one.
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
    """A folder of links, made once: a JVM may look into it as long as it lives, and outlives its session.

    None: there is nowhere to put it, or somebody has a Spark of their own.
    """
    if "SPARK_HOME" in os.environ:
        return None
    installed = Path(pyspark.__file__).parent
    cache = Path(os.environ.get(_CACHE) or Path.home() / ".cache") / "thalweg"
    folder = cache / f"spark-{hashlib.sha256(str(installed).encode()).hexdigest()[:16]}"
    if folder.exists():
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(dir=cache))
    except OSError:  # nowhere to put it: then workers start as Spark has it
        return None
    for part in _PARTS:
        if (installed / part).exists():
            (beside / part).symlink_to(installed / part)
    for other in cache.glob("spark-*"):
        if not (other / "jars").exists():  # its pyspark is no longer installed
            shutil.rmtree(other, ignore_errors=True)
    try:
        beside.rename(folder)
    except OSError:  # another process was first
        shutil.rmtree(beside)
    return folder

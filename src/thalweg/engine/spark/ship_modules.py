"""Send modules to the Python workers as zip archives in the checkpoint, which all machines of a cluster can reach.

Spark's built-in way (`addArtifacts`) is not sufficient: one of the processes that it starts for a query, the one in
which a stage with state declares its state, does not receive the archives.
"""

from __future__ import annotations

import hashlib
import io
import os
import threading
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from thalweg.engine.spark.modules import CodeFile
from thalweg.engine.storage.small_files import write_atomically

_FIRST_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip archive can hold
_PATH = "PYTHONPATH"
_starting = threading.Lock()  # the environment is shared by the process: only one application starts at a time


@contextmanager
def shipped(spark: SparkSession, codes: Mapping[str, Sequence[CodeFile]], folder: Path) -> Iterator[None]:
    """Make these modules importable in the workers for code that is sent to them in the block.

    Python workers outlive a query and keep the modules that they have imported. But Spark gives a query only workers
    with the query's environment, and archives are named by their content, so different code runs in different workers.
    """
    archives = [pack(code, folder, name) for name, code in codes.items() if code]
    _remove_others(folder, archives)
    environment = spark.sparkContext.environment
    with _starting:
        before = dict(environment)
        if archives:
            known = [before[_PATH]] if before.get(_PATH) else []
            environment[_PATH] = os.pathsep.join([*map(str, archives), *known])
        try:
            yield
        finally:
            environment.clear()
            environment.update(before)


def pack(code: Sequence[CodeFile], folder: Path, name: str) -> Path:
    """A zip archive, named by its content: the same code gives the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for item in code:
            archive.writestr(zipfile.ZipInfo(item.place, _FIRST_TIME), item.file.read_bytes(), zipfile.ZIP_DEFLATED)
    data = out.getvalue()
    file = folder / f"{name}-{hashlib.sha256(data).hexdigest()[:16]}.zip"
    if not file.exists():
        write_atomically(file, data)
    return file


def _remove_others(folder: Path, archives: Sequence[Path]) -> None:
    """Remove the code of earlier starts. No other run uses this checkpoint."""
    for file in folder.glob("*.zip"):
        if file not in archives:
            file.unlink()

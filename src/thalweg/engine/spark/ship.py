"""Send modules to the Python workers: as zip archives in the checkpoint, which all machines of a cluster can reach.

Spark's own way (`addArtifacts`) does not do: one of the processes that it starts for a query, the one in which a stage
with state declares its state, gets no archives.
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

_FIRST_TIME = (1980, 1, 1, 0, 0, 0)  # that a zip archive can hold
_PATH = "PYTHONPATH"
_starting = threading.Lock()  # the environment is the whole process's: of several applications one starts at a time


@contextmanager
def shipped(spark: SparkSession, codes: Mapping[str, Sequence[CodeFile]], folder: Path) -> Iterator[None]:
    """What is sent to workers inside the block finds these modules there.

    Python workers live on after a query, with what they imported. But Spark gives a query only workers whose
    environment is the query's, and archives are named by their content: other code runs in other workers.
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
    """The code of earlier starts: nobody else works on this checkpoint."""
    for file in folder.glob("*.zip"):
        if file not in archives:
            file.unlink()

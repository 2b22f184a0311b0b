"""Send modules to the Python workers, as zip archives through Spark."""

from __future__ import annotations

import hashlib
import io
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from thalweg.engine.spark.modules import CodeFile
from thalweg.engine.storage import write_atomically

_VARIABLE = "THALWEG_CODE"
_FIRST_TIME = (1980, 1, 1, 0, 0, 0)  # that a zip archive can hold

_sent: dict[str, list[str]] = {}  # by Spark application: the archives in the order in which they were sent


@contextmanager
def shipped(spark: SparkSession, codes: Mapping[str, Sequence[CodeFile]], folder: Path) -> Iterator[None]:
    """What is sent to workers inside the block finds these modules there. The folder is for the archives, by name.

    Python workers live on after a query, with the modules that they imported. So a variable of their environment says
    which code they have: Spark gives a query only workers whose environment is the query's.
    """
    archives = [pack(code, name) for name, code in codes.items() if code]
    for name, data in archives:
        _send(spark, name, data, folder)
    environment = spark.sparkContext.environment
    before = dict(environment)
    if archives:
        environment[_VARIABLE] = " ".join(name for name, _ in archives)
    try:
        yield
    finally:
        environment.clear()
        environment.update(before)


def pack(code: Sequence[CodeFile], name: str) -> tuple[str, bytes]:
    """A zip archive, and its name, which says its content: the same code gives the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for item in code:
            archive.writestr(zipfile.ZipInfo(item.place, _FIRST_TIME), item.file.read_bytes(), zipfile.ZIP_DEFLATED)
    data = out.getvalue()
    return f"{name}-{hashlib.sha256(data).hexdigest()[:16]}", data


def _send(spark: SparkSession, name: str, data: bytes, folder: Path) -> None:
    """What was sent last stands first on the workers' path. So what is needed again after other code goes again,
    under another name: Spark sends a name once."""
    sent = _sent.setdefault(spark.sparkContext.applicationId, [])
    if name in sent[-2:]:  # Thalweg and one application
        return
    file = folder / f"{name}-{sent.count(name)}.zip"
    write_atomically(file, data, durable=False)
    path = [*sys.path]
    spark.addArtifacts(str(file), pyfile=True)
    sys.path[:] = path  # of the driver, which has it all
    sent.append(name)

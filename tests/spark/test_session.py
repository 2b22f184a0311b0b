"""Whose Spark session it is: only one that a run started itself ends with it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.small import Small
from thalweg.engine.spark.archive import archive_file

pytestmark = pytest.mark.spark


def test_the_archive_of_sparks_classes_is_used(spark: SparkSession) -> None:
    file = archive_file()
    if file is None or not file.exists():
        pytest.skip("no archive of Spark's classes: `thalweg doctor --start` makes it, and `make test` calls that")
    jvm = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
    assert str(file) in Path(f"/proc/{jvm}/maps").read_text()


def test_a_run_in_another_thread_leaves_the_session(spark: SparkSession, tmp_path: Path) -> None:
    small = Small.make(tmp_path / "small", files=1)
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(SparkSession.getActiveSession).result() is None, "what the run must not go by"
        threads.submit(small.run, "spark").result()
    assert spark.range(3).count() == 3
    assert small.output()

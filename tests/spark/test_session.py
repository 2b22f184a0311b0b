"""Whose Spark session it is: only one that a run started itself ends with it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.small import Small

pytestmark = pytest.mark.spark


def test_a_run_in_another_thread_leaves_the_session(spark: SparkSession, tmp_path: Path) -> None:
    small = Small.make(tmp_path / "small", files=1)
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(SparkSession.getActiveSession).result() is None, "what the run must not go by"
        threads.submit(small.run, "spark").result()
    assert spark.range(3).count() == 3
    assert small.output()

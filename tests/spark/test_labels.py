"""Labels against Spark's own hash: every channel gets a partition of its own."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from thalweg.engine.spark.labels import balanced_labels, partition_of

pytestmark = pytest.mark.spark

CHANNELS = range(1, 9)
LABELS = [*range(300), -1, -300, 2**31 - 1, -(2**31)]


def test_partition_of_is_sparks_hash(spark: SparkSession) -> None:
    labels = spark.createDataFrame([(label,) for label in LABELS], "label int")
    found = labels.select("label", *(F.pmod(F.hash("label"), F.lit(n)).alias(str(n)) for n in CHANNELS)).collect()
    assert [tuple(row) for row in found] == [(x, *(partition_of(x, n) for n in CHANNELS)) for x in LABELS]


@pytest.mark.parametrize("channels", [*CHANNELS, 31])
def test_every_channel_has_its_own_partition(spark: SparkSession, channels: int) -> None:
    labels = balanced_labels(channels)
    rows = spark.createDataFrame([(label,) for label in labels], "label int").repartition(channels, "label")
    found = rows.select(F.spark_partition_id(), "label").collect()
    assert sorted(tuple(row) for row in found) == list(enumerate(labels))

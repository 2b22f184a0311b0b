"""The Spark session of tests/spark, for pages whose examples run there too."""

from __future__ import annotations

from tests.spark.conftest import spark as spark

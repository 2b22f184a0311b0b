"""Add Spark's progress report of an epoch to Thalweg's report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from thalweg.engine.core.timing import rounded
from thalweg.engine.storage.report import EpochReport

# Spark's names for its work around an epoch, and the part of the report to which each is added.
_PARTS: Mapping[str, str] = {
    "queryPlanning": "plan",
    "walCommit": "log",
    "commitOffsets": "commit",
    "commitBatch": "commit",
}


class ProgressReader:
    """Finds the progress report of an epoch among the recent ones that Spark keeps."""

    def __init__(self, query: StreamingQuery) -> None:
        self.query = query

    def get(self, epoch: int) -> tuple[bool, Mapping[str, Any] | None]:
        """Whether the wait is over, and Spark's report if any. Spark reports when it has committed the epoch."""
        last = self.query.lastProgress
        if last is None or last["batchId"] < epoch:
            return False, None
        if _is_of(last, epoch):
            return True, last
        found = next((p for p in self.query.recentProgress if _is_of(p, epoch)), None)
        return found is not None or last["batchId"] > epoch, found


def _is_of(progress: Mapping[str, Any], epoch: int) -> bool:
    """An idle query also reports now and then, with the number of the next epoch."""
    return bool(progress["batchId"] == epoch and "addBatch" in progress["durationMs"])


def joined(report: EpochReport, progress: Mapping[str, Any]) -> EpochReport:
    """The report with the epoch's total time and its parts. Spark's time for `latestOffset` includes waiting for
    input, so it is replaced by the time that the source recorded for cutting the epoch."""
    spark = {name: ms / 1000 for name, ms in progress["durationMs"].items()}
    parts = dict(report.parts)
    parts.pop("other", None)
    for name, part in _PARTS.items():
        if name in spark:
            parts[part] = parts.get(part, 0.0) + spark[name]
    total = spark["triggerExecution"] - spark.get("latestOffset", 0.0) + parts.get("cut", 0.0)
    stores = progress["stateOperators"]
    return replace(
        report,
        seconds=round(total, 6),
        parts=rounded({**parts, "other": max(0.0, total - sum(parts.values()))}),
        state_bytes=sum(store["memoryUsedBytes"] for store in stores),
        state_commit_s=sum(store["commitTimeMs"] for store in stores) / 1000,
    )

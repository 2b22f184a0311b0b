"""Spark's own account of an epoch, joined with ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from thalweg.engine.core.timing import rounded
from thalweg.engine.storage.report import EpochReport

# Spark's names for what it does around an epoch, and the parts in which we show it.
_PARTS: Mapping[str, str] = {
    "queryPlanning": "plan",
    "walCommit": "log",
    "commitOffsets": "commit",
    "commitBatch": "commit",
}


class ProgressReader:
    """Finds the progress of an epoch among the last ones that Spark keeps."""

    def __init__(self, query: StreamingQuery) -> None:
        self.query = query

    def get(self, epoch: int) -> tuple[bool, Mapping[str, Any] | None]:
        """Whether there is no more to wait for, and what Spark said. It speaks when it has committed the epoch."""
        last = self.query.lastProgress
        if last is None or last["batchId"] < epoch:
            return False, None
        if _is_of(last, epoch):
            return True, last
        found = next((p for p in self.query.recentProgress if _is_of(p, epoch)), None)
        return found is not None or last["batchId"] > epoch, found


def _is_of(progress: Mapping[str, Any], epoch: int) -> bool:
    """A query without anything to do speaks now and then, too, in the name of the epoch that is to come."""
    return bool(progress["batchId"] == epoch and "addBatch" in progress["durationMs"])


def joined(report: EpochReport, progress: Mapping[str, Any]) -> EpochReport:
    """The report with the epoch's whole time and its parts. Spark's time for `latestOffset` has waiting for input in
    it; how long cutting the epoch took, the source has noted."""
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

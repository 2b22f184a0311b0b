"""Read the state of a Spark checkpoint with Spark's built-in state reader."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.engine.spark.session import spark_session
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.engine.storage.manifest import Manifest


def committed_epochs(checkpoint: Checkpoint, manifest: Manifest) -> int:
    """The number of committed epochs, including those before a migration."""
    return manifest.first_epoch + _batches(checkpoint)


def _batches(checkpoint: Checkpoint) -> int:
    """The number of batches that Spark has committed. It writes a file for each and deletes old ones."""
    folder = checkpoint.spark / "commits"
    numbers = [int(file.name) for file in folder.iterdir() if file.name.isdigit()] if folder.is_dir() else []
    return max(numbers, default=-1) + 1


def read_buckets(checkpoint: Checkpoint, labels: tuple[int, ...]) -> Iterator[tuple[int, int, bytes]]:
    """Channel, bucket and data, as of the last committed epoch. Each stateful stage is a Spark operator."""
    folder = checkpoint.spark / "state"
    if not _batches(checkpoint) or not folder.is_dir():
        return
    with spark_session(None, {}, channels=1, brief=True) as spark:
        for operator in sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit()):
            reader = spark.read.format("statestore").option("operatorId", operator).option("stateVarName", "buckets")
            for row in reader.load(str(checkpoint.spark)).toLocalIterator():
                channel = labels.index(row["key"]["channel"])
                yield channel, row["user_map_key"]["bucket"], bytes(row["user_map_value"]["data"])

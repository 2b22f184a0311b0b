"""The bare query: the stages of Thalweg's query with next to nothing in them, to see what an epoch costs by itself.

A Python data source that makes one small frame per channel; a stateful stage keyed by channel that reads and writes
one small bucket; foreachBatch with one collect and one small file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from thalweg.engine.spark.labels import balanced_labels

SCHEMA = "channel int, stream int, frame binary"
CONTENT = bytes(1_000)


class BareSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "bare"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: Any) -> BareReader:  # noqa: N802
        return BareReader(int(self.options["epochs"]), balanced_labels(int(self.options["channels"])))


class BareReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, epochs: int, labels: tuple[int, ...]) -> None:
        self.epochs, self.labels = epochs, labels

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"epoch": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        pass

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        return {"epoch": min(start["epoch"] + 1, self.epochs)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition(0)] if start != end else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        rows = len(self.labels)
        columns = [
            pa.array(self.labels, pa.int32()),
            pa.array([0] * rows, pa.int32()),
            pa.array([CONTENT] * rows, pa.binary()),
        ]
        yield pa.RecordBatch.from_arrays(columns, names=["channel", "stream", "frame"])


class BareStage(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.buckets = handle.getMapState("buckets", "bucket int", "data binary")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        for frames in rows:
            assert len(frames)
        self.buckets.getValue((0,))
        self.buckets.updateValue((0,), (CONTENT,))
        yield pd.DataFrame([(int(key[0]), 0, CONTENT)], columns=["channel", "stream", "frame"])

    def close(self) -> None:
        pass


def start(spark: SparkSession, epochs: int, channels: int, out: Path, checkpoint: Path) -> StreamingQuery:
    spark.dataSource.register(BareSource)
    out.mkdir(parents=True, exist_ok=True)
    folder = str(out)

    def write(rows: DataFrame, epoch: int) -> None:
        frames = b"".join(bytes(row.frame) for row in rows.collect())
        Path(folder, f"epoch-{epoch:010d}").write_bytes(frames)

    source = spark.readStream.format("bare").option("epochs", epochs).option("channels", channels).load()
    staged = source.groupBy("channel").transformWithStateInPandas(BareStage(), SCHEMA, "append", "none")
    writer = staged.writeStream.foreachBatch(write).option("checkpointLocation", str(checkpoint))
    return writer.trigger(availableNow=True).start()

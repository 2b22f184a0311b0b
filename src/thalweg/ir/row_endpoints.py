"""Endpoints that Spark's own connectors read and write: any streaming format, a streaming DataFrame, Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from thalweg.ir.types import BYTES, DATETIME, INT, STR, AttributeType, TupleType, optional

# What a record of a topic has beside its value. The first three give its place, and with it the order.
RECORD: Mapping[str, AttributeType] = {"topic": STR, "partition": INT, "offset": INT, "timestamp": DATETIME}


@dataclass(frozen=True, slots=True)
class SparkFormat:
    """A streaming format of Spark's by name. Workers read the spool: the options, which may hold secrets, stay here."""

    format: str
    options: tuple[tuple[str, Any], ...] = field(default=(), repr=False)

    def __reduce__(self) -> tuple[type[SparkFormat], tuple[str]]:
        return SparkFormat, (self.format,)


@dataclass(frozen=True, slots=True)
class SparkFrame:
    """A DataFrame of the user's. It stays in the driver."""

    frame: Any = field(compare=False, repr=False)

    def __reduce__(self) -> tuple[type[SparkFrame], tuple[None]]:
        return SparkFrame, (None,)


@dataclass(frozen=True, slots=True)
class Kafka:
    """A topic. `key`: of a source how to decode it, of a sink the attribute that it is made of."""

    servers: str
    topic: str
    key: str | None = None
    value: str = "json"
    starting: str = "earliest"
    on_error: str = "fail"
    record: tuple[str, ...] = ()  # attributes that come from the record, not from its value
    options: tuple[tuple[str, Any], ...] = field(default=(), repr=False)
    retry_s: float = 180.0  # of a sink: longer than the connector tries by itself

    @property
    def shown(self) -> str:
        return f"the topic {self.topic} at {self.servers}"

    def record_type(self) -> TupleType:
        """What is read of each record, before anything is decoded."""
        kinds = {"value": optional(BYTES)} | ({"key": optional(BYTES)} if self.key is not None else {})
        return TupleType("KafkaRecord", tuple((kinds | {n: RECORD[n] for n in self.record}).items()))


# What a feeding query of Spark's puts into a spool.
RowSource = SparkFormat | SparkFrame | Kafka
ROWS = (SparkFormat, SparkFrame, Kafka)


def row_identity(endpoint: RowSource) -> str:
    """What must not change at a restart: the feeding query goes on where it was, and the spool keeps its columns."""
    match endpoint:
        case SparkFormat(format=format):
            return f"Spark format {format}"
        case SparkFrame():
            return "DataFrame"
        case Kafka(topic=topic):
            return f"topic {topic}: {', '.join(endpoint.record_type().names)}"

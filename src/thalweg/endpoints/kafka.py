"""`tw.kafka`: topics, as a source and as a sink, through Spark's built-in connector."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

from thalweg.endpoints.checks import one_of
from thalweg.endpoints.files import check_export
from thalweg.endpoints.spark_options import Options, checked_options, revealed
from thalweg.endpoints.spark_rows import ONLY_ON_SPARK
from thalweg.errors import GraphError, Where, did_you_mean, shown
from thalweg.ir.arguments import Rule, Seconds, checked, choice
from thalweg.ir.endpoints import Connector, Decoding, FedBySpark, SinkEndpoint, SinkSite
from thalweg.ir.operators import Policy
from thalweg.ir.types import BYTES, DATETIME, INT, STR, AttributeType, TupleType, optional, unknown_attribute
from thalweg.library.kafka_records import KEY, VALUE, Decode

if TYPE_CHECKING:
    from thalweg.endpoints.kafka_writer import KafkaSink

ENCODINGS = ("json", "raw", "text")
STARTS = ("earliest", "latest")
_WHOLE: Mapping[str, AttributeType] = {"raw": BYTES, "text": STR}  # the type of the undecoded value
# The attributes of a record in addition to its key and value.
RECORD: Mapping[str, AttributeType] = {"topic": STR, "partition": INT, "offset": INT, "timestamp": DATETIME}


@checked
def kafka(
    servers: Annotated[str, Rule('"host:port", or several', bool)],
    topic: str = "",
    *,
    key: Annotated[str | None, Rule("json, raw, text, or for a sink an attribute")] = None,
    value: Annotated[str, choice(*ENCODINGS)] = "json",
    starting: Annotated[str, choice(*STARTS)] = "earliest",
    on_error: Policy = "fail",
    record: str | Iterable[str] = (),
    options: Mapping[str, object] | None = None,
    retry_s: Seconds = 180.0,
) -> Kafka:
    """A Kafka topic, read and written by Spark's connector.

    As a source: `value` is the encoding of the record's value (json: an object with the attributes; raw or text: the
    attribute `value`), `key` is the encoding of the record's key (the attribute `key`), and `record` lists the
    attributes that come from the record itself (topic, partition, offset, timestamp). As a sink: `key` is the attribute
    that becomes the record's key, and an epoch that is not acknowledged is sent again for `retry_s` seconds.
    """
    parts = (record,) if isinstance(record, str) else tuple(record)
    for part in parts:
        one_of("record attribute", part, tuple(RECORD))
    given = checked_options("kafka", options or {})
    return Kafka(servers, topic, key, value, starting, on_error, parts, given, retry_s)


@dataclass(frozen=True, slots=True)
class Kafka(FedBySpark, SinkEndpoint):
    """A topic. `key`: for a source the encoding of the key, for a sink the attribute that becomes the key."""

    servers: str
    topic: str
    key: str | None = None
    value: str = "json"
    starting: str = "earliest"
    on_error: str = "fail"
    record: tuple[str, ...] = ()  # attributes that come from the record, not from its value
    options: Options = field(default=(), repr=False)
    retry_s: float = 180.0  # of a sink: longer than the connector's own retries

    call = "tw.kafka(…)"
    needs_spark = True
    connector = Connector(
        "Kafka",
        "spark-sql-kafka-0-10_2.13",
        "kafka",
        {"kafka.bootstrap.servers": "none:1", "subscribe": "none"},
    )
    no_sample = ONLY_ON_SPARK
    batch_order = ("topic", "partition", "offset")
    split_by = ("topic", "partition")
    folder = None
    endless = None
    row_policy = "fail"  # of records as they are; the map that decodes them has the policy of the user
    numbered = None
    placed = True  # a record has the tuple's number in the epoch
    shows_order = True
    target = None  # topics are shared: the headers of a record name its run and sink
    source_row = (
        "`tw.kafka(servers, topic, …)`",
        "a record of a topic, decoded ([spark.md](spark.md#kafka))",
        "batch by batch; within a batch by topic, partition, offset",
        "yes, from the spool",
        "exactly once",
    )
    sink_row = (
        "`tw.kafka(servers, topic, key=…)`",
        "records of a topic ([spark.md](spark.md#kafka))",
        "kept in each partition",
        "at least once, with headers for deduplication",
    )

    @property
    def identity(self) -> str:
        """The feeding query resumes where it stopped, and the columns of the spool cannot change."""
        return f"topic {self.topic}: {', '.join(self.record_type().names)}"

    @property
    def title(self) -> str:
        return f"the topic {self.topic} at {self.servers}"

    def record_type(self) -> TupleType:
        """The type of the records as they are read, before decoding."""
        kinds = {"value": optional(BYTES)} | ({"key": optional(BYTES)} if self.key is not None else {})
        return TupleType("KafkaRecord", tuple((kinds | {n: RECORD[n] for n in self.record}).items()))

    def check_source(self, tuple_type: TupleType, where: Where) -> None:
        self._check_topic(where)
        _check_record(self, tuple_type, where)

    def decoding(self, tuple_type: TupleType, where: Where) -> Decoding:
        function = Decode(self.key, self.value, self.record, tuple_type)
        return Decoding(self.record_type(), function, self.on_error, "it decodes records")

    def rows(self, max_tuples: int) -> tuple[str, dict[str, str]]:
        """User options take precedence. A batch is at most as long as an epoch, so a backlog cannot fill the memory."""
        return "kafka", {
            "kafka.bootstrap.servers": self.servers,
            "subscribe": self.topic,
            "startingOffsets": self.starting,
            "maxOffsetsPerTrigger": str(max_tuples),
            **revealed(self.options),
        }

    def splits_at(self, offset: str) -> Iterable[tuple[object, ...]]:
        """Spark's connector writes {"topic": {"0": 17, …}, …}."""
        return sorted((topic, int(partition)) for topic, ends in json.loads(offset).items() for partition in ends)

    def _check_topic(self, where: Where) -> None:
        if not self.topic:
            raise GraphError("kafka: no topic", where=where, expected='tw.kafka("host:port", "topic")')

    def check_sink(self, tuple_type: TupleType, where: Where) -> None:
        self._check_topic(where)
        if (self.starting, self.on_error, self.record) != ("earliest", "fail", ()):
            raise GraphError(
                "starting, on_error and record apply only to a kafka source",
                where=where,
                expected="tw.kafka(servers, topic, key=…, value=…, options=…)",
                found=f"starting={self.starting!r}, on_error={self.on_error!r}, record={self.record!r}",
            )
        if self.key is not None and tuple_type.get(self.key) is None:
            raise unknown_attribute(self.key, tuple_type, where)
        if self.value == "json":
            return
        found, wanted = tuple_type.get(VALUE), _WHOLE[self.value]
        if found is None or found.required is not wanted:
            raise GraphError(
                f"a {self.value} value holds a single attribute",
                where=where,
                expected=f"{VALUE}: {wanted}",
                found=str(tuple_type),
                hint='value="json" writes an object with all attributes',
            )

    def writer(self, site: SinkSite) -> KafkaSink:
        from thalweg.endpoints.kafka_writer import KafkaSink

        return KafkaSink(site.sink, self, site.tuple_type, site.checkpoint, site.write_rows)


def through(via: Kafka, export: str, where: Where) -> Kafka:
    """The topic of an exported stream; its name is by default the name of the export."""
    if not isinstance(via, Kafka):
        raise GraphError("via must be a Kafka topic", where=where, expected="via=tw.kafka(…)", found=shown(via))
    check_export(export, where)
    return via if via.topic else replace(via, topic=export)


def _check_record(kafka: Kafka, tuple_type: TupleType, where: Where) -> None:
    wanted: dict[str, AttributeType | None] = {name: RECORD[name] for name in kafka.record}
    if kafka.key is not None:
        if kafka.key not in ENCODINGS:
            raise GraphError(
                f"unknown key encoding {kafka.key!r}",
                where=where,
                expected=", ".join(ENCODINGS),
                hint=did_you_mean(kafka.key, ENCODINGS) or "key names an attribute only for a sink",
            )
        wanted[KEY] = _WHOLE.get(kafka.key)
    if kafka.value != "json":
        wanted[VALUE] = _WHOLE[kafka.value]
    for name, kind in wanted.items():
        found = tuple_type.get(name)
        if found is None or (kind is not None and found.required is not kind):
            raise GraphError(
                f"the tuple type has no matching attribute {name} for the record",
                where=where,
                expected=f"{name}: {kind or 'any type'}",
                found=str(tuple_type),
            )
    others = [n for n in tuple_type.names if n not in wanted]
    if kafka.value != "json" and others:
        raise GraphError(
            f"no part of a record supplies {others[0]}",
            where=where,
            expected=", ".join(wanted),
            found=str(tuple_type),
            hint=f"record=({others[0]!r},)" if others[0] in RECORD else 'value="json" takes attributes from an object',
        )

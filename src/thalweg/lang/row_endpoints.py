"""Endpoints that Spark's own connectors read and write, and what of them can be checked when the graph is built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from thalweg.errors import GraphError, Where, did_you_mean
from thalweg.ir import operators as ops
from thalweg.ir.operators import POLICIES, Function
from thalweg.ir.row_endpoints import RECORD, Kafka, SparkFormat, SparkFrame
from thalweg.ir.types import BYTES, STR, AttributeType, TupleType
from thalweg.lang.endpoint_checks import one_of, positive, require
from thalweg.lang.endpoints import check_export
from thalweg.lang.functions import unknown_attribute
from thalweg.lang.secret import Secret
from thalweg.library.kafka import KEY, VALUE, Decode

if TYPE_CHECKING:
    from thalweg.lang.app import Stream
    from thalweg.lang.operator_call import Site

ENCODINGS = ("json", "raw", "text")
STARTS = ("earliest", "latest")
_WHOLE: Mapping[str, AttributeType] = {"raw": BYTES, "text": STR}  # of what type the undecoded value is
_DEFAULTS = Kafka("", "")


def spark(format: str, **options: object) -> SparkFormat:
    """A source of the rows of any streaming format that Spark knows, by its name and options.

    The columns that are named like the attributes are taken.
    """
    require(isinstance(format, str) and format != "", "spark: bad format", "the name of a streaming format", format)
    return SparkFormat(format, _options("spark", options))


def from_dataframe(frame: Any) -> SparkFrame:
    """A source of the rows of a Spark DataFrame, streaming or not."""
    good = hasattr(frame, "schema") and hasattr(frame, "isStreaming")
    require(good, "from_dataframe: no DataFrame", "a DataFrame of Spark's", frame)
    return SparkFrame(frame)


def kafka(
    servers: str,
    topic: str = "",
    *,
    key: str | None = None,
    value: str = "json",
    starting: str = "earliest",
    on_error: str = "fail",
    record: Iterable[str] = (),
    options: Mapping[str, object] | None = None,
    retry_s: float = 180.0,
) -> Kafka:
    """A topic of Kafka's, read and written by Spark's connector.

    As a source: `value` says how the tuple is in the record's value (json: an object with the attributes; raw or text:
    the attribute `value`), `key` how the attribute `key` is in its key, `record` which attributes come from the record
    itself (topic, partition, offset, timestamp). As a sink: `key` is the attribute that becomes the record's key, and
    an epoch that is not acknowledged is sent again for `retry_s` seconds.
    """
    require(isinstance(servers, str) and servers != "", "kafka: bad servers", '"host:port", or several', servers)
    require(isinstance(topic, str), "kafka: bad topic", "a topic's name", topic)
    require(key is None or isinstance(key, str), "kafka: bad key", "json, raw, text, or a sink's attribute", key)
    one_of("encoding of a value", value, ENCODINGS)
    one_of("start", starting, STARTS)
    one_of("on_error", on_error, POLICIES)
    parts = (record,) if isinstance(record, str) else tuple(record)
    for part in parts:
        one_of("part of a record", part, tuple(RECORD))
    require(positive(retry_s), "kafka: bad retry_s", "seconds, more than 0", retry_s)
    return Kafka(servers, topic, key, value, starting, on_error, parts, _options("kafka", options or {}), retry_s)


def _options(what: str, options: Mapping[str, object]) -> tuple[tuple[str, Any], ...]:
    """Options as Spark takes them: texts. A secret stays one until Spark is told."""
    for name, value in options.items():
        good = isinstance(name, str) and isinstance(value, str | int | float | Secret)
        require(good, f"{what}: bad option {name}", "a str, number, bool or secret", value)
    return tuple((name, value if isinstance(value, Secret) else _text(value)) for name, value in options.items())


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def through(via: Kafka, export: str, where: Where) -> Kafka:
    """The topic of an exported stream: by default it has the export's name."""
    if not isinstance(via, Kafka):
        raise GraphError("not a way to export", where=where, expected="via=tw.kafka(…)", found=repr(via))
    check_export(export, where)
    return via if via.topic else replace(via, topic=export)


def kafka_source(site: Site, kafka: Kafka, tuple_type: TupleType) -> Stream:
    """Records as they are, and behind them a map that decodes: in the workers, under an error policy."""
    _check_topic(kafka, site.where)
    _check_types(kafka, tuple_type, site.where)
    policy, letters = site.policy(kafka.on_error)
    taken = {o.name for o in site.app._operators}
    base = f"{site.name}.records"
    name = next(n for n in (base, *(f"{base}_{i}" for i in range(2, len(taken) + 3))) if n not in taken)
    records = site.stream(
        ops.Source(name=name, outputs=(kafka.record_type(),), where=site.where, endpoint=kafka),
    )
    function = Function(Decode(kafka, tuple_type), site.where, None, "it decodes records")
    return site.stream(
        ops.Map(
            name=site.name,
            inputs=(records.ref,),
            outputs=(tuple_type, *letters),
            where=site.where,
            on_error=policy,
            function=function,
        )
    )


def _check_topic(kafka: Kafka, where: Where) -> None:
    if not kafka.topic:
        raise GraphError("kafka: no topic", where=where, expected='tw.kafka("host:port", "topic")')


def _check_types(kafka: Kafka, tuple_type: TupleType, where: Where) -> None:
    wanted: dict[str, AttributeType | None] = {name: RECORD[name] for name in kafka.record}
    if kafka.key is not None:
        if kafka.key not in ENCODINGS:
            raise GraphError(
                f"unknown encoding of a key {kafka.key!r}",
                where=where,
                expected=", ".join(ENCODINGS),
                hint=did_you_mean(kafka.key, ENCODINGS) or "only a sink's key names an attribute",
            )
        wanted[KEY] = _WHOLE.get(kafka.key)
    if kafka.value != "json":
        wanted[VALUE] = _WHOLE[kafka.value]
    for name, kind in wanted.items():
        found = tuple_type.get(name)
        if found is None or (kind is not None and found.required is not kind):
            raise GraphError(
                f"the type has no attribute {name} for what the record has",
                where=where,
                expected=f"{name}: {kind or 'any type'}",
                found=str(tuple_type),
            )
    others = [n for n in tuple_type.names if n not in wanted]
    if kafka.value != "json" and others:
        raise GraphError(
            f"nothing of a record becomes {others[0]}",
            where=where,
            expected=", ".join(wanted),
            found=str(tuple_type),
            hint=f"record=({others[0]!r},)" if others[0] in RECORD else 'value="json" takes attributes from an object',
        )


def check_kafka_sink(kafka: Kafka, tuple_type: TupleType, where: Where) -> None:
    _check_topic(kafka, where)
    if (kafka.starting, kafka.on_error, kafka.record) != (_DEFAULTS.starting, _DEFAULTS.on_error, _DEFAULTS.record):
        raise GraphError(
            "a kafka sink reads nothing",
            where=where,
            expected="tw.kafka(servers, topic, key=…, value=…, options=…)",
            found=f"starting={kafka.starting!r}, on_error={kafka.on_error!r}, record={kafka.record!r}",
        )
    if kafka.key is not None and tuple_type.get(kafka.key) is None:
        raise unknown_attribute(kafka.key, tuple_type, where)
    if kafka.value == "json":
        return
    found, wanted = tuple_type.get(VALUE), _WHOLE[kafka.value]
    if found is None or found.required is not wanted:
        raise GraphError(
            f"a {kafka.value} value is one attribute",
            where=where,
            expected=f"{VALUE}: {wanted}",
            found=str(tuple_type),
            hint='value="json" writes an object of all attributes',
        )

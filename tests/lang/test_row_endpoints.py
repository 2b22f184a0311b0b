"""Topics, Spark formats and DataFrames as endpoints: what is checked when the graph is built, and how records become
tuples. Spark itself: tests/spark/test_row_sources.py; a broker: tests/services."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

import thalweg as tw
from thalweg import testing
from thalweg.endpoints.kafka import Kafka
from thalweg.endpoints.spark_rows import SparkFormat, SparkFrame
from thalweg.engine.inputs.sample_log import sample_log
from thalweg.errors import GraphError, PlanError

SERVERS = "127.0.0.1:9092"


class Order(tw.Tuple):
    key: int
    price: Decimal
    note: str | None
    offset: int
    timestamp: datetime


class Text(tw.Tuple):
    key: str | None
    value: str


class Raw(tw.Tuple):
    value: bytes


def app_of(endpoint: Any, tuple_type: type[tw.Tuple], *, letters: bool = False) -> tw.App:
    app = tw.App("topics")
    read = app.source(endpoint, tuple_type)
    read.sink(tw.collect(), name="kept")
    if letters:
        read.dead_letters.sink(tw.collect(), name="bad")
    return app


NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def record(value: bytes | None, key: bytes | None = b"7", offset: int = 3) -> dict[str, Any]:
    return {"value": value, "key": key, "offset": offset, "timestamp": NOON}


def test_objects_with_parts_of_the_record() -> None:
    topic = tw.kafka(SERVERS, "orders", key="json", record=("offset", "timestamp"), on_error="dead_letter")
    records = [
        record(b'{"price": 1.10, "note": "x", "more": []}'),
        record(b'{"price": "2.5"}', key=b"8", offset=4),
        record(b'{"price": "much"}'),
        record(b'{"note": "x"}'),
        record(b"{"),
        record(b"\xff"),
        record(b"[1]"),
        record(None),
        record(b'{"price": 1}', key=b'"text"'),
        record(b'{"price": 1}', key=None),
    ]
    found = testing.run(app_of(topic, Order, letters=True), {"read.records": records}, degree=2)
    assert found["kept"] == [(7, Decimal("1.10"), "x", 3, NOON), (8, Decimal("2.5"), None, 4, NOON)]
    assert [letter.error.partition(":")[0] for letter in found["bad"]] == [
        "ValueError",
        "ValueError",
        "JSONDecodeError",
        "UnicodeDecodeError",
        *["ValueError"] * 4,
    ]
    errors = [letter.error for letter in found["bad"]]
    assert errors[0] == "ValueError: price: expected Decimal, found 'much' at price"
    assert errors[1] == "ValueError: price is missing"
    assert errors[5] == "ValueError: the record has no value"
    assert errors[6] == "ValueError: key: expected int, found str ('text')"
    assert errors[7] == "ValueError: the record has no key"
    assert {letter.operator for letter in found["bad"]} == {"read"}
    assert found["bad"][2].tuple.startswith("KafkaRecord(value=b'{', key=b'7', offset=3")


def test_text_and_bytes() -> None:
    as_text = app_of(tw.kafka(SERVERS, "lines", key="text", value="text", on_error="skip"), Text)
    given = [{"value": "ä".encode(), "key": b"k"}, {"value": b"\xff", "key": b"k"}, {"value": b"", "key": None}]
    assert testing.run(as_text, {"read.records": given})["kept"] == [("k", "ä"), (None, "")]
    as_bytes = app_of(tw.kafka(SERVERS, "lines", value="raw"), Raw)
    assert testing.run(as_bytes, {"read.records": [{"value": b"\xff\x00"}]})["kept"] == [(b"\xff\x00",)]


def test_two_topics_decode_separately() -> None:
    """Compiled code is found again by its fingerprint: two decoders must not be taken for one."""
    plain, keyed = (
        app_of(tw.kafka(SERVERS, "lines", key=key, value="text"), kind)
        for key, kind in ((None, tw.concat("Line", Value)), ("text", Text))
    )
    assert testing.run(plain, {"read.records": [{"value": b"a"}]})["kept"] == [("a",)]
    assert testing.run(keyed, {"read.records": [{"value": b"a", "key": b"b"}]})["kept"] == [("b", "a")]


class Value(tw.Tuple):
    value: str


@pytest.mark.parametrize(
    ("make", "tuple_type", "message"),
    [
        (lambda: tw.kafka(SERVERS), Raw, "no topic"),
        (lambda: tw.kafka(SERVERS, "t", value="raw"), Text, "the tuple type has no matching attribute value"),
        (lambda: tw.kafka(SERVERS, "t", value="text"), Text, "no part of a record supplies key"),
        (lambda: tw.kafka(SERVERS, "t", record="offset"), Raw, "the tuple type has no matching attribute offset"),
        (lambda: tw.kafka(SERVERS, "t", key="value"), Text, "unknown key encoding 'value'"),
        (lambda: tw.kafka(SERVERS, "t", value="avro"), Raw, "kafka: bad value"),
        (lambda: tw.kafka(SERVERS, "t", starting="first"), Raw, "kafka: bad starting"),
        (lambda: tw.kafka(SERVERS, "t", on_error="stop"), Raw, "kafka: bad on_error"),
        (lambda: tw.kafka(SERVERS, "t", record="header"), Raw, "unknown record attribute 'header'"),
        (lambda: tw.kafka("", "t"), Raw, "bad servers"),
        (lambda: tw.kafka(SERVERS, "t", options={"a": []}), Raw, "bad option a"),
        (lambda: tw.spark(""), Raw, "bad format"),
        (lambda: tw.from_dataframe([1]), Raw, "not a DataFrame"),
    ],
)
def test_bad_sources(make: Any, tuple_type: type[tw.Tuple], message: str) -> None:
    with pytest.raises(GraphError, match=message) as caught:
        app_of(make(), tuple_type)
    assert caught.value.where is not None
    assert caught.value.where.file == __file__


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        (tw.kafka(SERVERS), "no topic"),
        (tw.kafka(SERVERS, "t", key="kee"), "kee"),
        (tw.kafka(SERVERS, "t", value="raw"), "a raw value holds a single attribute"),
        (tw.kafka(SERVERS, "t", starting="latest"), "starting, on_error and record apply only to a kafka source"),
        (tw.spark("console"), "not a sink"),
    ],
)
def test_bad_sinks(endpoint: Any, message: str) -> None:
    app = tw.App("bad")
    with pytest.raises(GraphError, match=message):
        app.source(tw.iterable([]), Text).sink(endpoint)


def test_only_spark_can_run_them() -> None:
    for endpoint in (tw.kafka(SERVERS, "t", value="raw"), tw.spark("rate")):
        app = app_of(endpoint, Raw)
        with pytest.raises(PlanError, match="needs Spark") as caught:
            tw.run(app, engine="local")
        assert caught.value.where is not None
        with pytest.raises(PlanError, match="no sample can be taken"):
            sample_log(app.graph(), 10, 10, None)  # type: ignore[arg-type]
    app = tw.App("sink")
    app.source(tw.iterable([]), Raw).sink(tw.kafka(SERVERS, "t"), name="sent")
    with pytest.raises(PlanError, match=r"the topic t at 127\.0\.0\.1:9092 needs Spark") as caught:
        tw.run(app, engine="local")
    assert caught.value.operator == "sent"


def test_what_workers_need_not_know_does_not_travel() -> None:
    secret = tw.Secret("open sesame")
    formats = tw.spark("jdbc", password=secret)
    assert dict(formats.options) == {"password": secret}
    assert pickle.loads(pickle.dumps(formats)) == SparkFormat("jdbc")
    frame = SparkFrame(object())
    assert pickle.loads(pickle.dumps(frame)).frame is None
    topic = tw.kafka(SERVERS, "t", options={"kafka.sasl.jaas.config": secret, "failOnDataLoss": False})
    assert dict(topic.options)["failOnDataLoss"] == "false"
    assert "sesame" not in repr(topic) + repr(formats)


def test_exports_through_a_topic() -> None:
    app = tw.App("exporting")
    app.source(tw.iterable([]), Text).export("lines", via=tw.kafka(SERVERS, key="key"))
    (sink,) = app.graph().sinks
    assert sink.endpoint == Kafka(SERVERS, "lines", key="key")
    importing = tw.App("importing")
    lines = importing.imported("lines", Text, via=tw.kafka(SERVERS, "other", key="text", value="text"))
    lines.sink(tw.none())
    (source,) = importing.graph().sources
    assert isinstance(source.endpoint, Kafka)
    assert (source.name, source.endpoint.topic) == ("lines.records", "other")
    with pytest.raises(GraphError, match="bad export name"):
        tw.App("bad").imported("a/b", Text, via=tw.kafka(SERVERS))
    with pytest.raises(GraphError, match="via must be a Kafka topic"):
        tw.App("bad").imported("lines", Text, via="kafka")  # type: ignore[arg-type]

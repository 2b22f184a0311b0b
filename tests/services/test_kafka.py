"""Kafka → Thalweg → Kafka and PostgreSQL against real ones, with kill -9 of driver, JVM and workers in between.

THALWEG_KILLS sets the number of kills, THALWEG_SEED their moments.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import thalweg as tw
from tests.services.jars import connector
from tests.services.kafka import PARTITIONS, Broker
from tests.services.postgres import Postgres
from tests.small import THALWEG
from tests.spark.processes import Run
from tests.tcp import free_port
from tests.waiting import wait_for
from thalweg import agg, window
from thalweg.cli.find_app import load_app
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.errors import InputError, OutputError
from thalweg.verify.reference import Reference

cloudpickle.register_pickle_by_value(sys.modules[__name__])

KILLS = int(os.environ.get("THALWEG_KILLS", "3"))
SEED = int(os.environ.get("THALWEG_SEED", "7"))
SYMBOLS, PER_EPOCH, BATCH = 6, 40, 150
BAD = (b"no json", b'{"id": "text", "price": 1.0}', b'{"id": 1}')

APP = """
import thalweg as tw
from thalweg import agg, window

SERVERS = tw.param("servers", type=str)
DSN = tw.secret("dsn")


class Tick(tw.Tuple):
    key: str
    id: int
    price: float
    partition: int
    offset: int


app = tw.App("relay")
topic = tw.kafka(SERVERS, "ticks", key="text", record=("partition", "offset"), on_error="dead_letter")
ticks = app.source(topic, Tick)
sums = ticks.aggregate(
    window.running(by="key"),
    symbol=agg.any("key"), n=agg.count(), id=agg.last("id"), total=agg.sum("price"),
    partition=agg.last("partition"), offset=agg.last("offset"),
)
sums.sink(tw.kafka(SERVERS, "sums", key="symbol"), name="sent")
sums.sink(tw.postgres(DSN, "sums", position=True), name="stored")
ticks.dead_letters.sink(tw.kafka(SERVERS, "bad"), name="bad")
"""


@dataclass(frozen=True)
class Record:
    key: bytes | None
    value: bytes
    partition: int
    offset: int
    headers: Mapping[str, bytes]

    @property
    def place(self) -> tuple[str, int, int]:
        """Which tuple of which sink of which run it is: what a consumer leaves duplicates out by."""
        run, epoch, row = (self.headers[f"thalweg-{name}"].decode() for name in ("run", "epoch", "row"))
        return run, int(epoch), int(row)


def produce(spark: SparkSession, servers: str, topic: str, records: list[tuple[bytes | None, bytes]]) -> None:
    frame = spark.createDataFrame(records, "key binary, value binary")
    frame.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", topic).save()


def consume(spark: SparkSession, servers: str, topic: str) -> list[Record]:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    rows = reader.option("includeHeaders", "true").load().collect()
    found = [
        Record(
            r.key and bytes(r.key), bytes(r.value), r.partition, r.offset, {h.key: bytes(h.value) for h in r.headers}
        )
        for r in rows
    ]
    return sorted(found, key=lambda r: (r.partition, r.offset))


def without_duplicates(records: list[Record]) -> dict[tuple[str, int, int], Record]:
    first: dict[tuple[str, int, int], Record] = {}
    for record in records:
        kept = first.setdefault(record.place, record)
        assert (kept.key, kept.value) == (record.key, record.value), "sent again, it is the same"
    return first


def ticks(first: int, count: int) -> list[tuple[bytes | None, bytes]]:
    made: list[tuple[bytes | None, bytes]] = []
    for i in range(first, first + count):
        value = json.dumps({"id": i, "price": i / 7, "other": None}).encode()
        made.append((f"S{i % SYMBOLS}".encode(), value))
    return made


def command(app: Path, servers: str, *options: str, per_epoch: int = PER_EPOCH) -> list[str]:
    """`thalweg run`, for another process."""
    settings = [word for key, value in connector().items() for word in ("--conf", f"{key}={value}")]
    fixed = ["--param", f"servers={servers}", "--checkpoint", str(app.parent / "checkpoint"), "--interval", "0.1"]
    cut = ["--max-tuples-per-epoch", str(per_epoch), "--degree", "2", "--master", "local[2]"]
    return [*THALWEG, "run", str(app), *fixed, *cut, *settings, *options]


def test_killed_at_random_moments(broker: Broker, postgres: Postgres, spark: SparkSession, tmp_path: Path) -> None:
    app, said, chance = tmp_path / "relay.py", tmp_path / "said", random.Random(SEED)
    app.write_text(APP)
    (tmp_path / "dsn").write_text(postgres.dsn)
    secret = ("--param", f"dsn=@{tmp_path / 'dsn'}")
    log = Checkpoint(tmp_path / "checkpoint").log
    sent = ticks(0, BATCH)
    produce(spark, broker.servers, "ticks", [*sent, *((b"S0", bad) for bad in BAD)])
    for _ in range(KILLS):
        until = sum(1 for _ in log) + chance.randint(1, 3)
        run = Run(command(app, broker.servers, "--follow", *secret), said)
        assert run.wait_until(lambda: log.get(until) is not None), said.read_text()
        more = ticks(len(sent), BATCH)
        produce(spark, broker.servers, "ticks", more)  # while it runs, so that there is something to do
        sent += more
        time.sleep(chance.uniform(0, 0.7))
        assert run.alive, said.read_text()
        run.kill()
    last = Run(command(app, broker.servers, *secret), said)
    assert last.wait() == 0, said.read_text()

    answer = Reference(load_app(str(app), {"servers": broker.servers, "dsn": postgres.dsn}).graph()).run(log)
    stored = postgres.query('SELECT symbol, n, id, total, partition, "offset" FROM sums ORDER BY _epoch, _row')
    assert stored == answer["stored"], "nothing lost, nothing twice, in order"
    delivered = without_duplicates(consume(spark, broker.servers, "sums"))
    found = [record for _, record in sorted(delivered.items())]
    names = ("symbol", "n", "id", "total", "partition", "offset")
    assert [tuple(json.loads(r.value)[n] for n in names) for r in found] == answer["sent"], "the reference's answer"
    assert all(r.key == json.loads(r.value)["symbol"].encode() for r in found)

    # What comes out, counted against what went in: each tick once.
    values = [json.loads(r.value) for r in found]
    assert sorted(v["id"] for v in values) == list(range(len(sent)))
    assert Counter(v["symbol"] for v in values) == Counter(key.decode() for key, _ in sent if key is not None)
    for symbol in {v["symbol"] for v in values}:
        assert [v["n"] for v in values if v["symbol"] == symbol] == list(range(1, len(sent) // SYMBOLS + 1))
    for partition in {r.partition for r in found}:
        places = [p for p, r in delivered.items() if r.partition == partition]
        assert places == sorted(places), "in a partition the order is kept"
    letters = without_duplicates(consume(spark, broker.servers, "bad")).values()
    assert len(letters) == len(BAD)
    assert {json.loads(r.value)["operator"] for r in letters} == {"ticks"}


class Reading(tw.Tuple):
    t: int
    partition: int


def timed(servers: str, topic: str) -> tw.App:
    app = tw.App("timed")
    read = app.source(tw.kafka(servers, topic, record="partition"), Reading, name="read")
    counted = read.event_time("t").aggregate(
        window.tumbling(time=10, by="partition"), partition=agg.any("partition"), end=agg.window_end(), n=agg.count()
    )
    counted.sink(tw.collect(), name="out")
    counted.late.sink(tw.collect(), name="late")
    return app


def produce_times(spark: SparkSession, servers: str, topic: str, partition: int, times: range) -> None:
    rows = [(json.dumps({"t": t}).encode(), partition) for t in times]
    frame = spark.createDataFrame(rows, "value binary, partition int").coalesce(1)
    frame.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", topic).save()


@pytest.mark.parametrize("max_tuples", [1_000_000, 70])
def test_each_partition_has_its_event_time(
    broker: Broker, spark: SparkSession, tmp_path: Path, max_tuples: int
) -> None:
    """The first partition is a thousand ahead of the second, and its records come first in every batch. The third has
    no records: the others wait for it, because the broker knows it."""
    topic = f"times{max_tuples}"
    produce_times(spark, broker.servers, topic, 0, range(1000, 1100))
    produce_times(spark, broker.servers, topic, 1, range(100))
    app = timed(broker.servers, topic)
    running = app.start(spark, checkpoint=tmp_path, follow=False, max_tuples_per_epoch=max_tuples, degree=2)
    result = running.result()
    assert result.tuples("late") == []
    wanted = [(p, first + end, 10) for p, first in ((0, 1000), (1, 0)) for end in range(10, 101, 10)]
    assert sorted(result.tuples("out")) == wanted
    answer = Reference(app.graph()).run(Checkpoint(tmp_path).log)
    assert result.tuples("out") == answer["out"]
    spool = tmp_path / "spool" / "read.records.spool"
    assert json.loads((spool / "splits.json").read_bytes()) == [f"{topic}\x1f{p}" for p in range(PARTITIONS)]


def test_a_partition_whose_records_come_later(broker: Broker, spark: SparkSession, tmp_path: Path) -> None:
    """Batches later, also after a restart: the others wait for it, and none of its records is late."""
    app, log = timed(broker.servers, "later"), Checkpoint(tmp_path).log
    for start, (partition, times) in enumerate([(0, range(500, 530)), (1, range(20)), (2, range(490, 510))]):
        produce_times(spark, broker.servers, "later", partition, times)
        with app.start(spark, checkpoint=tmp_path) as running:
            wait_for(lambda: not running.active or sum(e.tuples for e in log) >= (30, 50, 70)[start])
            assert running.failure is None
    result = app.start(spark, checkpoint=tmp_path, follow=False).result()
    assert result.tuples("late") == []
    assert sum(n for _, _, n in result.tuples("out")) == 70
    assert result.tuples("out") == Reference(app.graph()).run(log)["out"]


class Point(tw.Tuple):
    i: int
    tags: list[str]


def test_exported_through_a_topic(broker: Broker, spark: SparkSession, tmp_path: Path) -> None:
    """And read from it as it is: key, value and the record's own attributes."""
    exporting = tw.App("exporting")
    points = exporting.source(tw.beacon(lambda i: {"i": i, "tags": ["a", "b"][: i % 3]}, count=20), Point)
    points.filter(lambda p: p.i % 2 == 0).export("even", via=tw.kafka(broker.servers, key="i"))
    exporting.start(spark, follow=False).result()

    class Raw(tw.Tuple):
        key: int
        value: bytes
        topic: str

    importing = tw.App("importing")
    even = importing.imported("even", Point, via=tw.kafka(broker.servers))
    raw = importing.source(tw.kafka(broker.servers, "even", key="json", value="raw", record=("topic",)), Raw)
    even.sink(tw.collect(), name="points")
    raw.sink(tw.collect(), name="raws")
    result = importing.start(spark, follow=False).result()
    wanted = [(i, ["a", "b"][: i % 3]) for i in range(0, 20, 2)]
    assert sorted((i, list(tags)) for i, tags in result.tuples("points")) == wanted
    assert sorted((key, json.loads(value)["i"], topic) for key, value, topic in result.tuples("raws")) == [
        (i, i, "even") for i, _ in wanted
    ]


def impatient() -> Iterator[tuple[str, object]]:
    yield from {"kafka.request.timeout.ms": 500, "kafka.default.api.timeout.ms": 1000}.items()
    yield from {"kafka.max.block.ms": 1000, "fetchOffset.numRetries": 1}.items()


def test_an_unavailable_broker(spark: SparkSession, tmp_path: Path) -> None:
    closed = f"127.0.0.1:{free_port()}"
    reading = tw.App("reading")
    reading.source(tw.kafka(closed, "ticks", options=dict(impatient())), Point, name="points").sink(tw.none())
    with pytest.raises(InputError, match=f"the topic ticks at {closed} cannot be read") as unread:
        reading.start(spark, follow=False).result()
    assert unread.value.operator == "points.records"
    assert unread.value.where is not None
    assert unread.value.where.file == __file__
    assert "Timeout" in str(unread.value.found)

    writing = tw.App("writing")
    made = writing.source(tw.beacon(lambda i: {"i": i, "tags": []}, count=3), Point)
    made.sink(tw.kafka(closed, "points", options=dict(impatient()), retry_s=0.2), name="sent")
    with pytest.raises(OutputError, match="epoch 0 cannot be delivered to the topic points") as unsent:
        writing.start(spark, follow=False).result()
    assert unsent.value.operator == "sent"
    assert "Timeout" in str(unsent.value.found)

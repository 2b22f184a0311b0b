"""Spark's own sources and DataFrames, through spools; `app.start`, and streams as DataFrames."""

from __future__ import annotations

import datetime as dt
import importlib
import json
import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import thalweg as tw
from tests.changed_code import CHANGES_CODE
from tests.test_docs import block
from tests.waiting import PATIENCE_S, wait_for
from thalweg import agg, window
from thalweg.endpoints.kafka import Kafka
from thalweg.engine.spark import run
from thalweg.engine.spark import stream_dataframe as table
from thalweg.engine.spark.connectors import package, with_packages
from thalweg.engine.spark.row_schema import spark_schema
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.errors import EngineError, InputError
from thalweg.verify.reference import Reference

pytestmark = [pytest.mark.spark, CHANGES_CODE]

KAFKA_PACKAGE = package(Kafka.connector)
cloudpickle.register_pickle_by_value(sys.modules[__name__])

BATCH = 20


class Value(tw.Tuple):
    value: int


def put(folder: Path, name: str, *values: int) -> None:
    """A file that is there whole or not at all."""
    folder.mkdir(exist_ok=True)
    (folder / f".{name}").write_text("".join(json.dumps({"value": v, "other": "x"}) + "\n" for v in values))
    (folder / f".{name}").rename(folder / name)


def several(spark: SparkSession, files: Path) -> tw.App:
    """A deterministic stream without an end, a folder of files, and a table that is there."""
    rated = tw.spark("rate-micro-batch", rowsPerBatch=BATCH, numPartitions=1)
    frame = spark.readStream.schema("value long, other string").json(str(files)).where("value % 10 = 0")
    app = tw.App("several")
    made = app.source(rated, Value)
    read = app.source(tw.from_dataframe(frame), Value)
    given = app.source(tw.from_dataframe(spark.range(5).withColumnRenamed("id", "value")), Value)
    made.sink(tw.collect(), name="made_all")
    read.union(given).sink(tw.collect(), name="others")
    sums = made.map(lambda v: {"parity": v.value % 2, "value": v.value}).aggregate(
        window.running(by="parity"), parity=agg.any("parity"), total=agg.sum("value")
    )
    sums.sink(tw.collect(), name="summed")
    return app


def spooled(checkpoint: Path, source: str) -> Path:
    return checkpoint / "spool" / f"{source}.spool"


def test_start_stop_and_start_again(spark: SparkSession, tmp_path: Path) -> None:
    files, checkpoint = tmp_path / "files", tmp_path / "checkpoint"
    put(files, "a.json", 10, 11, 20)
    app = several(spark, files)
    with app.start(spark, checkpoint=checkpoint, degree=2, max_tuples_per_epoch=90) as running:
        wait_for(lambda: not running.active or (len(running.reports) >= 3 and "read" in taken(checkpoint)))
        assert running.active, running.failure
        first = running.stop()
    assert first.stopped
    assert not running.active
    assert not (checkpoint / "ended").exists()

    # As if it had been killed after the last batch: the file is there, the batch is not committed and runs again.
    commits = sorted((checkpoint / "spool" / "made.query" / "commits").glob("[0-9]*"), key=lambda f: int(f.name))
    commits[-1].unlink()
    commits[-1].with_name(f".{commits[-1].name}.crc").unlink(missing_ok=True)
    before = {f: f.read_bytes() for f in spooled(checkpoint, "made").glob("*.arrow")}

    put(files, "b.json", 30, 31)
    with app.start(spark, checkpoint=checkpoint, degree=2, max_tuples_per_epoch=90) as running:
        wait_for(lambda: not running.active or taken(checkpoint).get("read") == 3)
        result = running.stop()
    assert {f: f.read_bytes() for f in before} == before, "a batch that ran again left its file"
    assert len(list(spooled(checkpoint, "made").glob("*.arrow"))) > len(before)

    wanted = Reference(app.graph()).run(Checkpoint(checkpoint).log)
    for sink in ("made_all", "others", "summed"):
        assert result.tuples(sink) == wanted[sink], sink
    made = [v for (v,) in result.tuples("made_all")]
    assert made == list(range(len(made))), "every row once"
    assert len(made) >= 3 * BATCH
    assert sorted(v for (v,) in result.tuples("others")) == [0, 1, 2, 3, 4, 10, 20, 30]


@pytest.mark.parametrize("batches", [1, 2])
def test_a_query_that_somebody_stops_has_not_ended(spark: SparkSession, tmp_path: Path, batches: int) -> None:
    """Behind its first batch it is asked again, because sources that know no `availableNow` make only one. Later the
    run stops, and the next start resumes. Either way no window closes before everything was read."""
    files, checkpoint = tmp_path / "files", tmp_path / "checkpoint"
    for number in range(4):
        put(files, f"{number}.json", number)
    frame = spark.readStream.schema("value long, other string").option("maxFilesPerTrigger", 1).json(str(files))
    app = tw.App("stopped")
    read = app.source(tw.from_dataframe(frame), Value)
    read.aggregate(window.tumbling(count=4), total=agg.sum("value")).sink(tw.collect(), name="out")
    said = spark.conf.get("spark.sql.streaming.noDataProgressEventInterval")
    running = app.start(spark, checkpoint=checkpoint, follow=False, max_tuples_per_epoch=1)
    wait_for(lambda: not running.active or len(list(spooled(checkpoint, "read").glob("*.arrow"))) >= batches)
    for query in spark.streams.active:
        query.stop()
    wait_for(lambda: not running.active)
    assert spark.conf.get("spark.sql.streaming.noDataProgressEventInterval") == said, "the user's session"
    if running.failure is not None:
        assert isinstance(running.failure, InputError), running.failure
        assert running.failure.found == "its query was stopped"
        assert not Checkpoint(checkpoint).log.has_end
        running = app.start(spark, checkpoint=checkpoint, follow=False)
    result = running.result()
    assert (result.tuples(), result.stopped) == ([(6,)], False)


def test_our_query_that_somebody_stops_has_not_ended(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs in a session of its own, but it can still be found from the user's session."""
    started: list[StreamingQuery] = []
    start_query = run.start_query

    def spy(*arguments: Any) -> StreamingQuery:
        started.append(start_query(*arguments))
        return started[-1]

    monkeypatch.setattr(run, "start_query", spy)
    app = tw.App("stopped")
    numbers = app.source(tw.beacon(lambda i: {"value": i}, count=8), Value)
    numbers.aggregate(window.tumbling(count=8), total=agg.sum("value")).sink(tw.collect(), name="out")
    checkpoint = tmp_path / "checkpoint"
    running = app.start(spark, checkpoint=checkpoint, follow=False, max_tuples_per_epoch=1)
    wait_for(lambda: not running.active or len(running.reports) >= 1)
    started[0].stop()
    assert running.result().stopped
    assert not (checkpoint / "ended").exists()
    assert app.start(spark, checkpoint=checkpoint, follow=False).result().tuples() == [(28,)]


def taken(checkpoint: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for chunk in (c for epoch in Checkpoint(checkpoint).log for c in epoch.chunks):
        found[chunk.source] = found.get(chunk.source, 0) + chunk.stop - chunk.start
    return found


def put_readings(folder: Path, name: str, *celsius: float | None) -> None:
    lines = [json.dumps({"sensor": "roof", "celsius": c, "note": "x"}) for c in celsius]
    (folder / "readings").mkdir(exist_ok=True)
    (folder / "readings" / name).write_text("\n".join(lines))


def code_of(label: str, folder: Path) -> Any:
    """A program of the page, its folders in this one: the JVM does not change its own."""
    text = re.sub(r'"([\w.]+)/"', rf'"{folder}/\1"', block("spark.md", label))
    return compile(text, f"{label}.py", "exec")


def test_the_programs_of_the_page(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/spark.md: a DataFrame goes in and the run takes what is there; a stream comes out as a DataFrame."""
    (tmp_path / "inside.py").write_text(block("spark.md", "file: inside.py"))
    monkeypatch.syspath_prepend(str(tmp_path))
    program = {**vars(importlib.import_module("inside")), "spark": spark}
    put_readings(tmp_path, "a.json", 20.0, 50.0, None, 31.0, 33.0, 34.0)
    try:
        exec(code_of("start", tmp_path), program)
        assert program["result"].tuples_out == {"sink": 3}
        files = sorted((tmp_path / "hot").glob("epoch-*.jsonl"))
        found = [json.loads(line)["mean"] for f in files for line in f.read_text().splitlines()]
        assert found == [35.0, 32.0, 34.0], "the last one, alone in its pair, at the end"
        assert not program["running"].active

        (tmp_path / "readings" / "a.json").unlink()  # because of its null, which this application does not filter out
        put_readings(tmp_path, "b.json", 33.0, 32.0)
        exec(code_of("table", tmp_path), program)
        rows, query = program["rows"], program["query"]
        assert [(f.name, f.dataType.simpleString()) for f in rows.schema] == [("sensor", "string"), ("mean", "double")]
        log = Checkpoint(tmp_path / "rows").log
        wait_for(lambda: not query.isActive or any(epoch.final for epoch in log))
        query.processAllAvailable()
        query.stop()
        kept = [json.loads(line) for f in (tmp_path / "kept").glob("*.json") for line in f.read_text().splitlines()]
        assert kept == [{"sensor": "roof", "mean": 32.5}]
    finally:
        sys.modules.pop("inside")
        table.release(tmp_path / "rows")


class Placed(tw.Tuple):
    t: int
    shard: str


def test_rows_are_split_by_columns(spark: SparkSession, tmp_path: Path) -> None:
    """Each shard has its own event time, whatever the order of rows in a batch; the column need not be an attribute."""
    rows = [(1000 + i, "a", 1) for i in range(40)] + [(i, "a", 2) for i in range(40)]
    frame = spark.createDataFrame(rows, "t long, shard string, part int").coalesce(1)
    app = tw.App("shards")
    read = app.source(tw.from_dataframe(frame, split_by=("shard", "part")), Placed)
    counted = read.event_time("t").aggregate(window.tumbling(time=10), end=agg.window_end(), n=agg.count())
    counted.sink(tw.collect(), name="out")
    counted.late.sink(tw.collect(), name="late")
    result = app.start(spark, checkpoint=tmp_path, follow=False, max_tuples_per_epoch=30, degree=2).result()
    assert result.tuples("late") == []
    assert result.tuples("out") == [(first + end, 10) for first in (0, 1000) for end in (10, 20, 30, 40)]
    assert result.tuples("out") == Reference(app.graph()).run(Checkpoint(tmp_path).log)["out"]


def test_types_of_a_dataframe() -> None:
    class Everything(tw.Tuple):
        when: dt.datetime
        day: dt.date
        data: bytes
        exact: Decimal
        flag: bool | None
        values: list[Value]

    schema = spark_schema(Everything.tuple_type)
    assert schema.simpleString() == (
        "struct<when:timestamp_ntz,day:date,data:binary,exact:decimal(38,18),flag:boolean,"
        "values:array<struct<value:bigint>>>"
    )
    assert [field.name for field in schema if field.nullable] == ["flag"]


def test_misfits_are_found_before_anything_runs(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.readStream.format("rate").load()

    class Wrong(tw.Tuple):
        value: str

    class Missing(tw.Tuple):
        valeu: int

    def failure(endpoint: Any, tuple_type: Any) -> Any:
        app = tw.App("wrong")
        app.source(endpoint, tuple_type, name="rows").sink(tw.collect())
        running = app.start(spark, checkpoint=tmp_path / str(len(list(tmp_path.iterdir()))))
        with pytest.raises((InputError, EngineError)) as caught:
            running.wait(PATIENCE_S)
        assert running.failure is caught.value
        return caught.value

    wrong = failure(tw.from_dataframe(frame), Wrong)
    assert wrong.operator == "rows"
    assert wrong.message == "the column value of the DataFrame has the wrong type"
    assert (wrong.expected, wrong.found) == ("value: str", "value: bigint")
    assert wrong.where.file == __file__
    missing = failure(tw.spark("rate"), Missing)
    assert missing.message == "the Spark format rate has no column valeu"
    assert missing.hint == "did you mean `value`?"
    unknown = failure(tw.spark("ratte"), Value)
    assert unknown.message == "the Spark format ratte cannot be read"
    assert "ratte" in unknown.found
    split = failure(tw.spark("rate", split_by="part"), Value)
    assert split.message == "the Spark format rate cannot be split by part"
    assert split.found == "timestamp, value"
    times = failure(tw.from_dataframe(frame, split_by=["value", "timestamp"]), Value)
    assert times.message == "the DataFrame cannot be split by timestamp"
    assert (times.expected, times.found) == ("the name of a column of text or whole numbers", "timestamp: timestamp")
    option = failure(tw.spark("rate", rowsPerSecond="many"), Value)
    assert "many" in option.found
    kafka = failure(tw.kafka("127.0.0.1:1", "ticks"), Value)
    assert kafka.message == "this Spark session has no Kafka connector"
    assert KAFKA_PACKAGE in kafka.hint


def test_the_connector_is_requested_once() -> None:
    app = tw.App("kafka")
    app.source(tw.kafka("127.0.0.1:1", "ticks"), Value).sink(tw.none())
    graph = app.graph()
    assert with_packages(graph, {}) == {"spark.jars.packages": KAFKA_PACKAGE}
    assert with_packages(graph, {"spark.jars.packages": "a:b:1"}) == {"spark.jars.packages": f"a:b:1,{KAFKA_PACKAGE}"}
    own = {"spark.jars": "/jars/spark-sql-kafka-0-10_2.13-4.3.0.jar"}
    assert with_packages(graph, own) == own

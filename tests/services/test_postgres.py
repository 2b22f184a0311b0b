"""The PostgreSQL sink against a real server: exactly once whatever is killed, retries, types, tables, secrets."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from tests.engine.test_crash import finished, in_child
from tests.services.postgres import PASSWORD, Postgres
from tests.small import THALWEG, contents, thalweg
from tests.spark import dying_driver
from tests.spark.processes import Run
from tests.tcp import free_port
from tests.waiting import PATIENCE_S
from thalweg.endpoints.table_writer import EPOCHS
from thalweg.engine.core.run import RunOptions, RunResult
from thalweg.engine.local.run import run_local
from thalweg.engine.storage.checkpoint import EpochReport
from thalweg.errors import CheckpointError, OutputError, ThalwegWarning
from thalweg.optimize.passes import make_plan

COUNT, PER_EPOCH = 200, 10
KILLS = int(os.environ.get("THALWEG_KILLS", "20"))


@pytest.fixture
def table() -> str:
    return f"t_{uuid.uuid4().hex[:12]}"


class Item(tw.Tuple):
    i: int
    s: str


def item(index: int) -> dict[str, Any]:
    return {"i": index, "s": f"é\t\\{index}\n"}


def app_of(dsn: str, table: str, count: int = COUNT, **options: Any) -> tw.App:
    app = tw.App("items")
    app.source(tw.beacon(item, count=count), Item, name="items").sink(tw.postgres(dsn, table, **options), name="out")
    return app


def run(
    app: tw.App, checkpoint: Path | None = None, watch: Callable[[EpochReport], None] = lambda report: None, **more: Any
) -> RunResult:
    options = RunOptions(checkpoint, max_tuples_per_epoch=PER_EPOCH, interval_s=0.02, **more)
    return run_local(make_plan(app.graph()), options, watch)


WANTED = [(i, item(i)["s"]) for i in range(COUNT)]


def rows(postgres: Postgres, table: str) -> list[tuple[Any, ...]]:
    return postgres.query(f"SELECT i, s FROM {table} ORDER BY i")


# Exactly once


def test_killed_at_random_moments(postgres: Postgres, table: str, tmp_path: Path) -> None:
    """kill -9 of the local engine, again and again on one checkpoint."""
    chance, kills, chains = random.Random(3), 0, 0
    while kills < KILLS:
        checkpoint, name = tmp_path / str(chains), f"{table}_{chains}"
        app = app_of(postgres.dsn, name, position=True)
        while not (checkpoint / "ended").exists():
            child = in_child(lambda: run(app, checkpoint))
            time.sleep(chance.uniform(0.0, 0.35))
            os.kill(child, signal.SIGKILL)
            kills += not finished(child)
        found = postgres.query(f"SELECT i, s, _epoch, _row FROM {name} ORDER BY _epoch, _row")
        assert found == [(i, s, i // PER_EPOCH, i % PER_EPOCH) for i, s in WANTED], f"chain {chains}"
        chains += 1


def test_killed_after_the_commit(postgres: Postgres, table: str, tmp_path: Path) -> None:
    """The epoch is in the database, and the run does not know: the next start leaves it out."""
    app = app_of(postgres.dsn, table)

    def dying() -> None:
        from thalweg.endpoints.postgres_writer import PostgresSink

        write = PostgresSink.write

        def once(self: PostgresSink, epoch: int, frame: Any, *, final: bool) -> int:
            done = write(self, epoch, frame, final=final)
            if epoch == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        PostgresSink.write = once  # type: ignore[method-assign, assignment]
        run(app, tmp_path)

    assert not finished(in_child(dying))
    assert len(rows(postgres, table)) == 4 * PER_EPOCH
    assert run(app, tmp_path).tuples_out == {"out": COUNT - 3 * PER_EPOCH}, "epoch 3 is run again"
    assert rows(postgres, table) == WANTED
    assert postgres.query(f"SELECT sink, epoch FROM {EPOCHS} WHERE target LIKE %s", (f"%{table}",)) == [("out", 19)]


SPARK_APP = """
import thalweg as tw
from thalweg import agg, window

class Item(tw.Tuple):
    i: int
    s: str

dsn = tw.secret("dsn")
app = tw.App("items")
items = app.source(tw.beacon(lambda i: {"i": i, "s": "abc"[i % 3]}, count=60), Item)
ratio = items.map(lambda t: {"i": t.i, "s": t.s, "r": 100 // (t.i % 7)}, on_error="dead_letter")
sums = ratio.aggregate(window.running(by="s"), s=agg.any("s"), n=agg.count(), total=agg.sum("r"), i=agg.last("i"))
sums.sink(tw.postgres(dsn, "TABLE"), name="out")
ratio.dead_letters.sink(tw.postgres(dsn, "TABLE_letters"), name="letters")
"""


@pytest.mark.spark
def test_killed_with_all_of_spark(postgres: Postgres, table: str, tmp_path: Path) -> None:
    """Dead letters can go to a table as well; Spark and Thalweg neither store nor print the secret."""
    app, said = tmp_path / "items_app.py", tmp_path / "said"
    app.write_text(SPARK_APP.replace("TABLE", table))
    (tmp_path / "dsn.txt").write_text(postgres.dsn)
    fixed = ["--param", f"dsn=@{tmp_path}/dsn.txt", "--checkpoint", str(tmp_path / "state"), "--degree", "2"]
    command = ["run", str(app), *fixed, "--max-tuples-per-epoch", "20", "--master", "local[2]", "--interval", "0.05"]
    for point, epoch in (("after_sinks", 1),):
        died = Run([sys.executable, dying_driver.__file__, point, str(epoch), *command], said).wait()
        assert died == -9, f"{point} of epoch {epoch} did not kill the run:\n{said.read_text()}"
    assert len(postgres.query(f"SELECT * FROM {table}")) > 0
    assert Run([*THALWEG, *command], said).wait() == 0, said.read_text()
    good = [i for i in range(60) if i % 7]
    assert postgres.query(f"SELECT i FROM {table} ORDER BY i") == [(i,) for i in good]
    assert postgres.query(f"SELECT n, total FROM {table} WHERE s = 'a' ORDER BY n DESC LIMIT 1") == [
        (len([i for i in good if i % 3 == 0]), sum(100 // (i % 7) for i in good if i % 3 == 0))
    ]
    letters = postgres.query(f"SELECT operator, error, tuple FROM {table}_letters")
    assert len(letters) == 60 - len(good)
    assert letters[1] == ("ratio", "ZeroDivisionError: integer division or modulo by zero", "Item(i=7, s='b')")
    kept = [*contents(tmp_path / "state").values(), said.read_bytes()]
    assert all(PASSWORD.encode() not in data and postgres.dsn.encode() not in data for data in kept)


# A server that is away


def test_a_server_that_comes_back(postgres: Postgres, table: str, tmp_path: Path) -> None:
    """It crashes twice during the run: the run waits with a warning; no tuple is lost or stored twice."""
    down = threading.Event()

    def crash(report: EpochReport) -> None:
        if report.epoch in (4, 11):
            postgres.stop()
            down.set()

    def revive() -> None:
        for _ in range(2):
            assert down.wait(PATIENCE_S)
            down.clear()
            time.sleep(0.5)
            postgres.start()

    reviver = threading.Thread(target=revive)
    reviver.start()
    with pytest.warns(ThalwegWarning) as said:
        run(app_of(postgres.dsn, table, retry_s=60), tmp_path, crash)
    reviver.join()
    assert rows(postgres, table) == WANTED
    assert len(said) == 2, "one line for each time that it waits"
    assert str(said[0].message).startswith(f"out waits for PostgreSQL at 127.0.0.1:{postgres.port}/postgres: ")


def test_a_server_that_stays_unavailable(postgres: Postgres, table: str, tmp_path: Path) -> None:
    app = app_of(postgres.dsn, table, retry_s=0.3)

    def crash(report: EpochReport) -> None:
        if report.epoch == 2:
            postgres.stop()

    try:
        stops = pytest.raises(OutputError, match=r"epoch 3 cannot be delivered to PostgreSQL at 127\.0\.0\.1")
        with stops as failure, pytest.warns(ThalwegWarning, match="waits for"):
            run(app, tmp_path, crash)
        assert failure.value.operator == "out"
        assert failure.value.where is not None
        assert "refused" in str(failure.value.found)
        assert "no data is lost" in str(failure.value.hint)
        stops = pytest.raises(OutputError, match=r"PostgreSQL at 127\.0\.0\.1:\d+/postgres does not answer")
        with stops, pytest.warns(ThalwegWarning, match="waits for"):
            run(app, tmp_path)
    finally:
        postgres.start()
    run(app, tmp_path)
    assert rows(postgres, table) == WANTED


def test_a_server_that_refuses(postgres: Postgres, table: str) -> None:
    """What will not change is not tried again, and neither the password nor the connection string is said."""
    wrong = postgres.dsn.replace(PASSWORD, "wrong-horse-battery")
    with pytest.raises(OutputError, match="rejected the claim on a table") as failure:
        run(app_of(wrong, table))
    assert 'password authentication failed for user "writer"' in str(failure.value.found)
    assert "horse" not in str(failure.value)
    with pytest.raises(OutputError, match="rejected the claim") as failure:
        run(app_of(postgres.dsn, f"nowhere.{table}"))
    assert 'schema "nowhere" does not exist' in str(failure.value.found)


# Types


class Part(tw.Tuple):
    x: float
    when: datetime


class Wide(tw.Tuple):
    i: int
    x: float
    s: str
    b: bool
    raw: bytes
    when: datetime
    day: date
    amount: Decimal
    maybe: str | None
    some: int | None
    parts: list[Part]
    numbers: list[float]


WHEN = datetime(2024, 5, 6, 7, 8, 9, 123456)
WIDE: list[dict[str, Any]] = [
    {
        "i": 2**63 - 1,
        "x": 0.1,
        "s": 'a\t"b"\\N\r\n,é𝄞',
        "b": True,
        "raw": bytes(range(256)),
        "when": WHEN,
        "day": date(1, 1, 1),
        "amount": Decimal("12345678901234567890.123456789012345678901"),
        "maybe": None,
        "some": -5,
        "parts": [{"x": 1.5, "when": WHEN}],
        "numbers": [0.1, float("nan"), float("-inf")],
    },
    {
        "i": -(2**63),
        "x": float("-inf"),
        "s": "",
        "b": False,
        "raw": b"",
        "when": WHEN.replace(tzinfo=timezone(timedelta(hours=2))),
        "day": date(9999, 12, 31),
        "amount": Decimal("NaN"),
        "maybe": "\\N",
        "some": None,
        "parts": [],
        "numbers": [],
    },
]


def wide_app(dsn: str, table: str, **options: Any) -> tw.App:
    app = tw.App("wide")
    app.source(tw.iterable(WIDE), Wide, name="wide").sink(tw.postgres(dsn, table, **options), name="out")
    return app


def test_types_round_trip(postgres: Postgres, table: str) -> None:
    run(wide_app(postgres.dsn, table))
    first, second = postgres.query(f"SELECT * FROM {table} ORDER BY i DESC")
    stamp = WHEN.isoformat()
    assert first[:11] == (*list(WIDE[0].values())[:10], [{"x": 1.5, "when": stamp}])
    assert first[11] == [0.1, "NaN", "-Infinity"]
    assert second[:7] == (-(2**63), float("-inf"), "", False, b"", WHEN - timedelta(hours=2), date(9999, 12, 31))
    assert second[7].is_nan()
    assert second[8:] == ("\\N", None, [], [])
    types = postgres.query(
        "SELECT data_type, is_nullable FROM information_schema.columns WHERE table_name = %s ORDER BY ordinal_position",
        (table,),
    )
    assert [t for t, _ in types] == [
        *("bigint", "double precision", "text", "boolean", "bytea", "timestamp without time zone", "date", "numeric"),
        *("text", "bigint", "jsonb", "jsonb"),
    ]
    assert [name for name, (_, nullable) in zip(Wide.tuple_type.names, types, strict=True) if nullable == "YES"] == [
        "maybe",
        "some",
    ]


def test_instants_in_a_column_with_a_zone(postgres: Postgres, table: str) -> None:
    run(wide_app(postgres.dsn, table))
    postgres.query(f'ALTER TABLE {table} ALTER "when" TYPE timestamptz USING "when" AT TIME ZONE \'UTC\'')
    postgres.query(f"DELETE FROM {table}")
    run(wide_app(postgres.dsn, table))
    found = {w for (w,) in postgres.query(f'SELECT "when" FROM {table}')}
    assert found == {WHEN.replace(tzinfo=UTC), WIDE[1]["when"]}


def test_what_does_not_fit_stops_the_run(postgres: Postgres, table: str) -> None:
    app = tw.App("nul")
    app.source(tw.iterable([{"i": 1, "s": "a\0b"}]), Item).sink(tw.postgres(postgres.dsn, table), name="out")
    with pytest.raises(OutputError, match="attribute s does not fit into PostgreSQL") as failure:
        run(app)
    assert (failure.value.operator, failure.value.found) == ("out", r"'a\x00b' in row 0 of the epoch")
    assert postgres.query(f"SELECT * FROM {table}") == []


# Tables


def test_a_table_of_a_different_run(postgres: Postgres, table: str, tmp_path: Path) -> None:
    run(app_of(postgres.dsn, table, 30), tmp_path / "first")
    with pytest.raises(CheckpointError, match="another run of Thalweg wrote to the table") as failure:
        run(app_of(postgres.dsn, table, 20))
    assert failure.value.found == "3 epochs by its sink out"
    assert "--overwrite" in str(failure.value.hint)
    with pytest.raises(CheckpointError, match="another run"):
        run(app_of(postgres.dsn, f"public.{table}", 20))
    run(app_of(postgres.dsn, table, 20), overwrite=True)
    assert rows(postgres, table) == WANTED[:20]


def test_an_empty_table_is_free(postgres: Postgres, table: str) -> None:
    run(app_of(postgres.dsn, table, 30))
    postgres.query(f"DELETE FROM {table}")
    run(app_of(postgres.dsn, table, 20))
    assert rows(postgres, table) == WANTED[:20]


def test_rows_of_others_are_never_deleted(postgres: Postgres, table: str) -> None:
    postgres.query(f"CREATE TABLE {table} (id bigserial PRIMARY KEY, i bigint, s text NOT NULL, note text)")
    postgres.query(f"INSERT INTO {table} (i, s) VALUES (-1, 'mine')")
    run(app_of(postgres.dsn, table, 20))
    with pytest.raises(CheckpointError, match="another run") as failure:
        run(app_of(postgres.dsn, table, 20), overwrite=True)
    assert "Thalweg did not create it" in str(failure.value.hint)
    assert rows(postgres, table) == [(-1, "mine"), *WANTED[:20]]


MISFITS = {
    "i integer, s text": "i is integer, expected bigint or numeric",
    "i bigint": "s is missing",
    "i bigint, s varchar(3)": r"s is character varying\(3\), expected text or character varying",
    "i bigint, s text, more int NOT NULL": "more requires a value, but no attribute has this name",
}


@pytest.mark.parametrize("columns", MISFITS)
def test_a_table_that_does_not_fit(postgres: Postgres, table: str, columns: str) -> None:
    postgres.query(f"CREATE TABLE {table} ({columns})")
    with pytest.raises(OutputError, match=f"the table {table} of .* does not fit: {MISFITS[columns]}") as failure:
        run(app_of(postgres.dsn, table))
    assert failure.value.expected == "i bigint not null, s text not null"
    assert str(failure.value.found).startswith("i ")


def test_a_table_that_is_not_there(postgres: Postgres, table: str, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=f"the table does not exist: {table}"):
        run(app_of(postgres.dsn, table, create=False))

    class Stop(Exception):
        pass

    def stop(report: EpochReport) -> None:
        raise Stop

    app = app_of(postgres.dsn, table)
    with pytest.raises(Stop):
        run(app, tmp_path, stop)
    postgres.query(f"DROP TABLE {table}")
    with pytest.raises(OutputError, match=f"the table of this run no longer exists: {table}"):
        run(app, tmp_path)


def test_two_runs_take_turns_for_nothing(postgres: Postgres, table: str, tmp_path: Path) -> None:
    """A run that lost the table to another run reports an error and stops writing."""
    app = app_of(postgres.dsn, table)

    def take(report: EpochReport) -> None:
        if report.epoch == 1:
            run(app_of(postgres.dsn, table, 20), overwrite=True)

    with pytest.raises(OutputError, match="the table no longer belongs to this run"):
        run(app, tmp_path, take)
    assert rows(postgres, table) == WANTED[:20]


# Secrets


def test_a_secret_is_not_printed(postgres: Postgres, table: str, tmp_path: Path) -> None:
    (tmp_path / "items_app.py").write_text(SPARK_APP.replace("TABLE", table))
    (tmp_path / "dsn.txt").write_text(postgres.dsn)
    away = postgres.dsn.replace(str(postgres.port), str(free_port()))
    (tmp_path / "away.txt").write_text(away)
    fixed = ("--engine", "local", "--checkpoint", "state")
    explained = thalweg("explain", "items_app.py", "--json", "--param", "dsn=@dsn.txt", cwd=tmp_path)
    done = thalweg("run", "items_app.py", *fixed, "--param", "dsn=@dsn.txt", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "items_app.py").write_text(
        SPARK_APP.replace('"TABLE"', f'"{table}", retry_s=0.2').replace("TABLE", table)
    )
    failed = thalweg("run", "items_app.py", "--engine", "local", "--debug", "--param", "dsn=@away.txt", cwd=tmp_path)
    assert (failed.returncode, "does not answer" in failed.stderr) == (1, True)
    said = [text for one in (explained, done, failed) for text in (one.stdout, one.stderr)]
    stored = contents(tmp_path / "state").values()
    for word in (PASSWORD, postgres.dsn, away):
        assert all(word not in text for text in said)
        assert all(word.encode() not in data for data in stored)
    assert len(postgres.query(f"SELECT * FROM {table}")) == 51

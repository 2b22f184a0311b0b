"""The SQLite sink: exactly once whatever is killed, types, tables, locks, errors."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thalweg as tw
from tests.amount import KILLS
from tests.engine.test_crash import finished, in_child
from tests.engine.test_disk_full import fill, small_disk
from tests.small import THALWEG, Stop, stop_after
from tests.spark import dying_driver
from tests.spark.processes import Run
from tests.values import POINT, VALUES
from thalweg import agg, window
from thalweg.endpoints.sqlite import COLUMNS, SqliteWriter, affinity
from thalweg.endpoints.table_writer import EPOCHS
from thalweg.engine.core.run import RunOptions, RunResult
from thalweg.engine.local.run import run_local
from thalweg.engine.storage.checkpoint import Checkpoint, EpochReport
from thalweg.errors import CheckpointError, GraphError, OutputError, StorageError, ThalwegWarning
from thalweg.ir.endpoints import SinkSite
from thalweg.ir.types import DATETIME, AttributeType, TupleType
from thalweg.optimize.passes import make_plan
from thalweg.runtime.frame import Frame
from thalweg.runtime.row_functions import columns_of
from thalweg.verify.reference import Reference

COUNT, PER_EPOCH = 60, 10


class Item(tw.Tuple):
    i: int
    s: str


def item(index: int) -> dict[str, Any]:
    return {"i": index, "s": f"é'\"{index}\n"}


WANTED = [(i, item(i)["s"]) for i in range(COUNT)]


def app_of(path: Path, count: int = COUNT, table: str = "items", **options: Any) -> tw.App:
    app = tw.App("items")
    app.source(tw.beacon(item, count=count), Item, name="items").sink(tw.sqlite(path, table, **options), name="out")
    return app


def run(
    app: tw.App, checkpoint: Path | None = None, watch: Callable[[EpochReport], None] = lambda report: None, **more: Any
) -> RunResult:
    options = RunOptions(checkpoint, max_tuples_per_epoch=PER_EPOCH, interval_s=0.02, **more)
    return run_local(make_plan(app.graph()), options, watch)


def query(path: Path, text: str, *values: Any) -> list[tuple[Any, ...]]:
    database = sqlite3.connect(path)
    try:
        return database.execute(text, values).fetchall()
    finally:
        database.commit()
        database.close()


def rows(path: Path, table: str = "items") -> list[tuple[Any, ...]]:
    return query(path, f'SELECT i, s FROM "{table}" ORDER BY rowid')


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.db"


# Exactly once, in order


def test_tuples_are_there_once_and_in_order(path: Path, tmp_path: Path) -> None:
    result = run(app_of(path, position=True), tmp_path / "state")
    assert result.tuples_out == {"out": COUNT}
    assert rows(path) == WANTED
    assert query(path, "SELECT _epoch, _row FROM items ORDER BY rowid") == [
        (i // PER_EPOCH, i % PER_EPOCH) for i in range(COUNT)
    ]
    run_name = Checkpoint(tmp_path / "state").run
    assert query(path, f"SELECT * FROM {EPOCHS}") == [("items", run_name, "out", 5, 1)]


def test_an_epoch_that_is_run_again_writes_nothing(path: Path, tmp_path: Path) -> None:
    app = app_of(path)
    with pytest.raises(Stop):
        run(app, tmp_path / "state", stop_after(2))
    done = rows(path)
    writer = writer_of(path, "items", Item.tuple_type, tmp_path / "state")
    frame = Frame(np.arange(3), (), columns_of(done[:3], Item.tuple_type))
    assert writer.write(2, frame, final=False) == 3
    assert rows(path) == done, "epoch 2 is there already, whatever comes under its number"
    assert writer.write(3, frame, final=False) == 3
    assert rows(path) == [*done, *done[:3]]


def writer_of(path: Path, table: str, tuple_type: TupleType, checkpoint: Path) -> SqliteWriter:
    """The writer that an engine would make, for tuples that need no operator."""
    sink = app_of(path, table=table).graph().sinks[0]
    return tw.sqlite(path, table).writer(SinkSite(sink, tuple_type, checkpoint))


@pytest.mark.parametrize(("degree", "fuse"), [(1, "all"), (1, "none"), (3, "all"), (3, "none")])
def test_every_plan_writes_what_the_reference_gives(path: Path, tmp_path: Path, degree: int, fuse: str) -> None:
    app = tw.App("plans")
    items = app.source(tw.beacon(item, count=COUNT), Item)
    parts = items.map(lambda t: {"k": t.i % 7, "x": t.i / 7, "s": t.s})
    sums = parts.aggregate(window.running(by="k"), k=agg.any("k"), x=agg.sum("x"), last=agg.last("s"))
    sums.sink(tw.sqlite(path, "sums"), name="out")
    options = RunOptions(tmp_path / "state", max_tuples_per_epoch=PER_EPOCH, in_process=True)
    run_local(make_plan(app.graph(), degree=degree, fuse=fuse), options, lambda report: None)
    expected = Reference(app.graph()).run(Checkpoint(tmp_path / "state").log)["out"]
    assert query(path, "SELECT k, x, last FROM sums ORDER BY rowid") == list(expected)


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
def test_killed_at_every_statement(tmp_path: Path, after: bool) -> None:
    """kill -9 before, or after, each statement that the sink sends, including its COMMITs; then the run resumes."""
    for number in count(1):
        path, checkpoint = tmp_path / f"{number}.db", tmp_path / f"{number}"
        app = app_of(path, 2 * PER_EPOCH)
        if finished(in_child(lambda: dying(app, checkpoint, number, after=after))):
            break
        if not (checkpoint / "ended").exists():
            run(app, checkpoint)
        assert rows(path) == WANTED[: 2 * PER_EPOCH], f"killed at statement {number}"
    assert number > 15, "two epochs and a claim: each begins, looks, writes and commits"


def dying(app: tw.App, checkpoint: Path, number: int, *, after: bool) -> None:
    connect, numbers = sqlite3.connect, count(1)

    class Dying(sqlite3.Connection):
        def execute(self, *arguments: Any) -> sqlite3.Cursor:
            return fatal(lambda: sqlite3.Connection.execute(self, *arguments))

        def executemany(self, *arguments: Any) -> sqlite3.Cursor:
            return fatal(lambda: sqlite3.Connection.executemany(self, *arguments))

    def fatal(work: Callable[[], sqlite3.Cursor]) -> sqlite3.Cursor:
        last = next(numbers) == number
        if last and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        done = work()
        if last:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    sqlite3.connect = lambda *a, **k: connect(*a, factory=Dying, **k)  # type: ignore[assignment]
    run(app, checkpoint)


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path: Path) -> None:
    """kill -9 of the local engine, again and again on one checkpoint."""
    chance, kills, chains = random.Random(11), 0, 0
    while kills < 2 * KILLS:
        path, checkpoint = tmp_path / f"{chains}.db", tmp_path / f"{chains}"
        app = app_of(path, position=True)
        for start in count():
            if (checkpoint / "ended").exists():
                break
            child = in_child(lambda: run(app, checkpoint))
            time.sleep(chance.uniform(0.0, 0.3 + start / 10))  # longer each time: a busy machine, too, must end
            os.kill(child, signal.SIGKILL)
            kills += not finished(child)
        assert rows(path) == WANTED, f"chain {chains}"
        assert query(path, "SELECT count(DISTINCT _epoch), max(_row) FROM items") == [(6, 9)]
        chains += 1


SPARK_APP = """
import thalweg as tw
from thalweg import agg, window

class Item(tw.Tuple):
    i: int
    s: str

app = tw.App("items")
items = app.source(tw.beacon(lambda i: {"i": i, "s": "abc"[i % 3]}, count=60), Item)
sums = items.aggregate(window.running(by="s"), s=agg.any("s"), n=agg.count(), total=agg.sum("i"))
sums.sink(tw.sqlite("out.db", "sums", position=True), name="out")
items.filter(lambda t: t.i % 7 == 0).sink(tw.sqlite("out.db", "sevens"), name="sevens")
"""


@pytest.mark.spark
@pytest.mark.processes
def test_killed_with_all_of_spark(tmp_path: Path) -> None:
    """The epoch is in the database, and Spark does not know: the restart leaves it out."""
    app, said = tmp_path / "items_app.py", tmp_path / "said"
    app.write_text(SPARK_APP)
    command = ["run", str(app), "--checkpoint", str(tmp_path / "state"), "--degree", "2"]
    command += ["--max-tuples-per-epoch", "20", "--master", "local[2]", "--interval", "0.05"]
    died = Run([sys.executable, dying_driver.__file__, "after_sinks", "1", *command], said, cwd=tmp_path).wait()
    assert died == -9, said.read_text()
    assert query(tmp_path / "out.db", "SELECT count(*) FROM sums") == [(40,)]
    assert Run([*THALWEG, *command], said, cwd=tmp_path).wait() == 0, said.read_text()
    wanted = [("abc"[i % 3], i // 3 + 1, sum(range(i % 3, i + 1, 3)), i // 20, i % 20) for i in range(60)]
    assert query(tmp_path / "out.db", "SELECT * FROM sums ORDER BY rowid") == wanted
    assert query(tmp_path / "out.db", "SELECT i FROM sevens ORDER BY rowid") == [(i,) for i in range(0, 60, 7)]


# Types


def stored(value: Any, kind: AttributeType) -> Any:
    """What the guide promises to be in the column."""
    if kind.composite:
        return None if value is None else json.dumps(plain(value, kind), ensure_ascii=False)
    match value:
        case float():
            return "NaN" if math.isnan(value) else value
        case datetime():
            moment = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            return f"{moment:%m-%d %H:%M:%S.%f}".join((f"{moment.year:04d}-", "+00:00" if value.tzinfo else ""))
        case date() | Decimal():
            return str(value)
    return value


def plain(value: Any, kind: AttributeType) -> Any:
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value
    if kind.required == POINT:
        return {"x": plain(value[0], kind), "tags": list(value[1])}
    assert kind.required.item is not None
    return [plain(part, kind.required.item) for part in value]


def write_all(path: Path, kind: AttributeType, values: list[Any]) -> None:
    """The values straight through the writer: as columns carry them."""
    tuple_type = TupleType("Any", (("v", kind),))
    checkpoint = path.with_suffix(".state")
    run(app_of(path, 1, table="other"), checkpoint)  # for its manifest
    writer = writer_of(path, "t", tuple_type, checkpoint)
    writer.claim(Checkpoint(checkpoint).run, overwrite=False)
    frame = Frame(np.arange(len(values)), (), columns_of([(v,) for v in values], tuple_type))
    assert writer.write(0, frame, final=False) == len(values)


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_every_type_is_stored_as_documented(path: Path, kind: AttributeType) -> None:
    values = [v for v in VALUES[kind] if kind != DATETIME or fits(v)]
    write_all(path, kind, values)
    found = [v for (v,) in query(path, "SELECT v FROM t ORDER BY rowid")]
    assert [(type(v), v) for v in found] == [
        (int if isinstance(v, bool) else type(v), v) for v in (stored(value, kind) for value in values)
    ]
    declared = query(path, "SELECT type, \"notnull\" FROM pragma_table_info('t')")
    assert declared == [("TEXT" if kind.composite else COLUMNS[kind.required].type, int(not kind.optional))]


def fits(value: datetime) -> bool:
    try:
        value.astimezone(UTC) if value.tzinfo else None
    except OverflowError:
        return False
    return True


def test_an_instant_before_the_first_year_stops_the_run(path: Path) -> None:
    early = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))
    with pytest.raises(OutputError, match="attribute v does not fit into SQLite") as failure:
        write_all(path, DATETIME, [datetime.min, early])
    assert failure.value.expected == "an instant in the years 1 to 9999 of UTC"
    assert str(failure.value.found).endswith(" in row 1 of the epoch")
    assert query(path, "SELECT * FROM t") == []


def test_times_are_ordered_as_texts(path: Path) -> None:
    zones = [timezone(timedelta(hours=h)) for h in (-11, 0, 9)]
    times = sorted(datetime(2024, 1, d, 5, tzinfo=z) + timedelta(microseconds=d) for d in (1, 2) for z in zones)
    write_all(path, DATETIME, times)
    assert query(path, "SELECT v FROM t ORDER BY rowid") == query(path, "SELECT v FROM t ORDER BY v")


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        *(("BIGINT", "INTEGER"), ("varchar(20)", "TEXT"), ("", ""), ("BLOB", ""), ("double precision", "REAL")),
        *(("DECIMAL(10,5)", "NUMERIC"), ("BOOLEAN", "NUMERIC"), ("DATETIME", "NUMERIC"), ("CHARINT", "INTEGER")),
    ],
)
def test_affinities_are_those_of_sqlite(declared: str, expected: str) -> None:
    """SQLite shows a column's affinity by what becomes of the text '1.0' and of the number 1 in it."""
    assert affinity(declared) == expected
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE TABLE t (v {declared})")
    database.execute("INSERT INTO t VALUES ('1.0'), (1)")
    kinds = {"INTEGER": "integer integer", "NUMERIC": "integer integer", "TEXT": "text text", "REAL": "real real"}
    found = " ".join(kind for (kind,) in database.execute("SELECT typeof(v) FROM t"))
    database.close()
    assert found == kinds.get(expected, "text integer")


# Tables


def test_a_table_of_a_different_run(path: Path, tmp_path: Path) -> None:
    run(app_of(path, 30), tmp_path / "first")
    with pytest.raises(CheckpointError, match="another run of Thalweg wrote to the table items") as failure:
        run(app_of(path, 20))
    assert failure.value.found == "3 epochs by its sink out"
    assert failure.value.where is not None
    assert "--overwrite" in str(failure.value.hint)
    with pytest.raises(CheckpointError, match="another run"):
        run(app_of(path, 20, table="ITEMS"))
    run(app_of(path, 20), overwrite=True)
    assert rows(path) == WANTED[:20]


def test_an_empty_table_is_free(path: Path) -> None:
    run(app_of(path, 30))
    query(path, "DELETE FROM items")
    run(app_of(path, 20))
    assert rows(path) == WANTED[:20]


def test_rows_of_others_are_never_deleted(path: Path) -> None:
    query(path, "CREATE TABLE items (id INTEGER PRIMARY KEY, i BIGINT, s VARCHAR NOT NULL, note TEXT)")
    query(path, "INSERT INTO items (i, s) VALUES (-1, 'mine')")
    run(app_of(path, 20))
    with pytest.raises(CheckpointError, match="another run") as failure:
        run(app_of(path, 20), overwrite=True)
    assert "Thalweg did not create it" in str(failure.value.hint)
    assert rows(path) == [(-1, "mine"), *WANTED[:20]]


MISFITS = {
    "i REAL, s TEXT": "i is REAL, expected INTEGER",
    "i INTEGER": "s is missing",
    "i INTEGER, s BLOBTEXT AS ('x')": "s is computed",
    "i INTEGER, s NUMERIC": "s is NUMERIC, expected TEXT",
    "i INTEGER, s TEXT, more INT NOT NULL": "more requires a value, but no attribute has this name",
}


@pytest.mark.parametrize("columns", MISFITS)
def test_a_table_that_does_not_fit(path: Path, columns: str) -> None:
    query(path, f"CREATE TABLE items ({columns})")
    with pytest.raises(OutputError, match=f"the table items of .* does not fit: {MISFITS[columns]}") as failure:
        run(app_of(path))
    assert failure.value.where is not None
    assert failure.value.expected == "i INTEGER NOT NULL, s TEXT NOT NULL"
    assert str(failure.value.found).startswith("i ")
    assert query(path, "SELECT name FROM sqlite_master WHERE name = ?", EPOCHS) == [], "the claim was undone"


def test_a_column_that_may_not_be_null(path: Path) -> None:
    class Maybe(tw.Tuple):
        i: int | None

    query(path, "CREATE TABLE t (i INTEGER NOT NULL)")
    app = tw.App("maybe")
    app.source(tw.iterable([{"i": None}]), Maybe).sink(tw.sqlite(path, "t"))
    with pytest.raises(OutputError, match="i is a NOT NULL column, but may be None"):
        run(app)


def test_what_the_database_refuses_stops_the_run(path: Path) -> None:
    query(path, "CREATE TABLE items (i INTEGER UNIQUE, s TEXT CHECK (i < 15))")
    with pytest.raises(OutputError, match="rejected epoch 1") as failure:
        run(app_of(path))
    assert failure.value.operator == "out"
    assert "CHECK constraint failed" in str(failure.value.found)
    assert rows(path) == WANTED[:10], "the whole epochs before"


def test_a_table_that_vanishes(path: Path, tmp_path: Path) -> None:
    app = app_of(path)
    with pytest.raises(Stop):
        run(app, tmp_path / "state", stop_after(0))
    query(path, "DROP TABLE items")
    with pytest.raises(OutputError, match="the table of this run no longer exists: items") as failure:
        run(app, tmp_path / "state")
    assert failure.value.expected == "the epochs up to 0"


def test_a_table_that_another_run_took(path: Path, tmp_path: Path) -> None:
    def take(report: EpochReport) -> None:
        if report.epoch == 1:
            run(app_of(path, 20), overwrite=True)

    with pytest.raises(OutputError, match="the table no longer belongs to this run"):
        run(app_of(path), tmp_path / "state", take)
    assert rows(path) == WANTED[:20]


def test_strange_names(path: Path) -> None:
    table = 'a "b".c; --'
    run(app_of(path, 3, table=table))
    assert query(path, 'SELECT i FROM "a ""b"".c; --"') == [(0,), (1,), (2,)]


# Mistakes that are found when the graph is built


ONE: Any = 1


class Cased(tw.Tuple):
    a: int
    A: int


def two_sinks(first: Any, second: Any) -> None:
    app = tw.App("two")
    items = app.source(tw.beacon(item, count=1), Item)
    items.sink(first, name="one")
    items.sink(second, name="two")
    app.graph()


def cased() -> None:
    tw.App("cased").source(tw.iterable([]), Cased).sink(tw.sqlite("x.db", "t"))


@pytest.mark.parametrize(
    ("mistake", "message", "expected"),
    [
        (lambda: tw.sqlite(":memory:", "t"), "sqlite: bad path", "the path of a file"),
        (lambda: tw.sqlite("", "t"), "sqlite: bad path", "the path of a file"),
        (lambda: tw.sqlite("x.db", ""), "sqlite: bad table", "a name"),
        (lambda: tw.sqlite("x.db", "Sqlite_Master"), "reserved table name", "sqlite_…"),
        (lambda: tw.sqlite("x.db", EPOCHS), "reserved table name", EPOCHS),
        (lambda: tw.sqlite("x.db", "t", retry_s=0), "sqlite: bad retry_s", "more than 0"),
        (lambda: tw.sqlite("x.db", "t", position=ONE), "sqlite: bad position", "True or False"),
        (cased, "treats the attributes a and A as the same column", "upper and lower case"),
        (
            lambda: two_sinks(tw.sqlite("x.db", "t"), tw.sqlite("./x.db", "T")),
            "two sinks write into the table",
            "a table",
        ),
    ],
)
def test_mistakes(mistake: Callable[[], None], message: str, expected: str) -> None:
    with pytest.raises(GraphError, match=message) as failure:
        mistake()
    assert expected in str(failure.value.expected)
    assert failure.value.where is not None
    assert failure.value.where.file == __file__


def test_two_tables_of_a_database(path: Path) -> None:
    app = tw.App("two")
    items = app.source(tw.beacon(item, count=30), Item)
    items.sink(tw.sqlite(path, "all"), name="one")
    items.filter(lambda t: t.i % 2 == 0).sink(tw.sqlite(path, "even"), name="two")
    run(app)
    assert (rows(path, "all"), rows(path, "even")) == (WANTED[:30], WANTED[:30:2])


# The file


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"the folder of the SQLite database .* does not exist") as failure:
        run(app_of(tmp_path / "nowhere" / "out.db"))
    assert failure.value.found == str(tmp_path / "nowhere")
    assert failure.value.where is not None
    assert "relative" in str(failure.value.hint)


def test_a_folder_where_the_file_should_be(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="is a folder") as failure:
        run(app_of(tmp_path))
    assert (failure.value.expected, failure.value.found) == ("a file", str(tmp_path))


def test_a_file_that_is_not_a_database(path: Path) -> None:
    path.write_text("hello " * 1000)
    with pytest.raises(OutputError, match="rejected the claim on a table") as failure:
        run(app_of(path))
    assert failure.value.found == "file is not a database"


def test_a_file_that_may_not_be_written(path: Path) -> None:
    """Root may write everything, so SQLite is asked to open it for reading."""
    connect = sqlite3.connect
    run(app_of(path, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda file, *a, **k: connect(f"file:{file}?mode=ro", *a, uri=True, **k))
        with pytest.raises(OutputError, match="cannot be written") as failure:
            run(app_of(path, 20, table="more"))
    assert failure.value.found == "attempt to write a readonly database"
    assert "no data is lost" in str(failure.value.hint)


@pytest.mark.slow
def test_a_full_disk(tmp_path: Path) -> None:
    """With room for nothing, one page, two, … until a run needs no more."""
    with small_disk(tmp_path / "disk", 400_000) as disk:
        for pages in count():
            app, checkpoint = app_of(disk / "out.db"), tmp_path / f"{pages}"
            ballast = fill(disk, 4096 * pages)
            try:
                run(app, checkpoint)
            except StorageError as full:
                stopped = full
            else:
                break
            finally:
                ballast.unlink()
            assert stopped.message == f"cannot write to {disk}"
            assert stopped.found == "No space left on device"
            run(app, checkpoint)
            assert rows(disk / "out.db") == WANTED, f"{pages} pages"
            (disk / "out.db").unlink()
    assert pages > 2


# Others at the same database


def test_a_reader_sees_whole_epochs(path: Path) -> None:
    """Another process reads all the time while epochs are written."""
    script = (
        "import sqlite3, sys, time\n"
        "seen = set()\n"
        "while True:\n"
        "    database = sqlite3.connect(sys.argv[1], timeout=30)\n"
        "    there = database.execute(\"SELECT 1 FROM sqlite_master WHERE name = 'items'\").fetchone()\n"
        "    found = database.execute('SELECT count(*) FROM items').fetchone()[0] if there else 0\n"
        "    database.close()\n"
        "    seen.add(found)\n"
        "    time.sleep(0.002)\n"
        f"    if found == {COUNT}:\n"
        "        break\n"
        "print(*sorted(seen))\n"
    )
    reader = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True)
    run(app_of(path))
    said, _ = reader.communicate(timeout=60)
    assert rows(path) == WANTED
    assert all(int(number) % PER_EPOCH == 0 for number in said.split())


def test_a_lock_that_is_released(path: Path, tmp_path: Path) -> None:
    """Another program holds the database for a while: the run waits, warns once, and continues."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    released = threading.Timer(1.5, lambda: other.execute("ROLLBACK"))

    def lock(report: EpochReport) -> None:
        if report.epoch == 1:
            other.execute("BEGIN IMMEDIATE")
            released.start()

    with pytest.warns(ThalwegWarning, match="out waits for the SQLite database .*: database is locked") as said:
        run(app_of(path), tmp_path / "state", lock)
    released.join()
    other.close()
    assert len(said) == 1
    assert rows(path) == WANTED


def test_a_lock_that_stays(path: Path, tmp_path: Path) -> None:
    app = app_of(path, retry_s=0.2)
    other = sqlite3.connect(path, isolation_level=None)

    def lock(report: EpochReport) -> None:
        if report.epoch == 1:
            other.execute("BEGIN EXCLUSIVE")

    with pytest.raises(OutputError, match="epoch 2 cannot be delivered to the SQLite database") as failure:
        run(app, tmp_path / "state", lock)
    assert failure.value.found == "database is locked"
    assert failure.value.expected == "other programs to end their transactions within 0.2 s"
    with pytest.raises(OutputError, match="is locked") as failure:
        run(app, tmp_path / "state")
    other.close()
    run(app, tmp_path / "state")
    assert rows(path) == WANTED


def test_a_reader_that_takes_long(path: Path, tmp_path: Path) -> None:
    """Its lock is met at the COMMIT, which is then made again with all that is before it."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    released = threading.Timer(1.5, lambda: other.execute("COMMIT"))

    def read(report: EpochReport) -> None:
        if report.epoch == 1:
            other.execute("BEGIN")
            assert other.execute("SELECT count(*) FROM items").fetchone() == (20,)
            released.start()

    with pytest.warns(ThalwegWarning, match="database is locked"):
        run(app_of(path), tmp_path / "state", read)
    released.join()
    other.close()
    assert rows(path) == WANTED


def test_readers_and_the_run_do_not_wait_with_a_write_ahead_log(path: Path, tmp_path: Path) -> None:
    query(path, "PRAGMA journal_mode = WAL")
    other = sqlite3.connect(path, isolation_level=None)

    def read(report: EpochReport) -> None:
        if report.epoch == 1:
            other.execute("BEGIN")
            assert other.execute("SELECT count(*) FROM items").fetchone() == (20,)

    run(app_of(path), tmp_path / "state", read)
    assert other.execute("SELECT count(*) FROM items").fetchone() == (20,), "it still reads what was there then"
    other.close()
    assert rows(path) == WANTED

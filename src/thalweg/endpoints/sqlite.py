"""`tw.sqlite`: a table of an SQLite database as a sink, exactly once.

SQLite itself rolls back a transaction whose process was killed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from errno import ENOSPC
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from thalweg.endpoints.checks import require
from thalweg.endpoints.table_writer import EPOCHS, Owner, TableWriter
from thalweg.engine.storage.small_files import cannot_write
from thalweg.errors import GraphError, ThalwegError, Where
from thalweg.ir.arguments import Rule, Seconds, checked
from thalweg.ir.attribute_text import finite_json
from thalweg.ir.endpoints import POSITION_COLUMNS, SinkEndpoint, SinkSite, Target
from thalweg.ir.types import BOOL, BYTES, DATE, DATETIME, DECIMAL, FLOAT, INT, STR, AttributeType, TupleType

if TYPE_CHECKING:
    from sqlite3 import Connection

    from thalweg.runtime.frame import Frame

TableName = Annotated[str, Rule("a name", lambda table: table != "" and "\0" not in table)]
_LOCK_S = 1.0  # how long SQLite itself waits for other connections, before a retry with a warning


@checked
def sqlite(path: str | Path, table: TableName, *, position: bool = False, retry_s: Seconds = 60.0) -> Sqlite:
    """A sink that appends to a table of an SQLite database, each tuple exactly once.

    A missing file or table is created. With `position` the table has the columns `_epoch` and `_row`, which give each
    tuple's place in the stream. If the database is locked, the sink retries for `retry_s` seconds.
    """
    good = str(path) not in ("", ":memory:") and "\0" not in str(path)
    require(good, "sqlite: bad path", "the path of a file, which may not exist yet", path)
    own = table.lower() != EPOCHS and not table.lower().startswith("sqlite_")
    require(own, "sqlite: reserved table name", f"a name other than {EPOCHS} and sqlite_…", table)
    return Sqlite(str(path), table, position, retry_s)


@dataclass(frozen=True, slots=True)
class Sqlite(SinkEndpoint):
    """A sink that appends to a table of an SQLite database."""

    path: str
    table: str
    position: bool = False
    retry_s: float = 60.0

    call = "tw.sqlite(…)"
    needs_spark = False
    placed = False  # an epoch that is in the table is not written again
    shows_order = True
    folder = None
    sink_row = (
        "`tw.sqlite(path, table)`",
        "rows of an SQLite table",
        "kept in `rowid`; in `_epoch`, `_row` with `position=True`",
        "exactly once",
    )

    @property
    def file(self) -> Path:
        return Path(self.path).absolute()

    @property
    def title(self) -> str:
        return f"the SQLite database {self.path}"

    @property
    def target(self) -> Target:
        place = ("sqlite", self.file, self.table.lower())
        return Target(place, "table", f"the table {self.table}", "write a .union() of the streams to one sink")

    def check_sink(self, tuple_type: TupleType, where: Where) -> None:
        """Column names in SQLite are case-insensitive."""
        seen: dict[str, str] = {}
        for name in tuple_type.names:
            other = seen.setdefault(name.lower(), name)
            if other != name:
                raise GraphError(
                    f"SQLite treats the attributes {other} and {name} as the same column",
                    where=where,
                    expected="names that differ in more than upper and lower case",
                    hint="rename one of them with a .map() before the sink",
                )

    def writer(self, site: SinkSite) -> SqliteWriter:
        return SqliteWriter(site, self)


# Values and columns


def _instant(value: datetime) -> str:
    """Always of the same length, so that texts sort by time."""
    try:
        moment = value if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise OverflowError("an instant in the years 1 to 9999 of UTC") from None
    return moment.isoformat(" ", "microseconds")


class ColumnForm(NamedTuple):
    """How an attribute type is stored: the type of a new column, the affinities that an existing one may have, and the
    conversion to a value that SQLite accepts."""

    type: str
    affinities: tuple[str, ...]
    convert: Callable[[Any], Any] | None = None


# A column without a type ("") stores each value unchanged. The other affinities listed change no value either.
COLUMNS: Mapping[AttributeType, ColumnForm] = {
    INT: ColumnForm("INTEGER", ("INTEGER", "NUMERIC", "")),
    FLOAT: ColumnForm(
        "REAL", ("REAL", ""), lambda value: "NaN" if value != value else value
    ),  # SQLite turns NaN into NULL
    STR: ColumnForm("TEXT", ("TEXT", "")),
    BOOL: ColumnForm("BOOLEAN", ("NUMERIC", "INTEGER", "")),
    BYTES: ColumnForm("BLOB", ("",)),
    DATETIME: ColumnForm("TEXT", ("TEXT", "NUMERIC", ""), _instant),
    DATE: ColumnForm("TEXT", ("TEXT", "NUMERIC", ""), date.isoformat),
    DECIMAL: ColumnForm("TEXT", ("TEXT", ""), str),  # a number would lose digits
}


def column_of(kind: AttributeType) -> ColumnForm:
    """Lists and nested tuples are JSON."""
    if kind.composite:
        return ColumnForm("TEXT", ("TEXT", ""), lambda value: finite_json(value, kind))
    return COLUMNS[kind.required]


def affinity(declared: str) -> str:
    """The affinity of a column's declared type (https://sqlite.org/datatype3.html, section 3.1)."""
    declared = declared.upper()
    for words, found in ((("INT",), "INTEGER"), (("CHAR", "CLOB", "TEXT"), "TEXT")):
        if any(word in declared for word in words):
            return found
    if declared == "" or "BLOB" in declared:
        return ""
    return "REAL" if any(word in declared for word in ("REAL", "FLOA", "DOUB")) else "NUMERIC"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# Writing

Found = tuple[int, str, str, int, Any, int, int]  # a row of `PRAGMA table_xinfo`


class SqliteWriter(TableWriter["Connection", Sequence[Found]]):
    """One connection per epoch."""

    absent = "is locked"
    patience = "other programs to end their transactions"

    def __init__(self, site: SinkSite, endpoint: Sqlite) -> None:
        super().__init__(site, endpoint.title, endpoint.table, endpoint.retry_s)
        self.endpoint, self.file, self.quoted = endpoint, endpoint.file, quoted(endpoint.table)
        self.wanted = [(name, column_of(kind), not kind.optional) for name, kind in site.tuple_type.attributes]
        if endpoint.position:
            self.wanted += [(name, COLUMNS[INT], True) for name in POSITION_COLUMNS]

    @contextmanager
    def transaction(self, what: str) -> Iterator[Connection]:
        import sqlite3

        self._check_file()
        try:
            with closing(sqlite3.connect(self.file, min(_LOCK_S, self.retry_s), isolation_level=None)) as database:
                database.execute("PRAGMA synchronous = FULL")
                database.execute("BEGIN IMMEDIATE")
                yield database
                database.execute("COMMIT")
        except (sqlite3.Error, UnicodeEncodeError) as error:
            if self.is_temporary(error):
                raise
            raise self._refused(what, error) from None

    def _check_file(self) -> None:
        """SQLite reports the same error for all of these."""
        if not self.file.parent.is_dir():
            raise self.error(
                f"the folder of {self.title} does not exist",
                expected="a folder; the file in it is created",
                found=str(self.file.parent),
                hint="paths are relative to the folder in which the run is started",
            )
        if self.file.is_dir():
            raise self.error(f"{self.title} is a folder", expected="a file", found=str(self.file))

    def is_temporary(self, error: Exception) -> bool:
        """Another connection holds a lock."""
        import sqlite3

        return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

    def _refused(self, what: str, error: Exception) -> ThalwegError:
        import sqlite3

        code = _code(error)
        if code == sqlite3.SQLITE_FULL:
            return cannot_write(self.file.parent, os.strerror(ENOSPC))
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR):
            hint = "make the file and its folder writable, then run the same command to resume: no data is lost"
            return self.error(f"{self.title} cannot be written", found=str(error), hint=hint)
        return self.error(f"{self.title} rejected {what}", found=str(error))

    def owner(self, database: Connection) -> Owner | None:
        query = f"SELECT run, sink, epoch, created FROM {EPOCHS} WHERE target = ?"
        found = database.execute(query, (self.table,)).fetchone()
        return None if found is None else Owner(*found)

    def open_claim(self, database: Connection) -> None:
        database.execute(
            f"CREATE TABLE IF NOT EXISTS {EPOCHS} (target TEXT PRIMARY KEY COLLATE NOCASE, run TEXT NOT NULL,"
            " sink TEXT NOT NULL, epoch INTEGER NOT NULL, created BOOLEAN NOT NULL)"
        )

    def columns(self, database: Connection) -> Sequence[Found] | None:
        return database.execute(f"PRAGMA table_xinfo({self.quoted})").fetchall() or None

    def create(self, database: Connection) -> None:
        database.execute(f"CREATE TABLE {self.quoted} ({self._shape(quoted)})")

    def is_empty(self, database: Connection) -> bool:
        return database.execute(f"SELECT 1 FROM {self.quoted} LIMIT 1").fetchone() is None

    def delete_rows(self, database: Connection) -> None:
        database.execute(f"DELETE FROM {self.quoted}")

    def take(self, database: Connection, run: str, *, created: bool) -> None:
        row = (self.table, run, self.name, -1, created)
        database.execute(f"INSERT OR REPLACE INTO {EPOCHS} VALUES (?, ?, ?, ?, ?)", row)

    def _shape(self, name: Callable[[str], str] = str) -> str:
        """The columns of a new table."""
        return ", ".join(f"{name(n)} {c.type}{' NOT NULL' if always else ''}" for n, c, always in self.wanted)

    def check_columns(self, there: Sequence[Found]) -> None:
        for problem in self._problems(there):
            raise self.error(
                f"the table {self.table} of {self.title} does not fit: {problem}",
                expected=self._shape(),
                found=", ".join(f"{name} {type_}{' NOT NULL' if never else ''}" for _, name, type_, never, *_ in there),
                hint="use a .map() to the columns of the table, or a different table",
            )

    def _problems(self, there: Sequence[Found]) -> Iterator[str]:
        found = {name.lower(): (type_, never, computed) for _, name, type_, never, _, _, computed in there}
        for name, column, always in self.wanted:
            type_, never, computed = found.pop(name.lower(), (None, 0, 0))
            if type_ is None:
                yield f"{name} is missing"
            elif computed:
                yield f"{name} is computed"
            elif affinity(type_) not in column.affinities:
                yield f"{name} is {type_}, expected {column.type}"
            elif never and not always:
                yield f"{name} is a NOT NULL column, but may be None"
        for _, name, _, never, default, _, computed in there:
            if name.lower() in found and never and default is None and not computed:
                yield f"{name} requires a value, but no attribute has this name"

    def rows(self, epoch: int, frame: Frame) -> Sequence[tuple[Any, ...]]:
        from thalweg.runtime.columns import to_list

        columns = [self._values(name, to_list(frame.columns[name])) for name in self.site.tuple_type.names]
        if self.endpoint.position:
            columns += [[epoch] * len(frame), range(len(frame))]
        return list(zip(*columns, strict=True))

    def _values(self, name: str, values: Sequence[Any]) -> Sequence[Any]:
        convert = column_of(self.site.tuple_type.kind(name)).convert
        if convert is None:
            return values
        done: list[Any] = []
        for row, value in enumerate(values):
            try:
                done.append(None if value is None else convert(value))
            except OverflowError as error:
                raise self.error(
                    f"attribute {name} does not fit into SQLite",
                    expected=str(error),
                    found=f"{value!r} in row {row} of the epoch",
                ) from None
        return done

    def append(self, database: Connection, rows: Sequence[tuple[Any, ...]], epoch: int) -> None:
        names = ", ".join(quoted(name) for name, _, _ in self.wanted)
        places = ", ".join("?" * len(self.wanted))
        database.executemany(f"INSERT INTO {self.quoted} ({names}) VALUES ({places})", rows)
        database.execute(f"UPDATE {EPOCHS} SET epoch = ? WHERE target = ?", (epoch, self.table))


def _code(error: Exception) -> int:
    """SQLite's primary result code; -1 if the error is not from SQLite."""
    return int(getattr(error, "sqlite_errorcode", -1)) & 0xFF

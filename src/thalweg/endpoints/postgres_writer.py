"""The writer of `tw.postgres`. If a connection breaks during the commit, it is unknown whether the transaction was
committed; the next attempt looks for the epoch's number in the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from thalweg.endpoints.postgres import Postgres
from thalweg.endpoints.postgres_tables import DatabaseColumn, check_columns, columns_of_table, create_table, made_of
from thalweg.endpoints.postgres_values import to_postgres
from thalweg.endpoints.retry import reason
from thalweg.endpoints.table_writer import EPOCHS, Owner, TableWriter
from thalweg.ir.endpoints import SinkSite
from thalweg.runtime.columns import to_list
from thalweg.runtime.frame import Frame

_MAKE_EPOCHS = sql.SQL("""
CREATE TABLE IF NOT EXISTS {epochs} (
    target text PRIMARY KEY, run text NOT NULL, sink text NOT NULL, epoch bigint NOT NULL, created boolean NOT NULL
)""")
_TARGET = """
SELECT coalesce(
    (SELECT format('%%I.%%I', n.nspname, c.relname)
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)),
    format('%%I.%%I', coalesce(%s, current_schema()), %s::text)
)"""
_OWNER = sql.SQL("SELECT run, sink, epoch, created FROM {epochs} WHERE target = %s FOR UPDATE")
_TAKE = sql.SQL("""
INSERT INTO {epochs} (target, run, sink, epoch, created) VALUES (%s, %s, %s, -1, %s)
ON CONFLICT (target) DO UPDATE
SET run = excluded.run, sink = excluded.sink, epoch = excluded.epoch, created = excluded.created""")
_WRITTEN = sql.SQL("UPDATE {epochs} SET epoch = %s WHERE target = %s")
_LOCK = 0x7468616C  # taken to claim a table: two concurrent starts must not both create it
_HOPELESS = ("password authentication failed", "does not exist", "no pg_hba.conf entry", "no password supplied")

Cursor = psycopg.Cursor[tuple[Any, ...]]


class PostgresSink(TableWriter[Cursor, Mapping[str, DatabaseColumn]]):
    """One connection per epoch."""

    absent = "does not answer"
    patience = "a server that accepts it"

    def __init__(self, site: SinkSite, endpoint: Postgres) -> None:
        super().__init__(site, endpoint.shown, endpoint.table, endpoint.retry_s)
        self.endpoint = endpoint
        *schema, self.last = endpoint.table.split(".")
        self.schema = schema[0] if schema else None
        self.identifier, self.epochs = sql.Identifier(*schema, self.last), sql.Identifier(*schema, EPOCHS)

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Without a timeout in the connection string, a default one, for networks that drop packets."""
        text = self.endpoint.dsn.reveal()
        if "connect_timeout" not in conninfo_to_dict(text):
            text = make_conninfo(text, connect_timeout=10)
        return psycopg.connect(text, client_encoding="utf8", fallback_application_name="thalweg")

    @contextmanager
    def transaction(self, what: str) -> Iterator[Cursor]:
        try:
            with self._connect() as connection, connection.cursor() as cursor:
                yield cursor
        except psycopg.Error as error:
            if self.is_temporary(error):
                raise
            raise self.error(f"{self.title} rejected {what}", found=reason(error)) from None

    def is_temporary(self, error: Exception) -> bool:
        """The server is down or busy. A server that rejects the user will not change its mind."""
        return isinstance(error, psycopg.OperationalError) and not any(words in str(error) for words in _HOPELESS)

    def _target(self, cursor: Cursor) -> str:
        """The table's full name; users may give it with or without its schema."""
        found = cursor.execute(_TARGET, (self.identifier.as_string(cursor), self.schema, self.last)).fetchone()
        assert found is not None
        return str(found[0])

    def owner(self, cursor: Cursor) -> Owner | None:
        """Locked until the transaction ends: a process that outlived its driver waits for this one, or this one for
        it."""
        found = cursor.execute(_OWNER.format(epochs=self.epochs), (self._target(cursor),)).fetchone()
        return None if found is None else Owner(*found)

    def open_claim(self, cursor: Cursor) -> None:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        cursor.execute(_MAKE_EPOCHS.format(epochs=self.epochs))

    def columns(self, cursor: Cursor) -> Mapping[str, DatabaseColumn] | None:
        return columns_of_table(cursor, self.identifier)

    def create(self, cursor: Cursor) -> None:
        if not self.endpoint.create:
            expected = made_of(self.endpoint, self.site.tuple_type)
            raise self.error(f"the table does not exist: {self.table} of {self.title}", expected=expected)
        create_table(cursor, self.identifier, self.endpoint, self.site.tuple_type)

    def check_columns(self, there: Mapping[str, DatabaseColumn]) -> None:
        check_columns(self.site.sink, self.endpoint, self.site.tuple_type, there)

    def is_empty(self, cursor: Cursor) -> bool:
        return cursor.execute(sql.SQL("SELECT 1 FROM {} LIMIT 1").format(self.identifier)).fetchone() is None

    def delete_rows(self, cursor: Cursor) -> None:
        cursor.execute(sql.SQL("DELETE FROM {}").format(self.identifier))

    def take(self, cursor: Cursor, run: str, *, created: bool) -> None:
        cursor.execute(_TAKE.format(epochs=self.epochs), (self._target(cursor), run, self.name, created))

    def rows(self, epoch: int, frame: Frame) -> Sequence[tuple[Any, ...]]:
        columns = [
            to_postgres(self.site.sink, name, kind, to_list(frame.columns[name]))
            for name, kind in self.site.tuple_type.attributes
        ]
        if self.endpoint.position:
            columns += [[epoch] * len(frame), list(range(len(frame)))]
        return list(zip(*columns, strict=True))

    def append(self, cursor: Cursor, rows: Sequence[tuple[Any, ...]], epoch: int) -> None:
        names = sql.SQL(", ").join(map(sql.Identifier, self.endpoint.columns(self.site.tuple_type)))
        with cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN").format(self.identifier, names)) as copy:
            for row in rows:
                copy.write_row(row)
        cursor.execute(_WRITTEN.format(epochs=self.epochs), (epoch, self._target(cursor)))

"""The PostgreSQL sink: exactly once.

An epoch's tuples and the epoch's number go into the database in one transaction. A connection that breaks at the commit
leaves open whether the transaction was committed; whoever tries again finds the number there, or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from thalweg.endpoints.postgres import Postgres
from thalweg.endpoints.postgres_tables import check_columns, columns_of_table, create_table, made_of
from thalweg.endpoints.postgres_values import to_postgres
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.engine.storage.retry import deliver, keep_trying, reason
from thalweg.errors import CheckpointError, OutputError
from thalweg.ir.operators import Sink
from thalweg.ir.types import TupleType
from thalweg.runtime.columns import to_list
from thalweg.runtime.frame import Frame

EPOCHS = "thalweg_epochs"  # a row per table that Thalweg writes to: whose it is, and the last epoch that is in it
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
_LOCK = 0x7468616C  # of whoever claims a table: two starts at once must not both create one
_GO_ON = "nothing is lost: when it answers again, the same command goes on"
_HOPELESS = ("password authentication failed", "does not exist", "no pg_hba.conf entry", "no password supplied")

Cursor = psycopg.Cursor[tuple[Any, ...]]


class Owner(NamedTuple):
    """Who writes to a table, how far it is, and whether Thalweg made the table."""

    run: str
    sink: str
    epoch: int
    created: bool


class PostgresSink:
    """One transaction, and one connection, per epoch. Which run this is stands in the checkpoint's manifest."""

    def __init__(self, sink: Sink, endpoint: Postgres, tuple_type: TupleType, checkpoint: Path) -> None:
        self.sink, self.endpoint, self.tuple_type, self.checkpoint = sink, endpoint, tuple_type, checkpoint
        *schema, self.name = endpoint.table.split(".")
        self.schema = schema[0] if schema else None
        self.table = sql.Identifier(*schema, self.name)
        self.epochs = sql.Identifier(*schema, EPOCHS)

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Who gave no timeout of their own must not wait for a network that swallows packets."""
        text = self.endpoint.dsn.reveal()
        if "connect_timeout" not in conninfo_to_dict(text):
            text = make_conninfo(text, connect_timeout=10)
        return psycopg.connect(text, client_encoding="utf8", fallback_application_name="thalweg")

    def _target(self, cursor: Cursor) -> str:
        """The table's full name: it may be given with its schema or without."""
        found = cursor.execute(_TARGET, (self.table.as_string(cursor), self.schema, self.name)).fetchone()
        assert found is not None
        return str(found[0])

    def _owner(self, cursor: Cursor, target: str) -> Owner | None:
        """With a lock until the transaction ends: a process that outlived its driver waits for this one, or this one
        for it."""
        found = cursor.execute(_OWNER.format(epochs=self.epochs), (target,)).fetchone()
        return None if found is None else Owner(*found)

    # The claim

    def claim(self, run: str, *, overwrite: bool) -> None:
        """Make sure that the table is there, fits, and holds no other run's output."""
        keep_trying(
            lambda: self._claim(run, overwrite=overwrite),
            seconds=self.endpoint.retry_s,
            is_temporary=is_temporary,
            give_up=lambda error: self._refused(f"{self.endpoint.shown} does not answer", error, _GO_ON),
            waiting=f"{self.sink.name} waits for {self.endpoint.shown}",
        )

    def _claim(self, run: str, *, overwrite: bool) -> None:
        with self._transaction("the claim of a table") as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            cursor.execute(_MAKE_EPOCHS.format(epochs=self.epochs))
            target = self._target(cursor)
            owner, there = self._owner(cursor, target), columns_of_table(cursor, self.table)
            mine = owner is not None and (owner.run, owner.sink) == (run, self.sink.name)
            if there is None:
                if mine and owner is not None and owner.epoch >= 0:
                    raise self._error("the table of this run has vanished", f"a table with the epochs to {owner.epoch}")
                self._create(cursor)
            else:
                if owner is not None and not mine:
                    self._take_over(cursor, owner, overwrite=overwrite)
                check_columns(self.sink, self.endpoint, self.tuple_type, there)
            if not mine:
                created = there is None or (owner is not None and owner.created)
                cursor.execute(_TAKE.format(epochs=self.epochs), (target, run, self.sink.name, created))

    @contextmanager
    def _transaction(self, what: str) -> Iterator[Cursor]:
        """Committed at the end of the block. What the server refuses for good is an OutputError."""
        try:
            with self._connect() as connection, connection.cursor() as cursor:
                yield cursor
        except psycopg.Error as error:
            if is_temporary(error):
                raise
            raise self._refused(f"{self.endpoint.shown} refuses {what}", error, None) from None

    def _create(self, cursor: Cursor) -> None:
        if not self.endpoint.create:
            raise self._error("the table does not exist", made_of(self.endpoint, self.tuple_type))
        create_table(cursor, self.table, self.endpoint, self.tuple_type)

    def _take_over(self, cursor: Cursor, owner: Owner, *, overwrite: bool) -> None:
        """The table belongs to another run, or sink. An empty one is free to take. Rows are deleted only if Thalweg
        made the table: in any other it cannot tell its own from those of others."""
        if cursor.execute(sql.SQL("SELECT 1 FROM {} LIMIT 1").format(self.table)).fetchone() is None:
            return
        if overwrite and owner.created:
            cursor.execute(sql.SQL("DELETE FROM {}").format(self.table))
            return
        hint = "name another table, or --overwrite to delete what the earlier run wrote"
        if not owner.created:
            hint = "name another table, or empty it: Thalweg did not make it, so it cannot tell which rows are its own"
        raise CheckpointError(
            f"another run of Thalweg wrote to the table {self.endpoint.table} of {self.endpoint.shown}",
            operator=self.sink.name,
            where=self.sink.where,
            found=f"{owner.epoch + 1} epochs by its sink {owner.sink}",
            hint=hint,
        )

    # The epochs

    def write(self, epoch: int, frame: Frame | None, *, final: bool) -> int:
        if frame is None or len(frame) == 0:
            return 0
        rows, run = list(self._rows(epoch, frame)), Checkpoint(self.checkpoint).run
        deliver(
            lambda: self._write(epoch, run, rows),
            sink=self.sink,
            epoch=epoch,
            to=self.endpoint.shown,
            retry_s=self.endpoint.retry_s,
            expected=f"a server that takes it within {self.endpoint.retry_s:g} s",
            is_temporary=is_temporary,
        )
        return len(frame)

    def _rows(self, epoch: int, frame: Frame) -> Iterator[tuple[Any, ...]]:
        columns = [
            to_postgres(self.sink, name, kind, to_list(frame.columns[name]))
            for name, kind in self.tuple_type.attributes
        ]
        if self.endpoint.position:
            columns += [[epoch] * len(frame), list(range(len(frame)))]
        return zip(*columns, strict=True)

    def _write(self, epoch: int, run: str, rows: list[tuple[Any, ...]]) -> None:
        with self._transaction(f"epoch {epoch}") as cursor:
            target = self._target(cursor)
            owner = self._owner(cursor, target)
            if owner is None or (owner.run, owner.sink) != (run, self.sink.name):
                raise self._error("the table no longer belongs to this run", "that no other run takes it over")
            if epoch <= owner.epoch:
                return  # it is there: the process that wrote it was killed before it could say so
            names = sql.SQL(", ").join(map(sql.Identifier, self.endpoint.columns(self.tuple_type)))
            with cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN").format(self.table, names)) as copy:
                for row in rows:
                    copy.write_row(row)
            cursor.execute(_WRITTEN.format(epochs=self.epochs), (epoch, target))

    def show(self, epoch: int, out: TextIO) -> None:
        """The database has it."""

    def _error(self, message: str, expected: str) -> OutputError:
        return OutputError(
            f"{message}: {self.endpoint.table} of {self.endpoint.shown}",
            operator=self.sink.name,
            where=self.sink.where,
            expected=expected,
        )

    def _refused(self, message: str, error: Exception, hint: str | None) -> OutputError:
        return OutputError(message, operator=self.sink.name, where=self.sink.where, found=reason(error), hint=hint)


def is_temporary(error: Exception) -> bool:
    """Whether the server may take it later: it is down or busy. One that refuses the user will go on to."""
    return isinstance(error, psycopg.OperationalError) and not any(words in str(error) for words in _HOPELESS)

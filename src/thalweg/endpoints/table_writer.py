"""Sinks that append to a table of a database, exactly once.

An epoch's tuples and the epoch's number go into the database in one transaction. An epoch that is run again, or whose
commit nobody confirmed, finds its number there and writes nothing, or does not find it and writes all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TextIO, TypeVar

from thalweg.engine.storage.retry import deliver, keep_trying, reason
from thalweg.errors import CheckpointError, OutputError
from thalweg.ir.endpoints import SinkSite

if TYPE_CHECKING:
    from thalweg.runtime.frame import Frame

EPOCHS = "thalweg_epochs"  # a row per table that Thalweg writes to: whose it is, and the last epoch that is in it

Database = TypeVar("Database")  # what is asked while a transaction is open
Columns = TypeVar("Columns")  # the columns of a table as the database has them


class Owner(NamedTuple):
    """Who writes to a table, how far it is, and whether Thalweg made the table."""

    run: str
    sink: str
    epoch: int
    created: bool


class TableWriter(ABC, Generic[Database, Columns]):
    """One transaction per epoch. The name of the run is in the checkpoint's manifest."""

    absent: ClassVar[str]  # what is wrong with a database that may take it later
    patience: ClassVar[str]  # what is expected of it, within so many seconds

    def __init__(self, site: SinkSite, title: str, table: str, retry_s: float) -> None:
        self.site, self.title, self.table, self.retry_s = site, title, table, retry_s
        self.name = site.sink.name

    @abstractmethod
    def transaction(self, what: str) -> AbstractContextManager[Database]:
        """Committed at the end of the block. What waiting does not change is an OutputError."""

    @abstractmethod
    def is_temporary(self, error: Exception) -> bool:
        """Whether the database may take it later."""

    @abstractmethod
    def owner(self, database: Database) -> Owner | None:
        """Of the table. Nobody else may change it before the transaction ends."""

    @abstractmethod
    def open_claim(self, database: Database) -> None:
        """Make the table of epochs if it is missing. Of two claims at once, the second waits here."""

    @abstractmethod
    def columns(self, database: Database) -> Columns | None:
        """None: there is no such table."""

    @abstractmethod
    def create(self, database: Database) -> None: ...

    @abstractmethod
    def check_columns(self, there: Columns) -> None:
        """Refuse a table that cannot hold every tuple as it is."""

    @abstractmethod
    def is_empty(self, database: Database) -> bool: ...

    @abstractmethod
    def delete_rows(self, database: Database) -> None: ...

    @abstractmethod
    def take(self, database: Database, run: str, *, created: bool) -> None:
        """Write down that the table belongs to this run and sink, and that no epoch is in it."""

    @abstractmethod
    def rows(self, epoch: int, frame: Frame) -> Sequence[tuple[Any, ...]]:
        """The epoch's tuples as the database takes them."""

    @abstractmethod
    def append(self, database: Database, rows: Sequence[tuple[Any, ...]], epoch: int) -> None:
        """Insert the rows, and write the epoch's number down."""

    def claim(self, run: str, *, overwrite: bool) -> None:
        """Make sure that the table is there, fits, and holds no other run's output."""
        keep_trying(
            lambda: self._claim(run, overwrite=overwrite),
            seconds=self.retry_s,
            is_temporary=self.is_temporary,
            give_up=lambda error: self.error(
                f"{self.title} {self.absent}",
                found=reason(error),
                hint="nothing is lost: when it answers again, the same command goes on",
            ),
            waiting=f"{self.name} waits for {self.title}",
        )

    def _claim(self, run: str, *, overwrite: bool) -> None:
        with self.transaction("the claim of a table") as database:
            self.open_claim(database)
            owner, there = self.owner(database), self.columns(database)
            mine = owner is not None and (owner.run, owner.sink) == (run, self.name)
            if there is None:
                if mine and owner is not None and owner.epoch >= 0:
                    raise self._gone("the table of this run has vanished", f"a table with the epochs to {owner.epoch}")
                self.create(database)
            else:
                if owner is not None and not mine:
                    self._take_over(database, owner, overwrite=overwrite)
                self.check_columns(there)
            if not mine:
                self.take(database, run, created=there is None or (owner is not None and owner.created))

    def _take_over(self, database: Database, owner: Owner, *, overwrite: bool) -> None:
        """The table belongs to another run, or sink. An empty one is free to take. Rows are deleted only if Thalweg
        made the table: in any other it cannot tell its own from those of others."""
        if self.is_empty(database):
            return
        if overwrite and owner.created:
            self.delete_rows(database)
            return
        hint = "name another table, or --overwrite to delete what the earlier run wrote"
        if not owner.created:
            hint = "name another table, or empty it: Thalweg did not make it, so it cannot tell which rows are its own"
        raise CheckpointError(
            f"another run of Thalweg wrote to the table {self.table} of {self.title}",
            operator=self.name,
            where=self.site.sink.where,
            found=f"{owner.epoch + 1} epochs by its sink {owner.sink}",
            hint=hint,
        )

    def write(self, epoch: int, frame: Frame | None, *, final: bool) -> int:
        from thalweg.engine.storage.checkpoint import Checkpoint

        if frame is None or len(frame) == 0:
            return 0
        rows, run = self.rows(epoch, frame), Checkpoint(self.site.checkpoint).run
        deliver(
            lambda: self._write(epoch, run, rows),
            sink=self.site.sink,
            epoch=epoch,
            to=self.title,
            retry_s=self.retry_s,
            expected=f"{self.patience} within {self.retry_s:g} s",
            is_temporary=self.is_temporary,
        )
        return len(frame)

    def _write(self, epoch: int, run: str, rows: Sequence[tuple[Any, ...]]) -> None:
        with self.transaction(f"epoch {epoch}") as database:
            owner = self.owner(database)
            if owner is None or (owner.run, owner.sink) != (run, self.name):
                raise self._gone("the table no longer belongs to this run", "that no other run takes it over")
            if epoch > owner.epoch:  # else it is there: the process that wrote it was killed before it could report it
                self.append(database, rows, epoch)

    def show(self, epoch: int, out: TextIO) -> None:
        """The database has it."""

    def _gone(self, message: str, expected: str) -> OutputError:
        return self.error(f"{message}: {self.table} of {self.title}", expected=expected)

    def error(
        self, message: str, *, expected: str | None = None, found: str | None = None, hint: str | None = None
    ) -> OutputError:
        where = self.site.sink.where
        return OutputError(message, operator=self.name, where=where, expected=expected, found=found, hint=hint)

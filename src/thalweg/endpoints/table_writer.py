"""Sinks that append to a table of a database, exactly once.

An epoch's tuples and the epoch's number are written in one transaction. An epoch that runs again, or whose commit was
not confirmed, writes nothing if its number is in the database, and all of its tuples otherwise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TextIO, TypeVar

from thalweg.endpoints.retry import deliver, keep_trying, reason
from thalweg.errors import CheckpointError, OutputError
from thalweg.ir.endpoints import SinkSite

if TYPE_CHECKING:
    from thalweg.runtime.frame import Frame

EPOCHS = "thalweg_epochs"  # a row per table that Thalweg writes to: its owner, and the last epoch in it

Database = TypeVar("Database")  # executes queries while a transaction is open
Columns = TypeVar("Columns")  # the columns of an existing table


class Owner(NamedTuple):
    """The run and sink that write to a table, the last epoch written, and whether Thalweg created the table."""

    run: str
    sink: str
    epoch: int
    created: bool


class TableWriter(ABC, Generic[Database, Columns]):
    """One transaction per epoch. The name of the run is in the checkpoint's manifest."""

    absent: ClassVar[str]  # the state of a database that may accept the epoch later
    patience: ClassVar[str]  # what is expected within `retry_s` seconds

    def __init__(self, site: SinkSite, title: str, table: str, retry_s: float) -> None:
        self.site, self.title, self.table, self.retry_s = site, title, table, retry_s
        self.name = site.sink.name

    @abstractmethod
    def transaction(self, what: str) -> AbstractContextManager[Database]:
        """Committed at the end of the block. An error that is not temporary becomes an OutputError."""

    @abstractmethod
    def is_temporary(self, error: Exception) -> bool:
        """Whether the database may accept it later."""

    @abstractmethod
    def owner(self, database: Database) -> Owner | None:
        """The owner of the table. No other process may change it before the transaction ends."""

    @abstractmethod
    def open_claim(self, database: Database) -> None:
        """Create the table of epochs if it is missing. Of two concurrent claims, the second waits here."""

    @abstractmethod
    def columns(self, database: Database) -> Columns | None:
        """None: the table does not exist."""

    @abstractmethod
    def create(self, database: Database) -> None: ...

    @abstractmethod
    def check_columns(self, there: Columns) -> None:
        """Reject a table that cannot hold every tuple unchanged."""

    @abstractmethod
    def is_empty(self, database: Database) -> bool: ...

    @abstractmethod
    def delete_rows(self, database: Database) -> None: ...

    @abstractmethod
    def take(self, database: Database, run: str, *, created: bool) -> None:
        """Record that the table belongs to this run and sink, and that no epoch is in it."""

    @abstractmethod
    def rows(self, epoch: int, frame: Frame) -> Sequence[tuple[Any, ...]]:
        """The epoch's tuples as the database accepts them."""

    @abstractmethod
    def append(self, database: Database, rows: Sequence[tuple[Any, ...]], epoch: int) -> None:
        """Insert the rows and record the epoch's number."""

    def claim(self, run: str, *, overwrite: bool) -> None:
        """Make sure that the table exists, fits, and does not hold the output of another run."""
        keep_trying(
            lambda: self._claim(run, overwrite=overwrite),
            seconds=self.retry_s,
            is_temporary=self.is_temporary,
            give_up=lambda error: self.error(
                f"{self.title} {self.absent}",
                found=reason(error),
                hint="no data is lost: when it is available again, run the same command to resume",
            ),
            waiting=f"{self.name} waits for {self.title}",
        )

    def _claim(self, run: str, *, overwrite: bool) -> None:
        with self.transaction("the claim on a table") as database:
            self.open_claim(database)
            owner, there = self.owner(database), self.columns(database)
            mine = owner is not None and (owner.run, owner.sink) == (run, self.name)
            if there is None:
                if mine and owner is not None and owner.epoch >= 0:
                    raise self._gone("the table of this run no longer exists", f"the epochs up to {owner.epoch}")
                self.create(database)
            else:
                if owner is not None and not mine:
                    self._take_over(database, owner, overwrite=overwrite)
                self.check_columns(there)
            if not mine:
                self.take(database, run, created=there is None or (owner is not None and owner.created))

    def _take_over(self, database: Database, owner: Owner, *, overwrite: bool) -> None:
        """Take over a table of another run or sink, if it is empty. Rows are deleted only if Thalweg created the table:
        in any other table it cannot distinguish its own rows from others."""
        if self.is_empty(database):
            return
        if overwrite and owner.created:
            self.delete_rows(database)
            return
        hint = "use a different table, or --overwrite to delete the output of the earlier run"
        if not owner.created:
            hint = (
                "use a different table, or empty it: Thalweg did not create it and cannot tell which rows are its own"
            )
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
                raise self._gone("the table no longer belongs to this run", "a table that no other run takes over")
            if epoch > owner.epoch:  # else it is written: the process that wrote it was killed before it reported so
                self.append(database, rows, epoch)

    def show(self, epoch: int, out: TextIO) -> None:
        """The output is in the database."""

    def _gone(self, message: str, expected: str) -> OutputError:
        return self.error(f"{message}: {self.table} of {self.title}", expected=expected)

    def error(
        self, message: str, *, expected: str | None = None, found: str | None = None, hint: str | None = None
    ) -> OutputError:
        where = self.site.sink.where
        return OutputError(message, operator=self.name, where=where, expected=expected, found=found, hint=hint)

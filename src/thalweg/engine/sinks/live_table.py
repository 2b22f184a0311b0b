"""The live table of a console sink: the last tuples, or the last tuple of each key, kept up to date on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Protocol, TextIO

from rich.console import Console as Terminal
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from thalweg.ir.types import DECIMAL, FLOAT, INT, AttributeType, TupleType

Row = Sequence[str]

KEPT_KEYS = 10_000  # more would not be read, and the number of keys is unbounded


class LiveRows:
    """The rows of a table, over the epochs of one start."""

    def __init__(self, name: str, tuple_type: TupleType, key: tuple[str, ...], limit: int | None) -> None:
        self.name, self.names, self.limit = name, tuple_type.names, limit
        self.key = [(tuple_type.names.index(name), tuple_type.kind(name)) for name in key]
        self.tuples = 0
        self.rows: list[Row] = []
        self.by_key: dict[tuple[str, ...], Row] = {}
        self.kept = max(limit or 0, KEPT_KEYS)
        self.over = ""  # a prefix for counts if there were more keys than are kept

    def add(self, tuples: int, last: Sequence[Row]) -> None:
        """Add an epoch: its number of tuples, and its last tuples, or the last tuple of each key."""
        self.tuples += tuples
        if not self.key:
            self.rows = [*self.rows, *last][-(self.limit or len(self.rows) + len(last)) :]
            return
        self.by_key.update((self._key(row), row) for row in last)
        rows = sorted(self.by_key.values(), key=lambda row: [_order(row[i], kind) for i, kind in self.key])
        self.rows = rows[: self.kept]  # the first rows, so that the rows shown are correct
        for row in rows[self.kept :]:
            self.over = "over "
            del self.by_key[self._key(row)]

    def _key(self, row: Row) -> tuple[str, ...]:
        return tuple(row[i] for i, _ in self.key)

    def renderable(self, epoch: int) -> RenderableType:
        what = f"{self.over}{len(self.by_key):,} keys" if self.key else f"the last {len(self.rows):,}"
        title = Text(f"{self.name}, epoch {epoch}: {self.tuples:,} tuples, {what}")
        hidden = len(self.rows) - len(self.rows[: self.limit])
        table = Table()
        for name in self.names:
            table.add_column(Text(name))
        for row in self.rows[: self.limit]:
            table.add_row(*map(Text, row))
        return Group(title, table, *([Text(f"… and {self.over}{hidden:,} more")] if hidden else []))


def _order(text: str, kind: AttributeType) -> tuple[int, Decimal, str]:
    """Sort numbers by value, everything else by its text; NaN and None come last."""
    if kind.required not in (INT, FLOAT, DECIMAL):
        return 0, Decimal(0), text
    if text == "None":
        return 2, Decimal(0), text
    number = Decimal(text)
    return (1, Decimal(0), text) if number.is_nan() else (0, number, text)


class Display(Protocol):
    """Where live tables are shown."""

    def show(self, name: str, table: RenderableType) -> None: ...


class Tables:
    """Collects the tables of all sinks, for a caller that controls the terminal."""

    def __init__(self) -> None:
        self.shown: dict[str, RenderableType] = {}

    def show(self, name: str, table: RenderableType) -> None:
        self.shown[name] = table


class LiveTables(Tables):
    """Prints the tables of all sinks on a terminal, one below the other."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self.live = Live(console=terminal, auto_refresh=False)

    def show(self, name: str, table: RenderableType) -> None:
        super().show(name, table)
        self.live.start()
        self.live.update(Group(*self.shown.values()), refresh=True)


@contextmanager
def live_display(wanted: bool, given: Display | None, out: TextIO) -> Iterator[Display | None]:
    """Where to show live tables: on the display given by the caller, or else on the terminal, if there is one."""
    terminal = Terminal(file=out)
    if given is not None or not wanted or not terminal.is_terminal:
        yield given
        return
    tables = LiveTables(terminal)
    try:
        yield tables
    finally:
        tables.live.stop()

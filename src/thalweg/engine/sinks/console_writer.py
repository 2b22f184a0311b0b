"""The console sink. An epoch's first tuples are stored with the results, and the driver prints them when the epoch is
complete. So an epoch that is run again is printed once, and any process can write the sink."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from rich.console import Console as Terminal
from rich.table import Table

from thalweg.engine.sinks.live_table import Display, LiveRows
from thalweg.engine.storage.small_files import write_atomically
from thalweg.ir.types import TupleType
from thalweg.runtime.columns import to_list, window
from thalweg.runtime.frame import Frame


class ConsoleSink:
    """Stores the text of each epoch in a small file, which is deleted when it was printed."""

    def __init__(
        self, folder: Path, name: str, tuple_type: TupleType, limit: int | None, *, live: bool, key: tuple[str, ...]
    ) -> None:
        self.folder, self.name, self.limit, self.names = folder, name, limit, tuple_type.names
        self.live, self.key = live, key
        self.shown = LiveRows(name, tuple_type, key, limit)  # used only by the driver, for live tables

    def claim(self, run: str, *, overwrite: bool) -> None:
        """Drop what a killed run did not print: its epochs may be long past."""
        for file in self.folder.glob("epoch-*.json"):
            file.unlink()

    def _file(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch:010d}.json"

    def write(self, epoch: int, frame: Frame | None, *, final: bool) -> int:
        if frame is None or len(frame) == 0:
            return 0
        shown = len(frame) if self.limit is None else min(self.limit, len(frame))
        columns = [map(_text, to_list(window(frame.columns[name], 0, shown))) for name in self.names]
        document: dict[str, Any] = {"tuples": len(frame), "rows": list(zip(*columns, strict=True))}
        if self.live:
            document["last"] = self._last(frame)
        write_atomically(self._file(epoch), json.dumps(document).encode(), durable=False)
        return len(frame)

    def _last(self, frame: Frame) -> list[tuple[str, ...]]:
        """The epoch's last tuples, or the last of each of its keys, in order."""
        first = 0 if self.limit is None else max(0, len(frame) - self.limit)
        kept = list(range(first, len(frame)))
        if self.key:
            keys = zip(*(map(_text, to_list(frame.columns[name])) for name in self.key), strict=True)
            kept = sorted({key: row for row, key in enumerate(keys)}.values())
        some = frame.take(np.array(kept, np.int64))
        return list(zip(*(map(_text, to_list(some.columns[name])) for name in self.names), strict=True))

    def _document(self, epoch: int) -> dict[str, Any] | None:
        file = self._file(epoch)
        if not file.exists():
            return None
        document: dict[str, Any] = json.loads(file.read_bytes())
        file.unlink()
        return document

    def show_live(self, epoch: int, display: Display) -> None:
        """Show the table, updated with this epoch."""
        document = self._document(epoch)
        if document is not None:
            self.shown.add(document["tuples"], document["last"])
            display.show(self.name, self.shown.renderable(epoch))

    def show(self, epoch: int, out: TextIO) -> None:
        document = self._document(epoch)
        if document is None:
            return
        table = Table()
        for name in self.names:
            table.add_column(name)
        for row in document["rows"]:
            table.add_row(*row)
        terminal = Terminal(file=out, highlight=False, markup=False)
        terminal.print(f"{self.name}, epoch {epoch}: {document['tuples']:,} tuples", soft_wrap=True)
        terminal.print(table)
        more = document["tuples"] - len(document["rows"])
        if more:
            terminal.print(f"… and {more:,} more")


def _text(value: object) -> str:
    return repr(value) if isinstance(value, float) else str(value)

"""The console sink. An epoch's first tuples are stored beside the results, and the driver prints them when the epoch is
whole: so an epoch that is run again is printed once, and it does not matter in which process the sink was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TextIO

from rich.console import Console as Terminal
from rich.table import Table

from thalweg.engine.storage import write_atomically
from thalweg.ir.endpoints import Console
from thalweg.ir.types import TupleType
from thalweg.runtime.columns import to_list, window
from thalweg.runtime.frame import Frame


class ConsoleSink:
    """Small files of what to print, each of which lives until it was printed."""

    def __init__(self, folder: Path, name: str, console: Console, tuple_type: TupleType) -> None:
        self.folder, self.name, self.limit, self.names = folder, name, console.rows, tuple_type.names

    def claim(self, run: str, *, overwrite: bool) -> None:
        """What a killed run did not print any more is not printed now: its epochs may be long past."""
        for file in self.folder.glob("epoch-*.json"):
            file.unlink()

    def _file(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch:010d}.json"

    def write(self, epoch: int, frame: Frame | None, *, final: bool) -> int:
        if frame is None or len(frame) == 0:
            return 0
        shown = len(frame) if self.limit is None else min(self.limit, len(frame))
        columns = [map(_text, to_list(window(frame.columns[name], 0, shown))) for name in self.names]
        document = {"tuples": len(frame), "rows": list(zip(*columns, strict=True))}
        write_atomically(self._file(epoch), json.dumps(document).encode(), durable=False)
        return len(frame)

    def show(self, epoch: int, out: TextIO) -> None:
        file = self._file(epoch)
        if not file.exists():
            return
        document = json.loads(file.read_bytes())
        file.unlink()
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

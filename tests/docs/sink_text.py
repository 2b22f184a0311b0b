"""The tuples that a run's sinks received, as text in the form used in docs/."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from thalweg.endpoints.collect import Collect
from thalweg.endpoints.files import Files
from thalweg.endpoints.sqlite import Sqlite
from thalweg.ir.graph import LogicalGraph

Rows = Sequence[tuple[Any, ...]]


def shown(graph: LogicalGraph, answer: Mapping[str, Rows], written: Mapping[str, Path]) -> str:
    """A table per sink, or the text of its files; with several sinks each under its name."""
    parts: list[tuple[str, str]] = []
    for sink in graph.sinks:
        if isinstance(sink.endpoint, Collect):
            parts.append((sink.name, table(graph.type_of(sink.inputs[0]).names, answer[sink.name])))
        if isinstance(sink.endpoint, Files) and sink.name in written:
            files = sorted(p for p in written[sink.name].iterdir() if p.name.startswith("epoch-"))
            parts.append((sink.name, "".join(f"{file.name}\n{file.read_text()}" for file in files)))
        if isinstance(sink.endpoint, Sqlite):
            with closing(sqlite3.connect(sink.endpoint.path)) as database:
                rows = database.execute(f"SELECT * FROM {sink.endpoint.table} ORDER BY rowid")
                parts.append((sink.name, table([name for name, *_ in rows.description], rows.fetchall())))
    if len(parts) == 1:
        return parts[0][1]
    return "\n".join(f"{name}:\n{text}" for name, text in parts)


def table(names: Iterable[str], rows: Rows) -> str:
    lines = [list(names), *([repr(v) if isinstance(v, float) else str(v) for v in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join("  ".join(map(str.ljust, line, widths)).rstrip() + "\n" for line in lines)

"""CSV and JSON lines with bad lines in them.

A file without bad lines is read in one call, as under `on_error="fail"`. Otherwise each line is a record, and it is bad
if the header followed by this line alone cannot be read. The same reader decides in both cases, so a line that is a
valid tuple under one policy is valid under all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.engine.inputs.bad_rows import (
    Bad,
    FilePart,
    JsonRows,
    ReadableRows,
    TableRows,
    TextRecords,
    check_rows,
    unreadable,
    whole_misfit,
)
from thalweg.engine.inputs.text_tables import parse_text
from thalweg.ir.types import TupleType

UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError)
_BLOCK = 4096  # lines that are tried together
_TWO_OBJECTS = re.compile(rb"\}[ \t\r]*\{")  # Arrow reads two rows
_ROW_OF_ARROW = re.compile(r"Row #\d+: | in row \d+$")  # counted from the start of the attempt, so misleading


def text_parts(data: bytes, format: str, tuple_type: TupleType) -> tuple[int, list[FilePart]]:
    """The number of rows, and the parts of the file."""
    count, rows, bad = (_csv_rows if format == "csv" else _json_rows)(data, tuple_type)
    if rows is None:
        return count, [FilePart(None, tuple(bad))]
    reason = whole_misfit(rows, tuple_type)
    return count, [check_rows(rows, bad, tuple_type) if reason is None else unreadable(0, count, reason)]


def count_text_rows(data: bytes, format: str, tuple_type: TupleType) -> int:
    return _csv_rows(data, tuple_type)[0] if format == "csv" else len(_json_lines(data).texts)


def _csv_rows(data: bytes, tuple_type: TupleType) -> tuple[int, ReadableRows | None, list[Bad]]:
    """The number of rows, the readable rows, and the bad ones."""
    # As in Arrow, \n, \r and \r\n end a line, and empty lines are ignored.
    numbered = [(number, line) for number, line in enumerate(data.splitlines(), 1) if line]
    lines = TextRecords([line for _, line in numbered[1:]], [number for number, _ in numbered[1:]])
    try:
        table = parse_text(pa.BufferReader(data), "csv", tuple_type)
    except UNREADABLE as error:
        if not numbered:
            return 1, None, [Bad(0, 1, "", str(error))]
        rows, bad = _by_lines(numbered[0][1] + b"\n", lines, "csv", tuple_type)
        return len(lines.texts), rows, bad
    one_each = len(table) == len(lines.texts)  # line breaks in quotes make more lines than rows
    return len(table), TableRows(table, np.arange(len(table)), lines if one_each else None, csv=True), []


def _json_rows(data: bytes, tuple_type: TupleType) -> tuple[int, ReadableRows | None, list[Bad]]:
    lines = _json_lines(data)
    if any(kind.boxed for _, kind in tuple_type.attributes):
        return len(lines.texts), *_parsed(lines)
    if lines.texts and not _TWO_OBJECTS.search(data):
        try:
            table = parse_text(pa.BufferReader(data), "jsonl", tuple_type)
        except UNREADABLE:
            table = None  # then line by line
        if table is not None and len(table) == len(lines.texts):
            return len(table), TableRows(table.select(list(tuple_type.names)), np.arange(len(table)), lines), []
    rows, bad = _by_lines(b"", lines, "jsonl", tuple_type)
    return len(lines.texts), rows, bad


def _json_lines(data: bytes) -> TextRecords:
    numbered = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    return TextRecords([line for _, line in numbered], [number for number, _ in numbered])


def _parsed(lines: TextRecords) -> tuple[ReadableRows, list[Bad]]:
    rows: list[dict[str, Any]] = []
    at: list[int] = []
    bad: list[Bad] = []
    for row, line in enumerate(lines.texts):
        try:
            found = json.loads(line, parse_float=Decimal)
            if not isinstance(found, dict):
                raise ValueError("expected a JSON object")
        except (ValueError, RecursionError) as error:
            bad.append(Bad(row, row + 1, lines.text(row), f"{lines.place(row)}{error}"))
        else:
            rows.append(found)
            at.append(row)
    return JsonRows(rows, np.array(at, np.int64), lines), bad


def _by_lines(
    header: bytes, lines: TextRecords, format: str, tuple_type: TupleType
) -> tuple[ReadableRows | None, list[Bad]]:
    """Read blocks of lines, halving those that fail down to single lines. None: not even the header can be read."""
    names = tuple_type.names
    tables: list[pa.Table] = []
    at: list[int] = []
    bad: list[Bad] = []
    if header:
        try:
            empty = parse_text(pa.BufferReader(header), format, tuple_type)
            tables.append(empty.select([i for i, n in enumerate(empty.column_names) if n in names]))
        except UNREADABLE as error:
            return None, [Bad(0, len(lines.texts), header.decode(errors="replace"), f"header: {_plain(error)}")]
    for start, stop, found in _blocks(header, lines, format, tuple_type):
        if isinstance(found, str):
            bad.append(Bad(start, stop, lines.text(start), f"{lines.place(start)}{found}"))
        else:
            tables.append(found.select([i for i, n in enumerate(found.column_names) if n in names]))
            at += range(start, stop)
    if not tables:
        return None, bad
    return TableRows(pa.concat_tables(tables), np.array(at, np.int64), lines, csv=format == "csv"), bad


def _blocks(
    header: bytes, lines: TextRecords, format: str, tuple_type: TupleType
) -> Iterator[tuple[int, int, pa.Table | str]]:
    """Ranges of rows with their table, or for a single row the reason why it cannot be read."""
    count = len(lines.texts)
    spans = [(start, min(start + _BLOCK, count)) for start in reversed(range(0, count, _BLOCK))]
    while spans:
        start, stop = spans.pop()
        block = lines.texts[start:stop]
        try:
            table = parse_text(pa.BufferReader(header + b"\n".join(block) + b"\n"), format, tuple_type)
            mixed = format == "jsonl" and stop - start > 1 and any(map(_TWO_OBJECTS.search, block))
            found = table if len(table) == stop - start and not mixed else f"{len(table)} rows in this line"
        except UNREADABLE as error:
            found = _plain(error)
        if isinstance(found, str) and stop - start > 1:
            middle = (start + stop) // 2
            spans += [(middle, stop), (start, middle)]
        else:
            yield start, stop, found


def _plain(error: Exception) -> str:
    return _ROW_OF_ARROW.sub("", str(error))

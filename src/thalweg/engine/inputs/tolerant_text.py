"""CSV and JSON lines with bad lines in them.

A file without bad lines is read in one call, as under `on_error="fail"`. Otherwise each line is a record, and it is bad
if the header followed by this line alone cannot be read. The same reader decides in both cases, so a line that is a
valid tuple under one policy is valid under all. Bad lines that are certain to be rejected are sorted out before
(`suspect_lines`), and the others are read together; if that fails, in blocks that are halved down to single lines.
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
from thalweg.engine.inputs.suspect_lines import joined, suspect_lines
from thalweg.engine.inputs.text_tables import parse_text
from thalweg.ir.types import TupleType
from thalweg.runtime.columns import Array

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
    if format != "csv":
        return sum(1 for line in data.split(b"\n") if line.strip())
    try:
        return len(parse_text(pa.BufferReader(data), "csv", tuple_type))
    except UNREADABLE:
        return max(_line_count(data) - 1, 0) if data.strip(b"\r\n") else 1


def _line_count(data: bytes) -> int:
    """The number of lines, without empty ones."""
    if b"\r" not in data and b"\n\n" not in data:
        return data.strip(b"\n").count(b"\n") + 1
    return sum(map(bool, data.splitlines()))


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
            bad.append(_bad(lines, row, str(error)))
        else:
            rows.append(found)
            at.append(row)
    return JsonRows(rows, np.array(at, np.int64), lines), bad


def _by_lines(
    header: bytes, lines: TextRecords, format: str, tuple_type: TupleType
) -> tuple[ReadableRows | None, list[Bad]]:
    """Read lines, without those that are certainly bad. None: not even the header can be read."""
    tables: list[pa.Table] = []
    at: list[Array] = [np.arange(0)]
    bad: list[Bad] = []
    names = tuple_type.names
    if header:
        try:
            empty = parse_text(pa.BufferReader(header), format, tuple_type)
        except UNREADABLE as error:
            return None, [Bad(0, len(lines.texts), header.decode(errors="replace"), f"header: {_plain(error)}")]
        tables.append(empty)
    texts = pa.array(lines.texts, pa.large_binary())
    suspects = suspect_lines(header, texts, format, tuple_type)
    others = np.delete(np.arange(len(texts)), list(suspects))
    uncertain = np.array([row for row, fault in suspects.items() if fault is None], np.int64)
    for rows in (others, uncertain):
        for start, stop, found in _blocks(header, texts.take(pa.array(rows)), format, tuple_type):
            if isinstance(found, str):
                bad.append(_bad(lines, int(rows[start]), found))
            else:
                tables.append(found)
                at.append(rows[start:stop])
    bad += [_bad(lines, row, str(fault)) for row, fault in suspects.items() if fault is not None]
    if not tables:
        return None, sorted(bad, key=lambda one: one.start)
    selected = [t.select([i for i, n in enumerate(t.column_names) if n in names]) for t in tables]
    found_rows = TableRows(pa.concat_tables(selected), np.concatenate(at), lines, csv=format == "csv")
    if len(uncertain):
        found_rows = found_rows.take(np.argsort(found_rows.at, kind="stable"))
    return found_rows, bad


def _bad(lines: TextRecords, row: int, reason: str) -> Bad:
    return Bad(row, row + 1, lines.text(row), f"{lines.place(row)}{reason}")


def _blocks(
    header: bytes, texts: pa.LargeBinaryArray, format: str, tuple_type: TupleType
) -> Iterator[tuple[int, int, pa.Table | str]]:
    """Ranges of lines with their table, or for a single line the reason why it cannot be read. All of them are tried
    together first."""
    whole = _together(header, texts, format, tuple_type) if len(texts) else ""
    if not isinstance(whole, str):
        yield 0, len(texts), whole
        return
    spans = [(start, min(start + _BLOCK, len(texts))) for start in reversed(range(0, len(texts), _BLOCK))]
    while spans:
        start, stop = spans.pop()
        found = _together(header, texts[start:stop], format, tuple_type)
        if isinstance(found, str) and stop - start > 1:
            middle = (start + stop) // 2
            spans += [(middle, stop), (start, middle)]
        else:
            yield start, stop, found


def _together(header: bytes, texts: pa.LargeBinaryArray, format: str, tuple_type: TupleType) -> pa.Table | str:
    """The table of these lines, or the reason why they cannot be read together."""
    alone = len(texts) == 1
    data = b"%s%s\n" % (header, joined(texts))
    try:
        table = parse_text(pa.BufferReader(data), format, tuple_type, other_columns=alone)
    except UNREADABLE as error:
        return _plain(error)
    mixed = format == "jsonl" and not alone and _TWO_OBJECTS.search(data)
    return table if len(table) == len(texts) and not mixed else f"{len(table)} rows in this line"


def _plain(error: Exception) -> str:
    return _ROW_OF_ARROW.sub("", str(error))

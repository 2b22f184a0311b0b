"""CSV and JSON lines with bad lines in them.

A file without bad lines is read in one call, as under `on_error="fail"`. Otherwise each line is a record, and it is bad
if the header followed by this line alone cannot be read. The same reader decides in both cases, so a line that is a
valid tuple under one policy is valid under all. Bad lines that are certain to be rejected are sorted out before
(`suspect_lines`), and the others are read together; if that fails, in blocks that are halved down to single lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.engine.inputs.bad_rows import (
    Bad,
    FilePart,
    JsonRows,
    ReadableRows,
    TableRows,
    check_rows,
    unreadable,
    whole_misfit,
)
from thalweg.engine.inputs.suspect_lines import suspect_lines
from thalweg.engine.inputs.text_lines import TextLines, csv_lines, json_lines
from thalweg.engine.inputs.text_tables import parse_text
from thalweg.engine.storage.json_lines import load_json
from thalweg.ir.types import TupleType
from thalweg.runtime.columns import Array

UNREADABLE = (pa.ArrowException, OSError)
_BLOCK = 4096  # lines that are tried together
_TWO_OBJECTS = re.compile(rb"\}[ \t\r]*\{")
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
        return len(json_lines(data))
    try:
        return len(parse_text(data, "csv", tuple_type))
    except UNREADABLE:
        return max(len(csv_lines(data)) - 1, 0) or int(not _has_header(data))


def _has_header(data: bytes) -> bool:
    """Whether a file without rows has a header; without one, it is an invalid row."""
    try:
        parse_text(data + b"\n", "csv", None)
    except UNREADABLE:
        return False
    return True


def _csv_rows(data: bytes, tuple_type: TupleType) -> tuple[int, ReadableRows | None, list[Bad]]:
    """The number of rows, the readable rows, and the bad ones."""
    lines = csv_lines(data)
    rows = lines.span(1)
    try:
        table = parse_text(data, "csv", tuple_type)
    except UNREADABLE as error:
        if not len(lines):
            return 1, None, [Bad(0, 1, "", str(error))]
        readable, bad = _by_lines(lines.bare([0])[0] + b"\n", rows, "csv", tuple_type)
        return len(rows) or len(bad), readable, bad
    one_each = len(table) == len(rows)  # line breaks in quotes make more lines than rows
    return len(table), TableRows(table, np.arange(len(table)), rows if one_each else None, csv=True), []


def _json_rows(data: bytes, tuple_type: TupleType) -> tuple[int, ReadableRows | None, list[Bad]]:
    lines = json_lines(data)
    if any(kind.boxed for _, kind in tuple_type.attributes):
        return len(lines), *_parsed(lines)
    if len(lines) and not _has_two_objects(data):
        try:
            table = parse_text(data, "jsonl", tuple_type)
        except UNREADABLE:
            table = None  # then line by line
        if table is not None and len(table) == len(lines):
            return len(table), TableRows(table.select(list(tuple_type.names)), np.arange(len(table)), lines), []
    rows, bad = _by_lines(b"", lines, "jsonl", tuple_type)
    return len(lines), rows, bad


def _has_two_objects(data: bytes) -> bool:
    """Whether a line has two objects, of which Arrow makes two rows."""
    content = np.frombuffer(data, np.uint8)
    after = content[np.flatnonzero(content[:-1] == ord("}")) + 1]
    return bool(np.any(after != ord("\n"))) and _TWO_OBJECTS.search(data) is not None  # a pattern takes longer


def _parsed(lines: TextLines) -> tuple[ReadableRows, list[Bad]]:
    rows: list[dict[str, Any]] = []
    at: list[int] = []
    bad: list[Bad] = []
    for row, line in enumerate(lines.texts.to_pylist()):
        try:
            found = load_json(line)
            if not isinstance(found, dict):
                raise ValueError("expected a JSON object")
        except ValueError as error:
            bad += _bad(lines, {row: str(error)})
        else:
            rows.append(found)
            at.append(row)
    return JsonRows(rows, np.array(at, np.int64), lines), bad


def _by_lines(
    header: bytes, lines: TextLines, format: str, tuple_type: TupleType
) -> tuple[ReadableRows | None, list[Bad]]:
    """Read lines, without those that are certainly bad. None: not even the header can be read."""
    tables: list[pa.Table] = []
    at: list[Array] = [np.arange(0)]
    bad: list[Bad] = []
    names = tuple_type.names
    if header:
        try:
            empty = parse_text(header, format, tuple_type)
        except UNREADABLE as error:
            return None, [Bad(0, len(lines) or 1, header.decode(errors="replace"), f"header: {_plain(error)}")]
        tables.append(empty)
    suspects = suspect_lines(header, lines, format, tuple_type)
    others = np.delete(np.arange(len(lines)), list(suspects.faults))
    uncertain = np.array([row for row, fault in suspects.faults.items() if fault is None], np.int64)
    if suspects.others is not None:
        tables.append(suspects.others)
        at.append(others)
        others = others[:0]
    for rows, certain in ((others, True), (uncertain, False)):
        for start, stop, found in _blocks(header, lines.take(rows), format, tuple_type, certain):
            if isinstance(found, str):
                bad += _bad(lines, {int(rows[start]): found})
            else:
                tables.append(found)
                at.append(rows[start:stop])
    bad += _bad(lines, {row: str(fault) for row, fault in suspects.faults.items() if fault is not None})
    if not tables:
        return None, sorted(bad, key=lambda one: one.start)
    selected = [t.select([i for i, n in enumerate(t.column_names) if n in names]) for t in tables]
    found_rows = TableRows(pa.concat_tables(selected), np.concatenate(at), lines, csv=format == "csv")
    if len(uncertain):
        found_rows = found_rows.take(np.argsort(found_rows.at, kind="stable"))
    return found_rows, bad


def _bad(lines: TextLines, reasons: Mapping[int, str]) -> list[Bad]:
    texts = lines.shown(list(reasons))
    return [
        Bad(row, row + 1, text, f"{lines.place(row)}{reason}")
        for text, (row, reason) in zip(texts, reasons.items(), strict=True)
    ]


def _blocks(
    header: bytes, lines: TextLines, format: str, tuple_type: TupleType, certain: bool
) -> Iterator[tuple[int, int, pa.Table | str]]:
    """Ranges of lines with their table, or for a single line the reason why it cannot be read. All of them are tried
    together first. Lines that are certainly read have one row each."""
    whole = _together(header, lines, format, tuple_type, certain) if len(lines) else ""
    if not isinstance(whole, str):
        yield 0, len(lines), whole
        return
    spans = [(start, min(start + _BLOCK, len(lines))) for start in reversed(range(0, len(lines), _BLOCK))]
    while spans:
        start, stop = spans.pop()
        found = _together(header, lines.span(start, stop), format, tuple_type, certain)
        if isinstance(found, str) and stop - start > 1:
            middle = (start + stop) // 2
            spans += [(middle, stop), (start, middle)]
        else:
            yield start, stop, found


def _together(header: bytes, lines: TextLines, format: str, tuple_type: TupleType, certain: bool) -> pa.Table | str:
    """The table of these lines, or the reason why they cannot be read together."""
    data = header + lines.joined()
    try:
        table = parse_text(data, format, tuple_type)
    except UNREADABLE as error:
        return _plain(error)
    mixed = format == "jsonl" and not certain and len(lines) > 1 and _has_two_objects(data)
    return table if len(table) == len(lines) and not mixed else f"{len(table)} rows in this line"


def _plain(error: Exception) -> str:
    return _ROW_OF_ARROW.sub("", str(error))

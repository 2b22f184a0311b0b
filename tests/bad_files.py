"""Files with bad records, and what they hold: which rows are tuples, and which are not."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import thalweg as tw


class Reading(tw.Tuple):
    """No optional and no boxed attribute: Arrow's readers do everything."""

    i: int
    x: float
    s: str
    b: bool


Row = tuple[int, float, str, bool]
SCHEMA = pa.schema({"i": pa.int64(), "x": pa.float64(), "s": pa.string(), "b": pa.bool_()})
SUFFIX = {"csv": ".csv", "jsonl": ".jsonl", "parquet": ".parquet", "arrow": ".arrow"}


@dataclass
class Written:
    """A file's rows as they were meant: tuples by row, and rows (start, stop) of which there is one letter each."""

    tuples: dict[int, Row] = field(default_factory=dict)
    bad: list[tuple[int, int]] = field(default_factory=list)

    @property
    def left_out(self) -> int:
        return sum(stop - start for start, stop in self.bad)

    @property
    def rows(self) -> int:
        return len(self.tuples) + self.left_out


def good(chance: random.Random) -> Row:
    text = chance.choice(["a", "b", "cé", "with space", "[x]", "}", "{"])
    return chance.randrange(-5, 1000), chance.randrange(100) / 4, text, chance.random() < 0.5


def csv_line(row: Row) -> str:
    i, x, s, b = row
    return f"{i},{x},{s},{str(b).lower()}"


def json_line(row: Row) -> str:
    return json.dumps(dict(zip(Reading.tuple_type.names, row, strict=True)) | {"more": [1]})


BAD_CSV: tuple[Callable[[Row], str], ...] = (
    lambda row: "1,2",
    lambda row: csv_line(row) + ",more",
    lambda row: f"one{csv_line(row)}",
    lambda row: "1,1.0,a,yes",
    lambda row: f",{csv_line(row).partition(',')[2]}",
    lambda row: "99999999999999999999,1.0,a,true",
    lambda row: " ",
)
BAD_JSON: tuple[Callable[[Row], str], ...] = (
    lambda row: "nonsense",
    lambda row: "[1]",
    lambda row: json_line(row)[:-5],
    lambda row: '{"i": 1, "x": 1.0, "s": "a"}',
    lambda row: '{"i": null, "x": 1.0, "s": "a", "b": true}',
    lambda row: '{"i": "1", "x": 1.0, "s": "a", "b": true}',
    lambda row: '{"i": 9223372036854775808, "x": 1.0, "s": "a", "b": true}',
    lambda row: json_line(row) + json_line(row),
    lambda row: json_line(row) + " " + json_line(row),
    lambda row: '{"i":',  # with the next one, an object on two lines
    lambda row: "1}",
)


def text_file(chance: random.Random, path: Path, format: str, rows: int, share: float) -> Written:
    line_of, bad_ones = (csv_line, BAD_CSV) if format == "csv" else (json_line, BAD_JSON)
    written, lines = Written(), ["i,x,s,b"] if format == "csv" else []
    for number in range(rows):
        row = good(chance)
        if chance.random() < share:
            lines.append(chance.choice(bad_ones)(row))
            written.bad.append((number, number + 1))
        else:
            lines.append(line_of(row))
            written.tuples[number] = row
        if chance.random() < 0.1:
            lines.append("")
    path.write_bytes(chance.choice([b"\n", b"\r\n"]).join(line.encode() for line in lines) + b"\n")
    return written


def columns(written: Written) -> pa.Table:
    """A table in which bad rows have no i."""
    values = [written.tuples.get(n, (None, 0.5, "?", True)) for n in range(written.rows)]
    return pa.table(dict(zip(SCHEMA.names, map(list, zip(*values, strict=True)), strict=True)), schema=SCHEMA)


def some_rows(chance: random.Random, rows: int, share: float) -> Written:
    written = Written()
    for number in range(rows):
        if chance.random() < share:
            written.bad.append((number, number + 1))
        else:
            written.tuples[number] = good(chance)
    return written


def unreadable(written: Written, start: int, stop: int) -> None:
    """These rows are of a part that cannot be read: one letter, at its first row."""
    written.tuples = {n: row for n, row in written.tuples.items() if not start <= n < stop}
    written.bad = sorted([(start, stop), *(b for b in written.bad if not start <= b[0] < stop)])


def parquet_file(chance: random.Random, path: Path, rows: int, share: float) -> Written:
    written = some_rows(chance, rows, share)
    group = chance.choice([1, 3, 1000])
    pq.write_table(columns(written), path, row_group_size=group, compression="none")
    fault = chance.choice(["none", "none", "row group", "truncated", "wrong type"])
    if fault == "row group":
        broken = chance.randrange(-(-rows // group))
        break_row_group(path, broken)
        unreadable(written, broken * group, min(rows, (broken + 1) * group))
    elif fault == "truncated":
        path.write_bytes(path.read_bytes()[:-20])
        written = Written(bad=[(0, 1)])
    elif fault == "wrong type":
        table = columns(written)
        pq.write_table(table.set_column(1, "x", table["s"]), path, row_group_size=group)
        unreadable(written, 0, rows)
    return written


def break_row_group(path: Path, group: int) -> None:
    """Overwrite the first page header of its last column."""
    data = bytearray(path.read_bytes())
    column = pq.read_metadata(io.BytesIO(bytes(data))).row_group(group).column(3)
    first = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
    data[first : first + 8] = b"\xff" * 8
    path.write_bytes(data)


def arrow_file(chance: random.Random, path: Path, rows: int, share: float) -> Written:
    written = some_rows(chance, rows, share)
    table, size = columns(written), chance.choice([2, 5, 1000])
    stream = chance.random() < 0.5
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(path, SCHEMA) as file:
        file.write_table(table, max_chunksize=size)
    if chance.random() < 0.3:
        if stream:
            last = (rows - 1) // size * size  # of the last record batch the end is missing
            path.write_bytes(path.read_bytes()[:-24])
            written.tuples = {n: row for n, row in written.tuples.items() if n < last}
            written.bad = [*(b for b in written.bad if b[0] < last), (last, last + 1)]
        else:
            path.write_bytes(path.read_bytes()[:-20])
            written = Written(bad=[(0, 1)])
    return written


def write_file(chance: random.Random, folder: Path, number: int, format: str) -> Written:
    path = folder / f"{number:03d}{SUFFIX[format]}"
    rows, share = chance.randrange(1, 12), chance.choice([0.0, 0.1, 0.5, 1.0])
    if format == "parquet":
        return parquet_file(chance, path, rows, share)
    if format == "arrow":
        return arrow_file(chance, path, rows, share)
    return text_file(chance, path, format, rows, share)


def expected(files: list[Written]) -> tuple[list[tuple[int, Any]], list[tuple[int, int, int]], int]:
    """Positions and tuples; position, file and row of each letter; how many rows are left out."""
    tuples: list[tuple[int, Any]] = []
    letters: list[tuple[int, int, int]] = []
    base = 0
    for number, file in enumerate(files):
        tuples += [(base + row, values) for row, values in sorted(file.tuples.items())]
        letters += [(base + start, number, start) for start, _ in file.bad]
        base += file.rows
    return tuples, letters, sum(file.left_out for file in files)

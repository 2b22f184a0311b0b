"""Lines that are called bad in one pass are those that Arrow rejects one by one; none that it takes is among them."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from tests.amount import share
from tests.bad_files import BAD_CSV, BAD_JSON, Reading, csv_line, good, json_line
from thalweg.engine.inputs.suspect_lines import suspect_lines
from thalweg.engine.inputs.text_lines import TextLines
from thalweg.engine.inputs.text_tables import parse_text
from thalweg.engine.inputs.tolerant_text import UNREADABLE
from thalweg.ir.types import TupleType


class Optional(tw.Tuple):
    i: int | None
    x: float | None
    s: str | None
    b: str


TYPE = Reading.tuple_type
HEADER = {"csv": b"i,x,s,b\n", "jsonl": b""}
PIECES = [
    b'"', b"'", b",", b"{", b"}", b"[", b"]", b":", b"\\", b"\\u00e9", b"\\ud800", b" ", b"\t", b"\xff", b"\xc3\xa9",
    b"\x00",
    b"\xef\xbb\xbf", b"0", b"-", b"+", b".", b"e5", b"E400", b"0x1F", b"NaN", b"Inf", b"-Infinity", b"null", b"true",
    b"TRUE", b"1", b"99999999999999999999", b'"i": 2', b'""',
]  # fmt: skip


def with_ends(lines: list[bytes]) -> TextLines:
    return TextLines(pa.array([line + b"\n" for line in lines], pa.large_binary()), np.arange(1, len(lines) + 1))


def rejected(line: bytes, format: str, tuple_type: TupleType) -> bool:
    """Whether it is not one valid row, read alone."""
    try:
        table = parse_text(HEADER[format] + line + b"\n", format, tuple_type)
    except UNREADABLE:
        return True
    return len(table) != 1 or any(table.column(n).null_count for n, kind in tuple_type.attributes if not kind.optional)


def changed(chance: random.Random, line: bytes) -> bytes:
    for _ in range(chance.randrange(3)):
        start = chance.randrange(len(line) + 1)
        stop = start + chance.choice([0, 0, 1, 2, 5])
        line = line[:start] + chance.choice([b"", *PIECES]) + line[stop:]
    return line.replace(b"\n", b" ").replace(b"\r", b" ") or b" "


@pytest.mark.parametrize(
    ("format", "tuple_type"), [("csv", TYPE), ("csv", Optional.tuple_type), ("jsonl", TYPE)], ids=str
)
def test_only_lines_that_arrow_rejects(format: str, tuple_type: TupleType) -> None:
    chance = random.Random(7)
    line_of, bad = (csv_line, BAD_CSV) if format == "csv" else (json_line, BAD_JSON)
    missed = total = tables = 0
    for _ in range(share(400)):
        lines = [
            changed(chance, (chance.choice(bad) if chance.random() < 0.3 else line_of)(good(chance)).encode())
            for _ in range(chance.randrange(1, 20))
        ]
        suspects = suspect_lines(HEADER[format], with_ends(lines), format, tuple_type)
        found = suspects.faults
        if suspects.others is not None:
            kept = b"".join(line + b"\n" for row, line in enumerate(lines) if row not in found)
            assert suspects.others.equals(parse_text(HEADER[format] + kept, format, tuple_type)), kept
            tables += 1
        for row, line in enumerate(lines):
            fault = found.get(row)
            if fault is not None:
                assert rejected(line, format, tuple_type), line
                total += 1
            elif row in found and rejected(line, format, tuple_type):
                missed += 1
    assert missed < total / 2  # Arrow judges these, line by line
    assert tables or format == "jsonl"


def test_faults_name_what_is_wrong() -> None:
    lines = [json_line((1, 0.5, "a", True)).encode(), b'{"i": "1", "x": 1, "s": "a", "b": true}', b"{"]
    found = suspect_lines(b"", with_ends(lines), "jsonl", TYPE).faults
    assert {row: str(fault).partition(" (")[0] for row, fault in found.items()} == {
        1: "i: expected int, found '1'",
        2: "expected a JSON object, found {",
    }

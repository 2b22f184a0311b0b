"""Why a row of a text file is not a valid tuple: its row and line, the attribute, what was expected and what was found.

Arrow reads text files in blocks. Its errors count rows from the start of a block and do not always name the value, so
the row is searched for here, in Python, and only after Arrow has rejected the file.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from thalweg.engine.inputs.text_lines import BOM
from thalweg.engine.inputs.text_tables import ends_in_quotes, parse_text
from thalweg.engine.storage.json_lines import TO_TEXT, decode_line, from_json, from_text, load_json
from thalweg.errors import InputError
from thalweg.ir.types import BOOL, FLOAT, INT, STR, AttributeType, TupleType
from thalweg.runtime.arrow_types import ARROW_TYPES, Misfit

_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"BZh91AY&SY": "bzip2",
    b"(\xb5/\xfd": "zstd",
    b"\xfd7zXZ": "xz",
}
_OTHER_FORMATS = {
    b"PAR1": ("a Parquet file", 'tw.files(…, format="parquet")'),
    b"ARROW1\0\0": ("an Arrow file", 'tw.files(…, format="arrow")'),
    b"\xff\xfe": ("text in UTF-16", "convert the file to UTF-8"),
    b"\xfe\xff": ("text in UTF-16", "convert the file to UTF-8"),
}
_SHOWN = 60  # characters of a text in a message
_ROW_OF_ARROW = re.compile(r"^JSON parse error: |\.? in row \d+$")  # counted from the start of a block
# Texts that Arrow's CSV reader certainly accepts; it decides about all others itself.
ACCEPTED = {
    INT: re.compile(r"-?[0-9]{1,18}"),
    FLOAT: re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?"),
    BOOL: re.compile("true|false"),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a row does not fit; without an attribute, the row as a whole."""

    attribute: str | None
    expected: str
    found: str
    hint: str | None = None
    row: int = 0  # counted from 0, without empty lines
    line: int = 0  # counted from 1; 0: the file as a whole

    def __str__(self) -> str:
        """The reason, as dead letters have it."""
        return f"{f'{self.attribute}: ' if self.attribute else ''}expected {self.expected}, found {self.found}"


def short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def file_error(
    fault: Fault | None, path: str, format: str, error: Exception, operator: str | None = None
) -> InputError:
    """The error of a file that cannot be read. `error`: what its reader raised, if the fault is not known."""
    if fault is None:
        return InputError(f"this file cannot be read as {format}", operator=operator, found=f"{path}: {error}")
    what = f"attribute {fault.attribute} does not fit" if fault.attribute else f"this file cannot be read as {format}"
    return InputError(
        f"{what}: {path}",
        operator=operator,
        expected=fault.expected,
        found=f"{fault.found} in row {fault.row}, line {fault.line}" if fault.line else fault.found,
        hint=fault.hint or SKIPPING,
    )


_NOT_CLOSED = "the row has several lines: is a quote missing that closes a field?"
SKIPPING = 'tw.files(…, on_error="skip") skips such rows, "dead_letter" sends them to a separate stream'


def text_fault(path: str, format: str, tuple_type: TupleType, live: Container[str]) -> Fault | None:
    """The first row of a text file that does not fit. Nulls matter only in live attributes. None: it is not known."""
    data = Path(path).read_bytes()
    if (how := next((name for start, name in _COMPRESSED.items() if data.startswith(start)), None)) is not None:
        return Fault(None, "text", f"data compressed with {how}", "decompress the file first")
    for start, (what, hint) in _OTHER_FORMATS.items():
        if data.startswith(start):
            return Fault(None, "text in UTF-8", what, hint)
    if format == "csv":
        return next(csv_faults(data, tuple_type, live), None)
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    faults = ((row, json_fault(line, tuple_type, live)) for row, (_, line) in enumerate(lines))
    row, fault = next(((row, fault) for row, fault in faults if fault is not None), (len(lines), None))
    if not any(kind.boxed for _, kind in tuple_type.attributes):  # Arrow rejects more than Python does
        row, fault = _first_rejected([line for _, line in lines[:row]], tuple_type) or (row, fault)
    return None if fault is None else replace(fault, row=row, line=lines[row][0])


def _first_rejected(lines: Sequence[bytes], tuple_type: TupleType) -> tuple[int, Fault] | None:
    """The first line of JSON that Arrow does not read, although Python does: a name that occurs twice, 1e999."""
    if _rejection(lines, tuple_type) is None:
        return None
    start, stop = 0, len(lines)
    while stop - start > 1:
        middle = (start + stop) // 2
        start, stop = (middle, stop) if _rejection(lines[start:middle], tuple_type) is None else (start, middle)
    reason = _ROW_OF_ARROW.sub("", _rejection(lines[start:stop], tuple_type) or "")
    text = lines[start].strip().decode(errors="surrogateescape")
    return start, Fault(None, "a JSON object", f"{_one_line(text)} ({reason})")


def _rejection(lines: Sequence[bytes], tuple_type: TupleType) -> str | None:
    if not lines:
        return None
    try:
        rows = len(parse_text(b"\n".join(lines), "jsonl", tuple_type))
    except pa.ArrowException as error:
        return str(error)
    return None if rows == len(lines) else f"{rows} objects in this line"


def json_fault(line: bytes, tuple_type: TupleType, live: Container[str]) -> Fault | None:
    """Why a line of JSON is not a tuple; None: no reason is known."""
    text = decode_line(line.rstrip())
    converted = any(kind.boxed for _, kind in tuple_type.attributes)  # by Python, which reads only live attributes
    try:
        document = load_json(line.rstrip())
    except json.JSONDecodeError as error:
        if text.startswith(("Inf", "-Inf"), error.pos) and not converted:  # Arrow takes more forms of infinity
            return None
        what = error.msg.removesuffix(" at")
        return Fault(None, "a JSON object", f"{_one_line(text.strip())} ({what}, column {error.colno})")
    except ValueError:  # thousands of brackets
        return None
    if not isinstance(document, dict):
        return Fault(None, "a JSON object", _one_line(text.strip()))
    for name, kind in tuple_type.attributes:
        value = document.get(name)
        if name not in live and (converted or value is None):
            continue
        if isinstance(value, str) and kind.required is STR and not _text_fits(value, kind, used=True):
            return Fault(name, "str in UTF-8", repr(short(_visible(value))))
        try:
            from_json(value, kind, name)
        except Misfit as misfit:
            missing = value is None and name not in document
            there = f" (the line has {short(', '.join(document)) or 'no attribute'})" if missing else ""
            found = short(misfit.found.removesuffix(f" at {name}")) + there
            return Fault(name, misfit.expected, found, may_be_missing(name, kind) if value is None else None)
    return None


def may_be_missing(name: str, kind: AttributeType) -> str:
    return f"declare it as `{name}: {kind} | None` if it may be missing; {SKIPPING}"


def csv_faults(data: bytes, tuple_type: TupleType, live: Container[str]) -> Iterator[Fault]:
    """The rows of a CSV file that do not fit."""
    records = _records(data)
    header = next(records, (0, 0, []))[2]
    row, start, fields = 0, 0, header
    for row, (start, end, fields) in enumerate(records):
        fault = csv_fault(header, fields, tuple_type, live)
        if fault is not None:
            hint = _NOT_CLOSED if fault.attribute is None and end > start else fault.hint
            yield replace(fault, row=row, line=start, hint=hint)
    if start and ends_in_quotes(data):
        yield Fault(None, "a quote that closes the field", _one_line(",".join(fields)), None, row, start)


def count_csv_rows(data: bytes) -> int:
    """The number of rows, also if Arrow cannot read all of them."""
    return max(sum(1 for _ in _records(data)) - 1, 0)


def _records(data: bytes) -> Iterator[tuple[int, int, list[str]]]:
    """First and last line, and the fields of each record: a quoted field may have line breaks. It ends where Python
    cannot read on; the error is then that of Arrow."""
    text = data.removeprefix(BOM).decode(errors="surrogateescape")
    records = csv.reader(io.StringIO(text, newline=""))
    end = 0
    limit = csv.field_size_limit(sys.maxsize)
    try:
        for fields in records:
            start, end = end + 1, records.line_num
            if fields:  # Arrow ignores empty lines
                yield start, end, fields
    except csv.Error:
        return
    finally:
        csv.field_size_limit(limit)


def csv_fault(
    header: Sequence[str], fields: Sequence[str], tuple_type: TupleType, live: Container[str]
) -> Fault | None:
    """Why a row of CSV is not a tuple; None: no reason is known."""
    if len(fields) != len(header):
        expected = f"{len(header)} columns ({short(', '.join(header))})"
        return Fault(None, expected, f"{len(fields)} columns ({_one_line(','.join(fields))})")
    for name, kind in tuple_type.attributes:
        if name not in header:
            continue
        text = fields[header.index(name)]
        if not text and kind.required is not STR:
            if not kind.optional and name in live:
                return Fault(name, f"{kind} in every row", "nothing", may_be_missing(name, kind))
        elif not _text_fits(text, kind, used=name in live):
            expected = "str in UTF-8" if kind.required is STR else str(kind)
            return Fault(name, expected, repr(short(_visible(text))))
    return None


def _visible(text: str) -> str:
    return text.encode(errors="surrogateescape").decode(errors="replace")


def _one_line(text: str) -> str:
    return short(_visible(text).replace("\r", "\\r").replace("\n", "\\n"))


def _text_fits(text: str, kind: AttributeType, *, used: bool) -> bool:
    inner = kind.required
    if inner is STR:
        return text.isascii() or not any("\udc80" <= c <= "\udcff" for c in text)
    if inner not in TO_TEXT:
        return ACCEPTED[inner].fullmatch(text) is not None or _arrow_accepts(text, inner)
    if not used:
        return True
    try:
        from_text(text, kind)
    except Misfit:
        return False
    return True


@lru_cache(maxsize=10_000)
def _arrow_accepts(text: str, kind: AttributeType) -> bool:
    """Whether Arrow's CSV reader converts this text."""
    field = _visible(text).replace('"', '""')
    convert = pyarrow.csv.ConvertOptions(column_types={"v": ARROW_TYPES[kind]}, null_values=[""])
    try:
        pyarrow.csv.read_csv(pa.BufferReader(f'v\n"{field}"\n'.encode()), convert_options=convert)
    except pa.ArrowException:
        return False
    return True

"""Why a row of a text file is not a valid tuple: its row and line, the attribute, what was expected and what was found.

Arrow reads text files in blocks. Its errors count rows from the start of a block and do not always name the value, so
the row is searched for here, in Python, and only after Arrow has rejected the file.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from thalweg.engine.storage.json_lines import TO_TEXT, from_json, from_text
from thalweg.errors import InputError
from thalweg.ir.types import BOOL, FLOAT, INT, STR, AttributeType, TupleType
from thalweg.runtime.arrow_types import ARROW_TYPES, Misfit

_SHOWN = 60  # characters of a text in a message
_BOM = b"\xef\xbb\xbf"
_DECODER = json.JSONDecoder(parse_float=Decimal)
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
    line: int = 0  # counted from 1

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
        found=f"{fault.found} in row {fault.row}, line {fault.line}",
        hint=fault.hint or SKIPPING,
    )


SKIPPING = 'tw.files(…, on_error="skip") skips such rows, "dead_letter" sends them to a separate stream'


def text_fault(path: str, format: str, tuple_type: TupleType, live: Container[str]) -> Fault | None:
    """The first row of a text file that does not fit. Nulls matter only in live attributes. None: it is not known."""
    data = Path(path).read_bytes()
    faults = csv_faults(data, tuple_type, live) if format == "csv" else _json_faults(data, tuple_type, live)
    return next(faults, None)


def _json_faults(data: bytes, tuple_type: TupleType, live: Container[str]) -> Iterator[Fault]:
    row = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            fault = json_fault(line, tuple_type, live)
            if fault is not None:
                yield replace(fault, row=row, line=number)
            row += 1


def json_fault(line: bytes, tuple_type: TupleType, live: Container[str]) -> Fault | None:
    """Why a line of JSON is not a tuple; None: no reason is known."""
    text = line.removeprefix(_BOM).rstrip().decode(errors="surrogateescape")
    try:
        document = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        if "Inf" in text:  # Arrow takes more forms of infinity than Python
            return None
        what = error.msg.removesuffix(" at")
        return Fault(None, "a JSON object", f"{short(_visible(text.strip()))} ({what}, column {error.colno})")
    except (ValueError, RecursionError):  # thousands of digits, or of brackets
        return None
    if not isinstance(document, dict):
        return Fault(None, "a JSON object", short(_visible(text.strip())))
    converted = any(kind.boxed for _, kind in tuple_type.attributes)  # by Python, which reads only live attributes
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
            return Fault(name, misfit.expected, found, _may_be_missing(name, kind) if value is None else None)
    return None


def _may_be_missing(name: str, kind: AttributeType) -> str:
    return f"declare it as `{name}: {kind} | None` if it may be missing; {SKIPPING}"


def csv_faults(data: bytes, tuple_type: TupleType, live: Container[str]) -> Iterator[Fault]:
    """The rows of a CSV file that do not fit. A quoted field may have line breaks, so a row may have several lines."""
    text = data.removeprefix(_BOM).decode(errors="surrogateescape")
    records = csv.reader(io.StringIO(text, newline=""))
    header: list[str] | None = None
    row, end = 0, 0
    try:
        for fields in records:
            start, end = end + 1, records.line_num
            if not fields:  # Arrow ignores empty lines
                continue
            if header is None:
                header = fields
                continue
            fault = csv_fault(header, fields, tuple_type, live)
            if fault is not None:
                yield replace(fault, row=row, line=start)
            row += 1
    except csv.Error:  # a field of more than 128 KiB
        return


def csv_fault(
    header: Sequence[str], fields: Sequence[str], tuple_type: TupleType, live: Container[str]
) -> Fault | None:
    """Why a row of CSV is not a tuple; None: no reason is known."""
    if len(fields) != len(header):
        expected = f"{len(header)} columns ({short(', '.join(header))})"
        return Fault(None, expected, f"{len(fields)} columns ({short(_visible(','.join(fields)))})")
    for name, kind in tuple_type.attributes:
        if name not in header:
            continue
        text = fields[header.index(name)]
        if not text and kind.required is not STR:
            if not kind.optional and name in live:
                return Fault(name, f"{kind} in every row", "nothing", _may_be_missing(name, kind))
        elif not _text_fits(text, kind, used=name in live):
            expected = "str in UTF-8" if kind.required is STR else str(kind)
            return Fault(name, expected, repr(short(_visible(text))))
    return None


def _visible(text: str) -> str:
    return text.encode(errors="surrogateescape").decode(errors="replace")


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

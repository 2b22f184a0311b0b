"""Lines of a text file that are certainly not tuples, found in one pass.

Regular expressions describe the texts that Arrow certainly reads. The few lines that do not match are judged one by
one, in Python; lines about which Python is not certain are left to Arrow.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from thalweg.engine.inputs.text_faults import ACCEPTED, Fault, csv_fault, json_fault
from thalweg.engine.inputs.text_lines import TextLines
from thalweg.ir.types import BOOL, FLOAT, INT, STR, AttributeType, TupleType
from thalweg.runtime.columns import Array

_SPACE = r"[ \t\r]*"
_WHOLE = "-?(?:0|[1-9][0-9]{0,17})"
_NUMBER = _WHOLE + r"(?:\.[0-9]{1,17})?(?:[eE][-+]?[0-9]{1,2})?"
_TEXT = r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*"'
_JSON_VALUES = {INT: _WHOLE, FLOAT: _NUMBER, STR: _TEXT, BOOL: "true|false"}
_ANY_VALUE = rf"{_TEXT}|{_NUMBER}|true|false|null|\[{_SPACE}(?:{_NUMBER}(?:{_SPACE},{_SPACE}{_NUMBER})*)?{_SPACE}\]"
_SAMPLE = 20  # lines in which attributes are looked for that the type does not have


def suspect_lines(header: bytes, lines: TextLines, format: str, tuple_type: TupleType) -> Mapping[int, Fault | None]:
    """The lines that are bad, by index, and with None those that may be bad; all others are certainly read by Arrow."""
    return _csv_lines(header, lines, tuple_type) if format == "csv" else _json_lines(lines, tuple_type)


def _json_lines(lines: TextLines, tuple_type: TupleType) -> dict[int, Fault | None]:
    names = tuple_type.names
    unmatched = _unmatched(lines.texts, _json_pattern(lines.texts[:_SAMPLE].to_pylist(), tuple_type))
    return {
        row: json_fault(line, tuple_type, names) for row, line in zip(unmatched, lines.bare(unmatched), strict=True)
    }


def _json_pattern(first: Sequence[bytes], tuple_type: TupleType) -> str:
    """A pattern for objects with the declared attributes, in any order, and those that the first lines have as well."""
    fields = {name: f"{_JSON_VALUES[kind.required]}|null" for name, kind in tuple_type.attributes}
    for text in first:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            continue
        fields |= {name: _ANY_VALUE for name in document if name not in fields} if isinstance(document, dict) else {}
    field = "|".join(
        f"{re.escape(json.dumps(name, ensure_ascii=False))}{_SPACE}:{_SPACE}(?:{value})"
        for name, value in fields.items()
    )
    return rf"^{_SPACE}\{{{_SPACE}(?:{field})(?:{_SPACE},{_SPACE}(?:{field}))*{_SPACE}\}}{_SPACE}\n?$"


def _unmatched(lines: pa.LargeBinaryArray, pattern: str) -> list[int]:
    try:
        matches = pc.match_substring_regex(lines.cast(pa.large_string()), pattern=pattern)
    except pa.ArrowInvalid:  # not UTF-8
        lines = pa.array([text if _is_text(text) else b"" for text in lines.to_pylist()], pa.large_binary())
        matches = pc.match_substring_regex(lines.cast(pa.large_string()), pattern=pattern)
    return _indices(pc.invert(matches))


def _not_text(lines: pa.LargeBinaryArray | pa.ChunkedArray) -> list[int]:
    """The lines that are not UTF-8."""
    try:
        lines.cast(pa.large_string())
    except pa.ArrowInvalid:
        return [row for row, text in enumerate(lines.to_pylist()) if not _is_text(text)]
    return []


def _is_text(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _indices(mask: pa.Array | pa.ChunkedArray) -> list[int]:
    found: list[int] = np.flatnonzero(np.asarray(mask)).tolist()
    return found


def _csv_lines(header: bytes, lines: TextLines, tuple_type: TupleType) -> dict[int, Fault | None]:
    names, live = _fields(header), tuple_type.names
    if names is None or len(set(names)) < len(names):
        return dict.fromkeys(range(len(lines)))
    quoted = _with_quotes(lines)
    broken = [row for row, line in zip(quoted, lines.bare(quoted), strict=True) if _count(line) != len(names)]
    unusual = sorted({*broken, *_not_text(lines.texts)})
    regular = np.delete(np.arange(len(lines)), unusual)
    wrong = regular[_wrong_rows(names, lines.take(regular) if unusual else lines, tuple_type)].tolist()
    suspects = sorted([*unusual, *wrong])
    fields = zip(suspects, map(_fields, lines.bare(suspects)), strict=True)
    return {row: None if some is None else csv_fault(names, some, tuple_type, live) for row, some in fields}


def _with_quotes(lines: TextLines) -> list[int]:
    if not np.any(np.frombuffer(lines.joined(), np.uint8) == ord('"')):  # much faster than to search each line
        return []
    return _indices(pc.match_substring(lines.texts, '"'))


def _fields(line: bytes) -> list[str] | None:
    """The fields of a line; None: its quotes do not match."""
    text = line.rstrip(b"\r\n").decode(errors="surrogateescape")
    if '"' not in text:
        return text.split(",")
    try:
        return next(csv.reader([text], strict=True))
    except csv.Error:
        return None


def _count(line: bytes) -> int:
    return len(_fields(line) or ())


def _wrong_rows(names: Sequence[str], lines: TextLines, tuple_type: TupleType) -> Array:
    """The lines that do not have these columns, or have a value that Arrow may not convert."""
    columns = {str(names.index(name)): kind for name, kind in tuple_type.attributes if name in names}
    unequal: list[int] = []

    def note(row: pyarrow.csv.InvalidRow) -> str:
        unequal.append(row.number - 1)
        return "skip"

    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(lines.joined()),
            # Rows have numbers only without threads.
            read_options=pyarrow.csv.ReadOptions(use_threads=False, column_names=[str(i) for i in range(len(names))]),
            parse_options=pyarrow.csv.ParseOptions(invalid_row_handler=note),
            convert_options=pyarrow.csv.ConvertOptions(
                check_utf8=False, column_types=dict.fromkeys(columns, pa.string()), include_columns=list(columns)
            ),
        )
    except pa.ArrowException:
        return np.arange(0)
    if len(table) + len(unequal) != len(lines):  # a line break in quotes
        return np.arange(0)
    present = np.delete(np.arange(len(lines)), unequal)
    wrong = np.zeros(len(lines), np.bool_)
    wrong[unequal] = True
    for column, kind in columns.items():
        wrong[present[_may_be_rejected(table.column(column), kind)]] = True
    return np.flatnonzero(wrong)


def _may_be_rejected(column: pa.ChunkedArray, kind: AttributeType) -> list[int]:
    texts = column.cast(pa.binary())
    if kind.required not in ACCEPTED:
        return []  # every text is
    rest = np.arange(len(column))
    if kind.required is INT:  # a pattern takes much longer
        few_digits = pc.and_(pc.ascii_is_decimal(column), pc.less_equal(pc.binary_length(texts), 18))
        rest = np.flatnonzero(np.logical_not(np.asarray(few_digits)))
    elif kind.required is FLOAT:
        point = pc.equal(pc.ascii_trim(column, "0123456789"), ".")
        ends = pc.or_(pc.starts_with(texts, "."), pc.ends_with(texts, "."))
        few_digits = pc.and_(pc.and_not(point, ends), pc.less_equal(pc.binary_length(texts), 16))
        rest = np.flatnonzero(np.logical_not(np.asarray(few_digits)))
    elif kind.required is BOOL:
        known = pc.is_in(texts, value_set=pa.array([b"", b"true", b"false"]))
        rest = np.flatnonzero(np.logical_not(np.asarray(known)))
    pattern = f"^(?:{ACCEPTED[kind.required].pattern})?$"
    unmatched = _indices(pc.invert(pc.match_substring_regex(texts.take(pa.array(rest)), pattern=pattern)))
    found: list[int] = rest[unmatched].tolist()
    return found

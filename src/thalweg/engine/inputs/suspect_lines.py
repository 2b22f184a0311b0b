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
from thalweg.ir.types import BOOL, FLOAT, INT, STR, AttributeType, TupleType

_SPACE = r"[ \t\r]*"
_WHOLE = "-?(?:0|[1-9][0-9]{0,17})"
_NUMBER = _WHOLE + r"(?:\.[0-9]{1,17})?(?:[eE][-+]?[0-9]{1,2})?"
_TEXT = r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*"'
_JSON_VALUES = {INT: _WHOLE, FLOAT: _NUMBER, STR: _TEXT, BOOL: "true|false"}
_ANY_VALUE = rf"{_TEXT}|{_NUMBER}|true|false|null|\[{_SPACE}(?:{_NUMBER}(?:{_SPACE},{_SPACE}{_NUMBER})*)?{_SPACE}\]"
_SAMPLE = 20  # lines in which attributes are looked for that the type does not have


def suspect_lines(
    header: bytes, texts: Sequence[bytes], format: str, tuple_type: TupleType
) -> Mapping[int, Fault | None]:
    """The lines that are bad, by index, and with None those that may be bad; all others are certainly read by Arrow."""
    return _csv_lines(header, texts, tuple_type) if format == "csv" else _json_lines(texts, tuple_type)


def _json_lines(texts: Sequence[bytes], tuple_type: TupleType) -> dict[int, Fault | None]:
    unmatched = _unmatched(texts, _json_pattern(texts, tuple_type))
    return {row: json_fault(texts[row], tuple_type, tuple_type.names) for row in unmatched}


def _json_pattern(texts: Sequence[bytes], tuple_type: TupleType) -> str:
    """A pattern for objects with the declared attributes, in any order, and those that the first lines have as well."""
    fields = {name: f"{_JSON_VALUES[kind.required]}|null" for name, kind in tuple_type.attributes}
    for text in texts[:_SAMPLE]:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            continue
        fields |= {name: _ANY_VALUE for name in document if name not in fields} if isinstance(document, dict) else {}
    field = "|".join(
        f"{re.escape(json.dumps(name, ensure_ascii=False))}{_SPACE}:{_SPACE}(?:{value})"
        for name, value in fields.items()
    )
    return rf"^{_SPACE}\{{{_SPACE}(?:{field})(?:{_SPACE},{_SPACE}(?:{field}))*{_SPACE}\}}{_SPACE}$"


def _unmatched(texts: Sequence[bytes], pattern: str) -> list[int]:
    lines = pa.array(texts, pa.binary())
    try:
        matches = pc.match_substring_regex(lines.cast(pa.string()), pattern=pattern)
    except pa.ArrowInvalid:  # not UTF-8
        lines = pa.array([text if _is_text(text) else b"" for text in texts], pa.binary())
        matches = pc.match_substring_regex(lines.cast(pa.string()), pattern=pattern)
    return _indices(pc.invert(matches))


def _is_text(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _indices(mask: pa.Array | pa.ChunkedArray) -> list[int]:
    found: list[int] = np.flatnonzero(np.asarray(mask)).tolist()
    return found


def _csv_lines(header: bytes, texts: Sequence[bytes], tuple_type: TupleType) -> dict[int, Fault | None]:
    names = _fields(header)
    if names is None or len(set(names)) < len(names):
        return dict.fromkeys(range(len(texts)))
    lines = pa.array(texts, pa.binary())
    commas = pc.count_substring(lines, ",")
    odd = _indices(pc.or_(pc.not_equal(commas, len(names) - 1), pc.match_substring(lines, '"')))
    unusual = [row for row in odd if _column_count(texts[row]) != len(names)]
    regular = np.delete(np.arange(len(texts)), unusual).tolist()
    wrong = _wrong_values(names, [texts[r] for r in regular], tuple_type)
    return {row: _csv_line(names, texts[row], tuple_type) for row in (*unusual, *(regular[i] for i in wrong))}


def _csv_line(names: Sequence[str], text: bytes, tuple_type: TupleType) -> Fault | None:
    fields = _fields(text)
    return None if fields is None else csv_fault(names, fields, tuple_type, tuple_type.names)


def _fields(line: bytes) -> list[str] | None:
    """The fields of a line; None: its quotes do not match."""
    try:
        return next(csv.reader([line.rstrip(b"\r\n").decode(errors="surrogateescape")], strict=True), [])
    except csv.Error:
        return None


def _column_count(line: bytes) -> int | None:
    fields = _fields(line)
    return None if fields is None else len(fields)


def _wrong_values(names: Sequence[str], texts: Sequence[bytes], tuple_type: TupleType) -> list[int]:
    """The lines with a value that Arrow may not convert. All of them have these columns."""
    columns = {str(names.index(name)): kind for name, kind in tuple_type.attributes if name in names}
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(b"\n".join(texts) + b"\n"),
            read_options=pyarrow.csv.ReadOptions(column_names=[str(i) for i in range(len(names))]),
            convert_options=pyarrow.csv.ConvertOptions(
                check_utf8=False, column_types=dict.fromkeys(columns, pa.string()), include_columns=list(columns)
            ),
        )
    except pa.ArrowException:
        return []
    if len(table) != len(texts):  # a line break in quotes
        return []
    wrong = np.zeros(len(texts), np.bool_)
    for column, kind in columns.items():
        wrong[_may_be_rejected(table.column(column), kind)] = True
    return np.flatnonzero(wrong).tolist()


def _may_be_rejected(column: pa.ChunkedArray, kind: AttributeType) -> list[int]:
    texts = column.cast(pa.binary())
    if kind.required not in ACCEPTED:
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:  # not UTF-8
            return [row for row, text in enumerate(texts.to_pylist()) if not _is_text(text)]
        return []
    rest = np.arange(len(column))
    if kind.required is INT:  # a pattern takes much longer
        few_digits = pc.and_(pc.ascii_is_decimal(column), pc.less_equal(pc.binary_length(texts), 18))
        rest = np.flatnonzero(np.logical_not(np.asarray(few_digits)))
    elif kind.required is BOOL:
        known = pc.is_in(texts, value_set=pa.array([b"", b"true", b"false"]))
        rest = np.flatnonzero(np.logical_not(np.asarray(known)))
    pattern = f"^(?:{ACCEPTED[kind.required].pattern})?$"
    unmatched = _indices(pc.invert(pc.match_substring_regex(texts.take(pa.array(rest)), pattern=pattern)))
    found: list[int] = rest[unmatched].tolist()
    return found

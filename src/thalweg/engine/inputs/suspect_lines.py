"""Lines of a text file that are certainly not tuples, found in one pass.

Regular expressions describe the texts that Arrow certainly reads. The few lines that do not match are judged one by
one, in Python; lines about which Python is not certain are left to Arrow.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from thalweg.engine.inputs.text_faults import ACCEPTED, Fault, csv_fault, json_fault
from thalweg.engine.inputs.text_lines import BOM, TextLines
from thalweg.engine.inputs.text_tables import csv_nulls, fill_texts
from thalweg.ir.types import BOOL, FLOAT, INT, STR, AttributeType, TupleType
from thalweg.runtime.arrow_types import ARROW_TYPES
from thalweg.runtime.columns import Array

_SPACE = r"[ \t\r]*"
_WHOLE = "-?(?:0|[1-9][0-9]{0,17})"
_NUMBER = _WHOLE + r"(?:\.[0-9]{1,17})?(?:[eE][-+]?[0-9]{1,2})?"
_TEXT = r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*"'
_JSON_VALUES = {INT: _WHOLE, FLOAT: _NUMBER, STR: _TEXT, BOOL: "true|false"}
_ANY_VALUE = rf"{_TEXT}|{_NUMBER}|true|false|null|\[{_SPACE}(?:{_NUMBER}(?:{_SPACE},{_SPACE}{_NUMBER})*)?{_SPACE}\]"
_SAMPLE = 20  # lines in which attributes are looked for that the type does not have


@dataclass(frozen=True, slots=True)
class Suspects:
    """The lines that are bad, by index, and with None those that may be bad; all others are certainly read by Arrow."""

    faults: Mapping[int, Fault | None]
    others: pa.Table | None = None  # the declared attributes of all others, if the search has read them


def suspect_lines(header: bytes, lines: TextLines, format: str, tuple_type: TupleType) -> Suspects:
    return _csv_lines(header, lines, tuple_type) if format == "csv" else Suspects(_json_lines(lines, tuple_type))


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


def _csv_lines(header: bytes, lines: TextLines, tuple_type: TupleType) -> Suspects:
    names, live = _fields(header.removeprefix(BOM)), tuple_type.names  # Arrow's reader ignores the mark, too
    if names is None or len(set(names)) < len(names):
        return Suspects(dict.fromkeys(range(len(lines))))
    quoted = _with_quotes(lines)
    broken = [row for row, line in zip(quoted, lines.bare(quoted), strict=True) if _count(line) != len(names)]
    unusual = sorted({*broken, *_not_text(lines.texts)})
    regular = np.delete(np.arange(len(lines)), unusual)
    wrong, others = _read_texts(names, lines.take(regular) if unusual else lines, tuple_type)
    suspects = sorted([*unusual, *regular[wrong].tolist()])
    fields = zip(suspects, map(_fields, lines.bare(suspects)), strict=True)
    faults = {row: None if some is None else csv_fault(names, some, tuple_type, live) for row, some in fields}
    return Suspects(faults, others)


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


def _read_texts(names: Sequence[str], lines: TextLines, tuple_type: TupleType) -> tuple[Array, pa.Table | None]:
    """The lines that do not have these columns, or have a value that Arrow may not convert; and a table of all others,
    which is None if it is not known which lines its rows are."""
    declared = dict(tuple_type.attributes)
    kinds = {name: declared[name] for name in names if name in declared}
    unequal: list[int] = []

    def note(row: pyarrow.csv.InvalidRow) -> str:
        unequal.append(row.number - 1)
        return "skip"

    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(lines.joined()),
            # Rows have numbers only without threads.
            read_options=pyarrow.csv.ReadOptions(use_threads=False, column_names=list(names)),
            parse_options=pyarrow.csv.ParseOptions(invalid_row_handler=note),
            convert_options=csv_nulls(
                check_utf8=False, column_types=dict.fromkeys(kinds, pa.string()), include_columns=list(kinds)
            ),
        )
    except pa.ArrowException:
        return np.arange(0), None
    if len(table) + len(unequal) != len(lines):  # a line break in quotes
        return np.arange(0), None
    present = np.delete(np.arange(len(lines)), unequal)
    read = np.ones(len(table), np.bool_)
    for name, kind in kinds.items():
        read[_may_be_rejected(table.column(name), kind)] = False
    wrong = np.ones(len(lines), np.bool_)
    wrong[present[read]] = False
    return np.flatnonzero(wrong), _converted(table.filter(pa.array(read)), tuple_type)


def _converted(texts: pa.Table, tuple_type: TupleType) -> pa.Table:
    """Texts that Arrow certainly accepts as the values that its CSV reader makes of them."""
    types = {n: ARROW_TYPES[k.required] for n, k in tuple_type.attributes if k.required in ACCEPTED}
    fields = [(name, types.get(name, pa.string())) for name in texts.column_names]
    return fill_texts(texts.cast(pa.schema(fields)), tuple_type)


def _may_be_rejected(column: pa.ChunkedArray, kind: AttributeType) -> list[int]:
    texts = column.cast(pa.binary())
    if kind.required not in ACCEPTED:
        return []  # every text is
    if kind.required is INT:  # a pattern takes much longer
        accepted = pc.and_(pc.ascii_is_decimal(column), pc.less_equal(pc.binary_length(texts), 18))
    elif kind.required is FLOAT:
        point = pc.equal(pc.ascii_trim(column, "0123456789"), ".")
        ends = pc.or_(pc.starts_with(texts, "."), pc.ends_with(texts, "."))
        accepted = pc.and_(pc.and_not(point, ends), pc.less_equal(pc.binary_length(texts), 16))
    else:
        accepted = pc.is_in(texts, value_set=pa.array([b"true", b"false", None]))
    rest = np.flatnonzero(np.logical_not(np.asarray(pc.fill_null(accepted, True))))
    pattern = f"^(?:{ACCEPTED[kind.required].pattern})$"
    unmatched = _indices(pc.invert(pc.match_substring_regex(texts.take(pa.array(rest)), pattern=pattern)))
    found: list[int] = rest[unmatched].tolist()
    return found

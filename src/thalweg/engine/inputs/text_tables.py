"""Text files, CSV and JSON lines, as Arrow tables."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from thalweg.engine.storage.json_lines import TO_TEXT
from thalweg.ir.types import STR, TupleType
from thalweg.runtime.arrow_types import ARROW_TYPES

_BLOCK, _LARGEST_BLOCK = 1 << 20, (1 << 31) - 1  # bytes
_NULL_AT_START = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*null")
_NULL_LINE = re.compile(rb"[\n\r][ \t]*null")


def parse_text(source: str | bytes, format: str, tuple_type: TupleType | None) -> pa.Table:
    """The table of a file with this path, or with these bytes; raises Arrow's errors. Without a tuple type, types are
    inferred. JSON attributes that the type does not have are not read, so each row may have others, of any
    type."""
    kinds = {} if tuple_type is None else {n: k.required for n, k in tuple_type.attributes}
    types = {n: pa.string() if k in TO_TEXT else ARROW_TYPES[k] for n, k in kinds.items()}
    if format != "csv":
        schema = pa.schema(list(types.items()))
        options = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        data = Path(source).read_bytes() if isinstance(source, str) else source
        if _has_null_line(data):
            raise pa.ArrowInvalid("a line is null, not an object")
        table = _in_blocks(
            data,
            lambda block: pyarrow.json.read_json(
                pa.BufferReader(data),
                read_options=pyarrow.json.ReadOptions(block_size=block),
                parse_options=options,
            ),
        )
        for name, kind in kinds.items():
            if kind is STR:
                table.column(name).validate(full=True)  # Arrow's reader of JSON takes any bytes as text
        return table
    # Not by path: Arrow would decompress a file that is called .gz, and rows and lines are those of the file as it is.
    table = _read_csv(Path(source).read_bytes() if isinstance(source, str) else source, types)
    try:
        table.schema.names  # noqa: B018 (decodes them)
    except UnicodeDecodeError as error:
        raise pa.ArrowInvalid(f"the header is not in UTF-8 ({error})") from None
    return table if tuple_type is None else fill_texts(table, tuple_type)


def _read_csv(data: bytes, types: dict[str, pa.DataType]) -> pa.Table:
    quoted = b'"' in data  # then a row may have several lines, which must be in one block
    if quoted and ends_in_quotes(data):
        raise pa.ArrowInvalid("a quote that begins a field is not closed")
    return _in_blocks(
        data,
        lambda block: pyarrow.csv.read_csv(
            pa.BufferReader(data),
            read_options=pyarrow.csv.ReadOptions(block_size=block),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=quoted),
            convert_options=csv_nulls(column_types=types),
        ),
    )


def _in_blocks(data: bytes, read: Callable[[int], pa.Table]) -> pa.Table:
    """Read in blocks or, if a row is longer than one, all at once."""
    try:
        return read(_BLOCK)
    except pa.ArrowInvalid as error:
        if "straddl" not in str(error) or len(data) <= _BLOCK:
            raise
    return read(min(len(data) + 1, _LARGEST_BLOCK))


def ends_in_quotes(data: bytes) -> bool:
    """Whether the last field begins with a quote that is not closed. Arrow would make all rows after it one text."""
    if data.count(b'"') % 2 == 0:
        return False
    text = data.decode(errors="surrogateescape").removeprefix("\ufeff")
    limit = csv.field_size_limit(sys.maxsize)
    try:
        last = deque(csv.reader(io.StringIO(f"{text}\n.", newline="")), maxlen=1)
    except csv.Error:
        return False
    finally:
        csv.field_size_limit(limit)
    return list(last) != [["."]]


def csv_nulls(**options: Any) -> pyarrow.csv.ConvertOptions:
    """Only an empty field is a null: "nan" is a float, and "NA" is not a valid number."""
    return pyarrow.csv.ConvertOptions(
        strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""], **options
    )


def fill_texts(table: pa.Table, tuple_type: TupleType) -> pa.Table:
    """A str is never null; a `str | None` is "" only if quoted, and None otherwise."""
    for name, kind in tuple_type.attributes:
        if kind is STR and table.column_names.count(name) == 1:
            table = table.set_column(table.column_names.index(name), name, table.column(name).fill_null(""))
    return table


def _has_null_line(data: bytes) -> bool:
    """Whether a line starts with null. If this is the first line of a block, Arrow's reader ends the process
    (https://github.com/apache/arrow/issues/47409)."""
    return b"null" in data and (_NULL_AT_START.match(data) is not None or _NULL_LINE.search(data) is not None)

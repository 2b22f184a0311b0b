"""Files of JSON lines. The text form of the attribute types is in `ir/attribute_text.py`."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from thalweg.ir.attribute_text import TO_TEXT as TO_TEXT
from thalweg.ir.attribute_text import from_json as from_json
from thalweg.ir.attribute_text import from_text as from_text
from thalweg.ir.attribute_text import to_json as to_json


def decode_line(line: bytes) -> str:
    """A line as text; bytes that are not UTF-8 matter only in attributes that are read, and no tuple can hold them."""
    return line.removeprefix(_BOM).decode(errors="surrogateescape")


def load_json(line: bytes) -> Any:
    """A line of JSON, with its fractions as Decimals; so are ints with more digits than Python converts. ValueError if
    it is invalid."""
    try:
        return _DECODER.decode(decode_line(line))
    except RecursionError:
        raise ValueError("too many nested brackets") from None


def _whole_number(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= _MOST_DIGITS else Decimal(digits)


_MOST_DIGITS = 1_000
_DECODER = json.JSONDecoder(parse_float=Decimal, parse_int=_whole_number)
_BOM = b"\xef\xbb\xbf"


def json_rows(path: str) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines. ValueError, with the line number, if a line is invalid."""
    rows = []
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = load_json(line)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
            if not isinstance(row, dict):
                raise ValueError(f"line {number} is not an object")
            rows.append(row)
    return rows


def count_json_rows(path: str) -> int:
    with open(path, "rb") as file:
        return sum(1 for line in file if line.strip())

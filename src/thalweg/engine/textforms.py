"""Attribute types in text files: CSV fields and JSON values.

bytes are base64, dates and datetimes ISO 8601 (with the offset, where there is a zone), Decimals their digits. In JSON
a nested tuple is an object and a list an array; a Decimal is written as a string, and read from a number, too.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from thalweg.engine.filetypes import Misfit
from thalweg.ir.types import BYTES, DATE, DATETIME, DECIMAL, FLOAT, AttributeType, conform

TO_TEXT: Mapping[AttributeType, Callable[[Any], str]] = {
    BYTES: lambda value: base64.b64encode(value).decode(),
    DATETIME: datetime.isoformat,
    DATE: date.isoformat,
    DECIMAL: str,
}
_FROM_TEXT: Mapping[AttributeType, Callable[[str], Any]] = {
    BYTES: lambda text: base64.b64decode(text, validate=True),
    DATETIME: datetime.fromisoformat,
    DATE: date.fromisoformat,
    DECIMAL: Decimal,
}


def from_text(text: str | None, kind: AttributeType) -> Any:
    """The value of a CSV field of one of these types."""
    if text is None:
        if not kind.optional:
            raise Misfit(f"{kind} in every row", "nothing")
        return None
    try:
        return conform(_FROM_TEXT[kind.required](text), kind)
    except (ValueError, ArithmeticError, TypeError):
        raise Misfit(str(kind), repr(text)) from None


def to_json(value: Any, kind: AttributeType) -> Any:
    """A carried value as `json.dumps` takes it."""
    kind = kind.required
    if value is None:
        return None
    if kind.fields is not None:
        return {n: to_json(v, k) for (n, k), v in zip(kind.fields.attributes, value, strict=True)}
    if kind.item is not None:
        return [to_json(v, kind.item) for v in value]
    return TO_TEXT[kind](value) if kind in TO_TEXT else value


def from_json(value: Any, kind: AttributeType, path: str) -> Any:
    """A parsed JSON value (its fractions as Decimals) as this type; the path is named where it does not fit."""
    inner = kind.required
    if value is None:
        if not kind.optional:
            raise Misfit(f"{kind} in every row", f"nothing at {path}")
        return None
    if inner.fields is not None and isinstance(value, dict):
        return tuple(from_json(value.get(n), k, f"{path}.{n}") for n, k in inner.fields.attributes)
    if inner.item is not None and isinstance(value, list):
        return tuple(from_json(v, inner.item, f"{path}[{i}]") for i, v in enumerate(value))
    try:
        return conform(_json_scalar(value, inner), inner)
    except (ValueError, ArithmeticError, TypeError):
        raise Misfit(str(kind), f"{_shown(value)} at {path}") from None


def _json_scalar(value: Any, kind: AttributeType) -> Any:
    if isinstance(value, str) and kind in _FROM_TEXT:
        return _FROM_TEXT[kind](value)
    if isinstance(value, Decimal) and kind is FLOAT:
        return float(value)
    if type(value) is int and kind is DECIMAL:
        return Decimal(value)
    return value


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, Decimal) else repr(value)


def json_rows(path: str) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines. ValueError, with the line, where one cannot be read."""
    rows = []
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line, parse_float=Decimal)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
            if not isinstance(row, dict):
                raise ValueError(f"line {number} is no object")
            rows.append(row)
    return rows


def count_json_rows(path: str) -> int:
    with open(path, "rb") as file:
        return sum(1 for line in file if line.strip())

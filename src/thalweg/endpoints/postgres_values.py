"""Attribute values as PostgreSQL takes them.

A datetime with a zone is its instant, one without is taken as UTC; sent with the offset +00, both are right in a column
with a zone (the instant) and in one without (the clock in UTC, as in files). Lists and nested tuples are JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from thalweg.engine.storage.json_lines import to_json
from thalweg.errors import OutputError
from thalweg.ir.operators import Sink
from thalweg.ir.types import DATETIME, STR, AttributeType


def to_postgres(sink: Sink, name: str, kind: AttributeType, values: Sequence[Any]) -> Sequence[Any]:
    """A column of carried values, ready for COPY; an OutputError names the row that does not fit."""
    convert = _json if kind.composite else _CONVERT.get(kind.required)
    if convert is None:
        return values
    done: list[Any] = []
    for row, value in enumerate(values):
        try:
            done.append(None if value is None else convert(value, kind))
        except (ValueError, OverflowError) as error:
            raise OutputError(
                f"attribute {name} does not fit into PostgreSQL",
                operator=sink.name,
                where=sink.where,
                expected=str(error),
                found=f"{value!r} in row {row} of the epoch",
            ) from None
    return done


def _text(value: str, kind: AttributeType) -> str:
    if "\0" in value:
        raise ValueError("text without the character NUL")
    return value


def _instant(value: datetime, kind: AttributeType) -> datetime:
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise OverflowError("an instant in the years 1 to 9999 of UTC") from None


def _json(value: Any, kind: AttributeType) -> str:
    return _text(json.dumps(_finite(to_json(value, kind)), ensure_ascii=False, allow_nan=False), kind)


def _finite(value: Any) -> Any:
    """JSON has no NaN: as PostgreSQL's own to_jsonb does, it is written as a string. Nor may a string have a NUL."""
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case str():
            return _text(value, STR)
        case list():
            return [_finite(v) for v in value]
        case dict():
            return {name: _finite(v) for name, v in value.items()}
    return value


_CONVERT: Mapping[AttributeType, Callable[[Any, AttributeType], Any]] = {STR: _text, DATETIME: _instant}

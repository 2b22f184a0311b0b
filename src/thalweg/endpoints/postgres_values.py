"""Attribute values as PostgreSQL accepts them.

A datetime with a zone is converted to UTC, one without is taken as UTC; sent with the offset +00, both are right in a
column with a zone (the instant) and in one without (the time in UTC, as in files). Lists and nested tuples are JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from thalweg.errors import OutputError
from thalweg.ir.attribute_text import finite_json
from thalweg.ir.operators import Sink
from thalweg.ir.types import DATETIME, STR, AttributeType


def to_postgres(sink: Sink, name: str, kind: AttributeType, values: Sequence[Any]) -> Sequence[Any]:
    """A column of values, ready for COPY; an OutputError names the row that does not fit."""
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
    return finite_json(value, kind, lambda text: _text(text, kind))


_CONVERT: Mapping[AttributeType, Callable[[Any, AttributeType], Any]] = {STR: _text, DATETIME: _instant}

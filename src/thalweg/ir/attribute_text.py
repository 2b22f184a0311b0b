"""Attribute types as text: CSV fields and JSON values.

bytes are base64, dates and datetimes ISO 8601 (with the offset, where there is a zone), Decimals their digits. In JSON
a nested tuple is an object and a list an array; a Decimal is written as a string, and read from a number, too.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from thalweg.ir.types import BYTES, DATE, DATETIME, DECIMAL, FLOAT, AttributeType, TupleType, conform


class Misfit(Exception):
    """A value, or with `whole` a column, does not fit its type. `row`: its index in the column."""

    def __init__(
        self, expected: str, found: str, *, whole: bool = False, row: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(f"expected {expected}, found {found}")
        self.expected, self.found, self.whole, self.row, self.hint = expected, found, whole, row, hint


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


def finite_json(value: Any, kind: AttributeType, check: Callable[[str], str] = str) -> str:
    """A carried value as standard JSON, which has no NaN: as PostgreSQL's to_jsonb does, it is written as a string.
    `check` sees every string."""
    return json.dumps(_finite(to_json(value, kind), check), ensure_ascii=False, allow_nan=False)


def _finite(value: Any, check: Callable[[str], str]) -> Any:
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case str():
            return check(value)
        case list():
            return [_finite(v, check) for v in value]
        case dict():
            return {name: _finite(v, check) for name, v in value.items()}
    return value


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


def json_values(document: object, tuple_type: TupleType) -> tuple[Any, ...]:
    """The values of a parsed JSON object. Attributes that the type does not have are ignored, as in a file."""
    if not isinstance(document, dict):
        raise ValueError("expected a JSON object")
    return tuple(_value(document, name, kind) for name, kind in tuple_type.attributes)


def parse_json(text: str | bytes, tuple_type: TupleType) -> Any:
    """The parsed JSON text; fractions keep all their digits if a type may need them."""
    return json.loads(text, parse_float=Decimal if any(k.boxed for _, k in tuple_type.attributes) else float)


def _value(document: Mapping[str, Any], name: str, kind: AttributeType) -> Any:
    if name not in document and not kind.optional:
        raise ValueError(f"{name} is missing")
    return json_value(document.get(name), name, kind)


def json_value(value: Any, name: str, kind: AttributeType) -> Any:
    """A parsed JSON value as one of this type; a ValueError names the attribute that does not fit."""
    if kind.boxed or isinstance(value, Decimal):
        return named(name, lambda: from_json(value, kind, name))
    return named(name, lambda: conform(value, kind))


def named(name: str, make: Callable[[], Any]) -> Any:
    """The result of `make`; an error that it raises is reported with the attribute's name."""
    try:
        return make()
    except Misfit as misfit:
        raise ValueError(f"{name}: expected {misfit.expected}, found {misfit.found}") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name}: {error}") from None

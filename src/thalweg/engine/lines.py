"""Lines of text as tuples, and tuples as lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from typing import Any

from thalweg.ir.types import BOOL, FLOAT, INT, STR, AttributeType, TupleType, conform

Values = tuple[Any, ...]
LineParser = Callable[[str], Values | None]

_BOOLS = {"true": True, "false": False}


def _bool(field: str) -> bool:
    found = _BOOLS.get(field.lower())
    if found is None:
        raise ValueError(f"expected true or false, found {field!r}")
    return found


FIELD_PARSERS: Mapping[AttributeType, Callable[[str], Any]] = {INT: int, FLOAT: float, STR: str, BOOL: _bool}


def line_parser(format: str, tuple_type: TupleType) -> LineParser:
    """From a line to the values of a tuple; None for an empty line, which only as text is a tuple."""
    if format == "text":
        return lambda line: (line,)
    parse = _json_values if format == "jsonl" else _csv_values
    return lambda line: parse(line, tuple_type) if line.strip() else None


def _json_values(line: str, tuple_type: TupleType) -> Values:
    """Other attributes than those of the type may be there: they are left out, as in a file."""
    document = json.loads(line)
    if not isinstance(document, dict):
        raise ValueError("expected a JSON object")
    return tuple(_value(document, name, kind) for name, kind in tuple_type.attributes)


def _value(document: Mapping[str, Any], name: str, kind: AttributeType) -> Any:
    if name not in document:
        raise ValueError(f"{name} is missing")
    return _named(name, lambda: conform(document[name], kind))


def _csv_values(line: str, tuple_type: TupleType) -> Values:
    try:
        fields = next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise ValueError(str(error)) from None
    if len(fields) != len(tuple_type.attributes):
        raise ValueError(f"expected {len(tuple_type.attributes)} fields, found {len(fields)}")
    return tuple(
        _named(name, lambda: conform(FIELD_PARSERS[kind](field), kind))
        for (name, kind), field in zip(tuple_type.attributes, fields, strict=True)
    )


def _named(name: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name}: {error}") from None


def json_line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, ensure_ascii=False).encode() + b"\n"

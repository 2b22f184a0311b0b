"""Conversion between lines of text and tuples."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from thalweg.ir.attribute_text import from_text, json_values, named, parse_json, to_json
from thalweg.ir.types import BOOL, FLOAT, INT, STR, AttributeType, TupleType, conform
from thalweg.runtime.columns import to_list
from thalweg.runtime.frame import Frame

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
    """A function from a line to the values of a tuple. It returns None for an empty line, except in the format text."""
    if format == "text":
        return lambda line: (line,)
    parse = _json_values if format == "jsonl" else _csv_values
    return lambda line: parse(line, tuple_type) if line.strip() else None


def _json_values(line: str, tuple_type: TupleType) -> Values:
    return json_values(parse_json(line, tuple_type), tuple_type)


def _csv_values(line: str, tuple_type: TupleType) -> Values:
    try:
        fields = next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise ValueError(str(error)) from None
    if len(fields) != len(tuple_type.attributes):
        raise ValueError(f"expected {len(tuple_type.attributes)} fields, found {len(fields)}")
    return tuple(
        named(name, lambda: _field(field, kind))
        for (name, kind), field in zip(tuple_type.attributes, fields, strict=True)
    )


def _field(field: str, kind: AttributeType) -> Any:
    """The value of a CSV field; an empty field of an optional attribute is None."""
    if kind.optional and field == "":
        return None
    if kind.required in FIELD_PARSERS:
        return conform(FIELD_PARSERS[kind.required](field), kind)
    return from_text(field, kind)


def json_rows_of(frame: Frame, tuple_type: TupleType) -> Iterator[dict[str, Any]]:
    """The tuples of a frame as arguments of `json_line`."""
    columns = [
        [to_json(v, kind) for v in to_list(frame.columns[name])] if kind.boxed else to_list(frame.columns[name])
        for name, kind in tuple_type.attributes
    ]
    return (dict(zip(tuple_type.names, values, strict=True)) for values in zip(*columns, strict=True))


def json_line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, ensure_ascii=False).encode() + b"\n"

"""Columns of Python values from files. A Misfit names the row that does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from thalweg.engine.storage.json_lines import TO_TEXT, from_json, from_text
from thalweg.ir.types import AttributeType
from thalweg.runtime.arrow_types import Misfit, file_values
from thalweg.runtime.columns import Array, Column, from_values, objects


def json_column(rows: Sequence[Mapping[str, Any]], name: str, kind: AttributeType) -> Column:
    """One attribute of parsed JSON lines."""
    values = (row.get(name) for row in rows)
    return from_values(_converted(values, lambda value: from_json(value, kind, name)), kind)


def boxed_column(column: pa.ChunkedArray, kind: AttributeType, *, text: bool) -> Array:
    """An Arrow column as Python values; `text`: from a file in which every value is text."""
    if text and kind.required in TO_TEXT:
        return objects(_converted(column.to_pylist(), lambda field: from_text(field, kind)))
    try:
        return objects(file_values(column, kind))
    except Misfit as misfit:
        if misfit.whole:
            raise
    ones = (column.slice(row, 1) for row in range(len(column)))
    return objects(_converted(ones, lambda one: file_values(one, kind)[0]))


def json_misfits(rows: Sequence[Mapping[str, Any]], name: str, kind: AttributeType) -> list[tuple[int, Misfit]]:
    """The rows in which the attribute does not fit."""
    return _misfits((row.get(name) for row in rows), lambda value: from_json(value, kind, name))


def text_misfits(column: pa.ChunkedArray, kind: AttributeType) -> list[tuple[int, Misfit]]:
    """The rows of a column of texts that do not fit."""
    return _misfits(column.to_pylist(), lambda field: from_text(field, kind))


def _misfits(values: Iterable[Any], convert: Callable[[Any], Any]) -> list[tuple[int, Misfit]]:
    found: list[tuple[int, Misfit]] = []
    for row, value in enumerate(values):
        try:
            convert(value)
        except Misfit as misfit:
            found.append((row, misfit))
    return found


def _converted(values: Iterable[Any], convert: Callable[[Any], Any]) -> list[Any]:
    done: list[Any] = []
    for row, value in enumerate(values):
        try:
            done.append(convert(value))
        except Misfit as misfit:
            raise Misfit(misfit.expected, misfit.found, row=row) from None
    return done

"""Find the invalid rows of a file, row by row.

A row is checked against all attributes of its type, whether or not they are read: otherwise the plan, which decides
what is read, would also decide which rows are bad.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from thalweg.engine.inputs.boxed_columns import boxed_column, json_column, json_misfits, text_misfits
from thalweg.engine.inputs.text_lines import TextLines
from thalweg.engine.storage.json_lines import TO_TEXT
from thalweg.ir.types import AttributeType, TupleType
from thalweg.runtime.arrow_types import Misfit, one_column, plain_values
from thalweg.runtime.columns import Array, Column, from_arrow


class Bad(NamedTuple):
    """Invalid rows start..stop of a file: one line, or all rows of a part that cannot be read."""

    start: int
    stop: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a file: its valid rows and its bad ones."""

    rows: ReadableRows | None
    bad: tuple[Bad, ...]


class ReadableRows(Protocol):
    """Rows that could be read, although their values may not fit the type."""

    @property
    def at(self) -> Array:
        """The row numbers in the file."""

    def column(self, name: str, kind: AttributeType, start: int, stop: int) -> Column:
        """An attribute of rows start..stop; raises Misfit if a value does not fit."""

    def misfits(self, name: str, kind: AttributeType) -> Iterable[tuple[int, Misfit]]:
        """The values of an attribute that do not fit, by index."""

    def nulls(self, name: str) -> Array:
        """A mask of the rows without a value for this attribute."""

    def take(self, kept: Array) -> ReadableRows: ...

    def texts(self, indices: Sequence[int]) -> list[str]:
        """Rows as the user finds them in the file."""

    def place(self, index: int) -> str:
        """The place of a row in the file, as a prefix of a reason."""


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of an Arrow table."""

    table: pa.Table
    at: Array
    lines: TextLines | None = None
    csv: bool = False

    def column(self, name: str, kind: AttributeType, start: int, stop: int) -> Column:
        column = one_column(self.table, name, kind).slice(start, stop - start)
        if kind.boxed:
            return boxed_column(column, kind, text=self.csv)
        return from_arrow(plain_values(column, kind))

    def misfits(self, name: str, kind: AttributeType) -> Iterable[tuple[int, Misfit]]:
        if self.csv and kind.boxed and kind.required in TO_TEXT:
            return text_misfits(one_column(self.table, name, kind), kind)
        return _halved(len(self.at), lambda start, stop: self.column(name, kind, start, stop))

    def nulls(self, name: str) -> Array:
        column = self.table.column(name)
        found: Array = np.asarray(column.is_null().to_numpy(zero_copy_only=False), np.bool_)
        return found

    def take(self, kept: Array) -> TableRows:
        return TableRows(self.table.take(pa.array(kept)), self.at[kept], self.lines, self.csv)

    def texts(self, indices: Sequence[int]) -> list[str]:
        if self.lines is not None:
            return self.lines.shown(self.at[np.asarray(indices, np.int64)].tolist())
        names, some = self.table.column_names, self.table.take(pa.array(indices, pa.int64()))
        values = zip(*(_shown(column) for column in some.columns), strict=True)
        return [", ".join(map("=".join, zip(names, row, strict=True))) for row in values]

    def place(self, index: int) -> str:
        return "" if self.lines is None else self.lines.place(int(self.at[index]))


def _shown(column: pa.ChunkedArray) -> list[str]:
    try:
        return [repr(value) for value in column.to_pylist()]
    except (ValueError, OverflowError, pa.ArrowException):  # a date in the year 30000 has no Python value
        return (
            [_shown(column.slice(row, 1))[0] for row in range(len(column))] if len(column) > 1 else [f"<{column.type}>"]
        )


@dataclass(frozen=True, slots=True)
class JsonRows:
    """The objects of JSON lines, parsed by Python."""

    rows: Sequence[Mapping[str, Any]]
    at: Array
    lines: TextLines

    def column(self, name: str, kind: AttributeType, start: int, stop: int) -> Column:
        return json_column(self.rows[start:stop], name, kind)

    def misfits(self, name: str, kind: AttributeType) -> Iterable[tuple[int, Misfit]]:
        return json_misfits(self.rows, name, kind)

    def nulls(self, name: str) -> Array:
        return np.array([row.get(name) is None for row in self.rows], np.bool_)

    def take(self, kept: Array) -> JsonRows:
        return JsonRows([self.rows[i] for i in kept.tolist()], self.at[kept], self.lines)

    def texts(self, indices: Sequence[int]) -> list[str]:
        return self.lines.shown(self.at[np.asarray(indices, np.int64)].tolist())

    def place(self, index: int) -> str:
        return self.lines.place(int(self.at[index]))


def whole_misfit(rows: ReadableRows, tuple_type: TupleType) -> str | None:
    """The reason why no row can be valid: an attribute is missing, or its column has the wrong type. Otherwise None."""
    for name, kind in tuple_type.attributes:
        try:
            rows.column(name, kind, 0, 0)
        except Misfit as misfit:
            return _reason(name, misfit)
    return None


def unreadable(start: int, stop: int, reason: str, text: str = "") -> FilePart:
    return FilePart(None, (Bad(start, stop, text, reason),))


def check_rows(rows: ReadableRows, bad: Sequence[Bad], tuple_type: TupleType) -> FilePart:
    """The valid rows; the invalid ones in addition to those that could not be read."""
    reasons: dict[int, str] = {}
    left = np.ones(len(rows.at), np.bool_)
    for name, kind in tuple_type.attributes:  # the most common fault first: bisection is slow if many are missing
        if not kind.optional:
            missing = rows.nulls(name) & left
            if not missing.any():
                continue
            reason = f"{name}: expected {kind} in every row, found nothing"
            reasons |= dict.fromkeys(np.flatnonzero(missing).tolist(), reason)
            left &= ~missing
    present, some = np.arange(len(left)), rows
    for name, kind in tuple_type.attributes:
        if np.count_nonzero(left) < len(present):
            present = np.flatnonzero(left)
            some = rows.take(present)
        for index, misfit in some.misfits(name, kind):
            reasons[int(present[index])] = _reason(name, misfit)
            left[present[index]] = False
    found = sorted(reasons)
    misfits = [
        Bad(at, at + 1, text, rows.place(i) + reasons[i])
        for i, at, text in zip(found, rows.at[found].tolist(), rows.texts(found), strict=True)
    ]
    together = sorted([*bad, *misfits], key=lambda one: one.start)
    valid = some if np.count_nonzero(left) == len(present) else rows.take(np.flatnonzero(left))
    return FilePart(valid, tuple(together))


def _reason(name: str, misfit: Misfit) -> str:
    return f"{name}: expected {misfit.expected}, found {misfit.found}"


def _halved(count: int, make: Callable[[int, int], object]) -> Iterator[tuple[int, Misfit]]:
    """The single values that do not fit, found by bisection: Arrow converts a column as a whole."""
    spans = [(0, count)] if count else []
    while spans:
        start, stop = spans.pop()
        try:
            make(start, stop)
        except Misfit as misfit:
            if stop - start == 1:
                yield start, misfit
            else:
                middle = (start + stop) // 2
                spans += [(middle, stop), (start, middle)]

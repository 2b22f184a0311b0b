"""User functions on batches, in Arrow or in Polars.

A batch has the Arrow types of the declared types, whatever values it holds, so what the function sees of a row does not
depend on the other rows of the batch. Properties that Arrow cannot store per value are made uniform: Decimals have 18
digits after the decimal point, datetimes with a time zone are instants in UTC. Both equal the original values.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.ir.failed_rows import FailedRows
from thalweg.ir.operators import MapBatches
from thalweg.ir.types import DATETIME, DECIMAL, STR, AttributeType, TupleType
from thalweg.runtime.arrow_types import ARROW_TYPES, Misfit, array_of, arrow_type, distinct, file_values, plain_values
from thalweg.runtime.columns import Array, Column, concat, from_arrow, objects, to_arrow, to_list
from thalweg.runtime.frame import Frame


class _MixedZones(TypeError):
    """One column cannot hold datetimes with and without a time zone."""


def apply(operator: MapBatches, frame: Frame, tuple_type: TupleType) -> dict[str, Column]:
    """The columns that the function computes from a frame's columns: as many rows, of the declared types."""
    try:
        batch = _batch(frame, tuple_type)
    except _MixedZones as mixed:
        if len(frame) == 1:
            raise
        try:
            parts = [apply(operator, frame.window(row, row + 1), tuple_type) for row in range(len(frame))]
        except FailedRows:  # it names a row of a part
            raise mixed from None
        return {name: concat([part[name] for part in parts]) for name in operator.outputs[0].names}
    return _columns(operator, _called(operator, batch))


OnFailures = Callable[[list[int], BaseException], bool]


class Slices:
    """Slices of a frame that are passed to the function one after the other, to find the rows on which it fails.

    A call takes much longer than a row, so the batch is made once, and the columns of all results together where their
    types allow it. `failed`: called with rows that fail with an error; returns whether to continue.
    """

    def __init__(self, operator: MapBatches, frame: Frame, tuple_type: TupleType, failed: OnFailures) -> None:
        self.operator, self.frame, self.tuple_type, self.failed = operator, frame, tuple_type, failed
        boxed = any(tuple_type.kind(name).boxed for name in frame.columns)
        self._batch = None if boxed else _batch(frame, tuple_type)
        self._types = {n: None if kind.boxed else ARROW_TYPES[kind] for n, kind in operator.outputs[0].attributes}
        self._made: list[dict[str, Column] | pa.Table] = []
        self._done: list[Array] = []
        self._ended = False

    def split(self, rows: Array, error: BaseException) -> None:
        """Process the rows that do not fail, of a slice with which the function raised an error."""
        if isinstance(error, FailedRows) and (named := error.inside(len(rows))):
            self._without(rows, named, error)
        elif len(rows) > 1:
            self._halve(rows)
        else:
            self._failed(rows, error)

    def _failed(self, rows: Array, error: BaseException) -> None:
        if not self._ended:
            self._ended = not self.failed(rows.tolist(), error)

    def _without(self, rows: Array, named: list[int], error: FailedRows) -> None:
        """Process the rows that the function has not named. Those before the first one come first: if one of them
        fails, too, it is the first failure."""
        first = named[0]
        self._call(rows[:first])
        for indices, reason in error.by_reason():
            self._failed(rows[indices], reason)
        self._call(np.delete(rows, named)[first:])

    def _halve(self, rows: Array) -> None:
        """Find the failing rows of a slice that fails. If it is not the first half that fails, it is the second."""
        middle = len(rows) // 2
        if self._call(rows[:middle]) and len(rows) - middle > 1:
            self._halve(rows[middle:])
        else:
            self._call(rows[middle:])

    def _call(self, rows: Array) -> bool:
        """Process a slice; returns whether it did not fail."""
        if self._ended or not len(rows):
            return False
        try:
            self._made.append(self._called(rows))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.split(rows, error)
            return False
        self._done.append(rows)
        return True

    def _called(self, rows: Array) -> dict[str, Column] | pa.Table:
        start, count = int(rows[0]), len(rows)
        together = int(rows[-1]) == start + count - 1
        if self._batch is None:
            frame = self.frame.window(start, start + count) if together else self.frame.take(rows)
            return apply(self.operator, frame, self.tuple_type)
        table = _called(self.operator, self._batch.slice(start, count) if together else self._batch.take(rows))
        exact = all(table.column(n).type == kind and not table.column(n).null_count for n, kind in self._types.items())
        return table if exact else _columns(self.operator, table)

    @property
    def rows(self) -> Array:
        """The rows that have results."""
        return np.concatenate([np.arange(0), *self._done])

    def columns(self) -> dict[str, Column]:
        """The results of all calls that did not fail, at least one."""
        parts: list[dict[str, Column]] = []
        for kind, group in groupby(self._made, type):
            made = list(group)
            parts += [_columns(self.operator, pa.concat_tables(made))] if kind is pa.Table else made
        return {name: concat([part[name] for part in parts]) for name in self.operator.outputs[0].names}


def _batch(frame: Frame, tuple_type: TupleType) -> pa.Table:
    names = list(frame.columns)
    return pa.table([_given(frame.columns[n], n, tuple_type.kind(n)) for n in names], names=names)


def _called(operator: MapBatches, batch: pa.Table) -> pa.Table:
    """The function's result, with the declared columns and as many rows."""
    library = importlib.import_module("polars") if operator.library == "polars" else None
    made = operator.function.callable(batch if library is None else library.from_arrow(batch))
    table = made.to_arrow() if hasattr(made, "to_arrow") else made
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    output, rows = operator.outputs[0], batch.num_rows
    if not isinstance(table, pa.Table):
        raise TypeError(f"expected an Arrow table or record batch, found {type(table).__name__}")
    if table.num_rows != rows:
        raise ValueError(f"expected {rows} rows, one for each row of the batch, found {table.num_rows}")
    missing = [name for name in output.names if name not in table.column_names]
    if missing:
        raise ValueError(f"expected the columns {', '.join(output.names)}, found {', '.join(table.column_names)}")
    return distinct(table.select(list(output.names)))


def _columns(operator: MapBatches, table: pa.Table) -> dict[str, Column]:
    return {name: _taken(table.column(name), name, kind) for name, kind in operator.outputs[0].attributes}


def _given(column: Column, name: str, kind: AttributeType) -> pa.Array:
    """A column as it is passed to the function."""
    if kind.boxed:
        return _array(to_list(column), name, kind)
    array = to_arrow(column)
    return array.dictionary_decode() if kind is STR else array


def _array(values: list[Any], name: str, kind: AttributeType) -> pa.Array:
    zoned = {z for value in values for z in _zoned(value, kind.required)} if _holds(kind, DATETIME) else set()
    if len(zoned) == 2:
        raise _MixedZones(f"{name}: expected datetimes that all have a time zone, or none, found both in one {kind}")
    into = arrow_type(kind, "UTC" if zoned == {True} else None)
    try:
        return array_of(values, kind, into)
    except (pa.ArrowException, OverflowError) as error:
        hint = "round it, or give it a different type, in a .map() before this operator"
        raise TypeError(f"{name}: expected a value that fits {into} ({error}); {hint}") from None


def _taken(column: pa.ChunkedArray, name: str, kind: AttributeType) -> Column:
    """A column that the function returned, checked."""
    if column.null_count and not kind.optional:
        raise TypeError(f"{name}: expected {kind}, found a null; declare `{kind} | None` if it may be missing")
    try:
        if not kind.boxed:
            return from_arrow(plain_values(column, kind))
        values = file_values(column, kind)
    except Misfit as misfit:
        raise TypeError(f"{name}: {misfit}") from None
    if _holds(kind, DECIMAL):  # in a type that Arrow inferred, the number of digits depends on the other rows
        values = file_values(pa.chunked_array([_array(values, name, kind)]), kind)
    return objects(values)


def _holds(kind: AttributeType, scalar: AttributeType) -> bool:
    """Whether the type is this scalar type, or has parts of it."""
    inner = kind.required
    if inner.fields is not None:
        return any(_holds(k, scalar) for _, k in inner.fields.attributes)
    return _holds(inner.item, scalar) if inner.item is not None else inner is scalar


def _zoned(value: Any, kind: AttributeType) -> Iterator[bool]:
    """For each datetime in a value, whether it has a time zone."""
    if value is None:
        return
    if kind.fields is not None:
        for (_, inner), part in zip(kind.fields.attributes, value, strict=True):
            yield from _zoned(part, inner.required)
    elif kind.item is not None:
        for part in value:
            yield from _zoned(part, kind.item.required)
    elif kind is DATETIME:
        yield value.tzinfo is not None

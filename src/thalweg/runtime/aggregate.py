"""The keyed aggregate: running and sliding windows, vectorized over a frame, state carried from frame to frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thalweg.ir.expr import Expr, evaluate
from thalweg.ir.operators import Aggregate, Fold, Sliding, fold_name
from thalweg.ir.types import BOOL, FLOAT, INT, STR, AttributeType, conform
from thalweg.runtime.columns import DTYPES, Array, Column, concat, from_values, take, to_list
from thalweg.runtime.folds import accumulate, accumulate_backward, group_order, ranges
from thalweg.runtime.kernels import numbers, plain, summable
from thalweg.runtime.keys import Keys
from thalweg.runtime.scalar import STEPS, fold_window
from thalweg.runtime.state import State, Table

UFUNCS: Mapping[str, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum}
_STATELESS_FOLDS = ("count", "last", "any")  # known from the count and the newest tuple alone


def stored_folds(operator: Aggregate) -> list[int]:
    return [i for i, fold in enumerate(operator.folds) if fold.kind not in _STATELESS_FOLDS]


def make_table(operator: Aggregate) -> Table:
    columns: dict[str, Column] = {"count": np.zeros(0, np.int64)}
    columns |= {fold_name(i): from_values([], operator.folds[i].type) for i in stored_folds(operator)}
    ragged = frozenset(columns) - {"count"} if isinstance(operator.window, Sliding) else frozenset[str]()
    return Table(columns, ragged)


class Groups:
    """The rows of one frame by key, with the keys' rows in the state table."""

    def __init__(self, operator: Aggregate, state: State, keys: Keys) -> None:
        self.table, rows, buckets = state.rows(operator.name, keys, writes=True)
        self.order, self.starts, self.lengths = group_order(keys.codes, len(keys.distinct))
        self._add_new(operator, keys, rows, buckets)
        self.rows = rows
        count = self.table.columns["count"]
        assert isinstance(count, np.ndarray)
        self.counts = count[rows]
        # The index of each tuple in its key's own count, in group order.
        self.index = ranges(self.counts, self.lengths)

    def _add_new(self, operator: Aggregate, keys: Keys, rows: Array, buckets: Array) -> None:
        new = np.flatnonzero(rows < 0)
        if not len(new):
            return
        rows[new] = len(self.table) + np.arange(len(new))
        zeros = np.zeros(len(new), np.int64)
        columns: dict[str, Column] = {"count": zeros}
        for i in stored_folds(operator):
            kind = operator.folds[i].type
            blank = from_values([], kind) if self.table.ragged else from_values([_ZERO.get(kind)] * len(new), kind)
            columns[fold_name(i)] = blank
        self.table.append(keys.distinct.take(new), buckets[new], columns, zeros)


_ZERO: Mapping[AttributeType, Any] = {INT: 0, FLOAT: 0.0, STR: "", BOOL: False}  # None, where Python values are held


def fold_frame(operator: Aggregate, groups: Groups, arguments: Sequence[Column | None]) -> dict[str, Column]:
    """The value of each fold at each tuple, in group order; the state is brought up to date.

    Nothing is stored before all folds are known, so a fallback starts from the state as it was.
    """
    sorted_arguments = [None if a is None else take(a, groups.order) for a in arguments]
    if isinstance(operator.window, Sliding):
        return _sliding(operator, operator.window.count, groups, sorted_arguments)
    return _running(operator, groups, sorted_arguments)


def _simple(fold: Fold, groups: Groups, argument: Column | None, size: int | None) -> Column:
    """Folds that need no stored value."""
    if argument is None:
        return groups.index + 1 if size is None else np.minimum(groups.index + 1, size)
    return argument


def _running(operator: Aggregate, groups: Groups, arguments: Sequence[Column | None]) -> dict[str, Column]:
    results: dict[str, Column] = {}
    new_state: dict[str, Column] = {"count": groups.counts + groups.lengths}
    ends = groups.starts + groups.lengths - 1
    for i, (fold, argument) in enumerate(zip(operator.folds, arguments, strict=True)):
        name = fold_name(i)
        if fold.kind in _STATELESS_FOLDS:
            results[name] = _simple(fold, groups, argument, None)
            continue
        assert argument is not None
        carried = take(groups.table.columns[name], groups.rows)
        if fold.kind == "first":
            firsts = concat([carried, take(argument, groups.starts)])
            known = np.arange(len(groups.rows))
            chosen = take(firsts, np.where(groups.counts > 0, known, known + len(known)))
            results[name], new_state[name] = take(chosen, np.repeat(known, groups.lengths)), chosen
            continue
        results[name] = folded = _seeded(fold, groups, argument, carried)
        new_state[name] = folded[ends]
    groups.table.update(groups.rows, new_state)
    return results


def _seeded(fold: Fold, groups: Groups, argument: Column, carried: Column) -> Array:
    """The left fold that goes on from the carried state: the state takes part in the first step of each segment."""
    argument, carried = numbers(argument), numbers(carried)
    ufunc = UFUNCS[fold.kind]
    known = groups.counts > 0
    checked = summable(argument, carried[known]) if fold.kind == "sum" else plain(argument)
    if fold.kind != "sum":
        plain(carried[known])
    seeded = checked.copy()
    at = groups.starts[known]
    seeded[at] = ufunc(carried[known], seeded[at])
    return accumulate(ufunc, seeded, groups.starts)


def _sliding(operator: Aggregate, size: int, groups: Groups, arguments: Sequence[Column | None]) -> dict[str, Column]:
    table = groups.table
    held = np.minimum(groups.counts, size - 1)
    lengths = held + groups.lengths
    starts = np.cumsum(lengths) - lengths
    # Layout per key: the values it holds, then the new ones. `source` builds it from (stored, new) in one gather.
    stored_size = int(table.offsets[-1])
    source = np.empty(int(lengths.sum()), np.int64)
    source[ranges(starts, held)] = ranges(table.offsets[:-1][groups.rows], held)
    at = ranges(starts + held, groups.lengths)  # where the new tuples stand
    source[at] = stored_size + np.arange(len(at))
    index = ranges(groups.counts - held, lengths)  # each value's index in its key's own count
    opens = np.zeros(len(index), np.bool_)
    opens[starts] = True
    blocks = np.flatnonzero(opens | (index % size == 0))
    whole = (groups.index < size) | ((groups.index + 1) % size == 0)  # the window is a prefix of one block
    oldest = np.maximum(at - np.minimum(groups.index, size - 1), 0)

    keep = np.minimum(lengths, size - 1)
    kept = ranges(starts + lengths - keep, keep)
    results: dict[str, Column] = {}
    lists: dict[str, Column] = {}
    for i, (fold, argument) in enumerate(zip(operator.folds, arguments, strict=True)):
        name = fold_name(i)
        if fold.kind in _STATELESS_FOLDS:
            results[name] = _simple(fold, groups, argument, size)
            continue
        assert argument is not None
        values = take(concat([table.columns[name], argument]), source)
        lists[name] = take(values, kept)
        if fold.kind == "first":
            results[name] = take(values, oldest)
            continue
        values = numbers(values)
        ufunc = UFUNCS[fold.kind]
        values = summable(values, values[:0]) if fold.kind == "sum" else plain(values)
        prefix = accumulate(ufunc, values, blocks)[at]
        suffix = accumulate_backward(ufunc, values, blocks)[oldest]
        results[name] = np.where(whole, prefix, ufunc(suffix, prefix))
    table.update(groups.rows, {"count": groups.counts + groups.lengths})
    if lists:
        table.update_lists(groups.rows, lists, keep)
    return results


def emitting(operator: Aggregate, groups: Groups) -> Array | None:
    """In group order, the tuples at which the window slides; None: all of them."""
    slide = operator.window.slide if isinstance(operator.window, Sliding) else 1
    return None if slide == 1 else np.flatnonzero((groups.index + 1) % slide == 0)


class RowFolds:
    """The same, tuple by tuple in Python: for frames in which a kernel would give another answer."""

    def __init__(self, operator: Aggregate, groups: Groups) -> None:
        self.operator, self.groups, self.stored = operator, groups, stored_folds(operator)
        table, rows = groups.table, groups.rows
        self.counts: list[int] = groups.counts.tolist()
        self.values: list[list[Any]] = []
        for i in self.stored:
            column = table.columns[fold_name(i)]
            if table.ragged:
                bounds = zip(table.offsets[rows].tolist(), table.offsets[rows + 1].tolist(), strict=True)
                flat = to_list(column)
                self.values.append([flat[a:b] for a, b in bounds])
            else:
                self.values.append(to_list(take(column, rows)))

    def step(self, group: int, row: Any) -> dict[str, Any]:
        """Take one tuple of a group; the value of each fold now. A failed step leaves the state as it was."""
        arguments = [
            None if fold.argument is None else conform(fold.argument.callable(row), fold.type)
            for fold in self.operator.folds
        ]
        size = self.operator.window.count if isinstance(self.operator.window, Sliding) else None
        count = self.counts[group]
        stepped = {
            i: self._next(self.operator.folds[i].kind, values[group], arguments[i], count, size)
            for i, values in zip(self.stored, self.values, strict=True)
        }
        for i, values in zip(self.stored, self.values, strict=True):
            values[group] = stepped[i][1]
        self.counts[group] = count + 1
        seen = count + 1 if size is None else min(count + 1, size)
        return {
            fold_name(i): seen if fold.kind == "count" else stepped[i][0] if i in stepped else arguments[i]
            for i, fold in enumerate(self.operator.folds)
        }

    def _next(self, kind: str, held: Any, value: Any, count: int, size: int | None) -> tuple[Any, Any]:
        """The fold's value with this tuple, and what is stored afterwards."""
        if size is None:
            folded = value if count == 0 else STEPS[kind](held, value)
            return folded, folded
        values = [*held, value]
        return fold_window(kind, values, max(0, count + 1 - size), size), values[max(0, len(values) - (size - 1)) :]

    def emits(self, group: int) -> bool:
        window = self.operator.window
        return self.counts[group] % (window.slide if isinstance(window, Sliding) else 1) == 0

    def store(self) -> None:
        table, rows = self.groups.table, self.groups.rows
        update: dict[str, Column] = {"count": np.array(self.counts, DTYPES[INT])}
        named = {fold_name(i): (self.operator.folds[i].type, v) for i, v in zip(self.stored, self.values, strict=True)}
        if table.ragged:
            lengths = np.array([len(held) for held in self.values[0]], np.int64)
            flat = {n: from_values([x for held in v for x in held], kind) for n, (kind, v) in named.items()}
            table.update_lists(rows, flat, lengths)
        else:
            update |= {n: from_values(v, kind) for n, (kind, v) in named.items()}
        table.update(rows, update)


def row_fields(fields: Sequence[tuple[str, Expr]], folds: Mapping[str, Any]) -> tuple[Any, ...]:
    """The output attributes of one result."""
    return tuple(conform(evaluate(expr, folds), expr.type) for _, expr in fields)

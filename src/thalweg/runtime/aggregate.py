"""The keyed aggregate: running and sliding windows, vectorized over a frame, state carried from frame to frame."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from thalweg.ir.expr import Expr, evaluate
from thalweg.ir.folds import Fold, fold_name
from thalweg.ir.operators import Aggregate
from thalweg.ir.types import BOOL, FLOAT, INT, STR, AttributeType, conform
from thalweg.ir.windows import Window
from thalweg.library.fold_spec import AccumulateKernel, CountKernel, Kernel, Monoid, NewestKernel, OldestKernel
from thalweg.library.folds import FOLDS
from thalweg.library.two_stacks import TwoStacks, combine_all
from thalweg.library.windows.sliding import Sliding
from thalweg.library.windows.tumbling import Tumbling
from thalweg.runtime.columns import DTYPES, Array, Column, concat, from_values, take, to_list
from thalweg.runtime.kernels import Fallback, numbers
from thalweg.runtime.keys import Keys
from thalweg.runtime.left_folds import accumulate, accumulate_backward, group_order, ranges
from thalweg.runtime.state import State, Table


def kernel_of(fold: Fold) -> Kernel:
    found = FOLDS[fold.kind].kernel
    assert found is not None, fold.kind
    return found


def monoid_of(fold: Fold) -> Monoid:
    """Folds with kernels are monoids whose elements start as values. `finish` turns the element of a block into a value
    that stands for the block in a left fold, so that both paths share their state."""
    found = FOLDS[fold.kind].scalar
    assert isinstance(found, Monoid), fold.kind
    return found


def _accumulated(kernel: AccumulateKernel, values: Array, carried: Array) -> np.ufunc:
    """The kernel's ufunc, if its result equals Python's; raises `Fallback` otherwise."""
    if not kernel.exact(values, carried):
        raise Fallback
    found = getattr(np, kernel.ufunc)
    assert isinstance(found, np.ufunc)
    return found


def stored_folds(operator: Aggregate) -> list[int]:
    """The indices of the folds whose values are stored. A window that is closed at the end, when there is no tuple to
    read, must store all folds except the count."""
    known = CountKernel if operator.acts_at_end else (CountKernel, NewestKernel)
    return [i for i, fold in enumerate(operator.folds) if not isinstance(kernel_of(fold), known)]


def make_table(operator: Aggregate, key_types: Sequence[AttributeType]) -> Table:
    """The state of an aggregate. One that acts at the end also stores the key values: they give the order."""
    columns: dict[str, Column] = {"count": np.zeros(0, np.int64)}
    columns |= {fold_name(i): from_values([], operator.folds[i].type) for i in stored_folds(operator)}
    ragged = frozenset(columns) - {"count"} if isinstance(operator.window, Sliding) else frozenset[str]()
    if operator.acts_at_end:
        columns |= {key_column(i): from_values([], kind) for i, kind in enumerate(key_types)}
    return Table(columns, ragged, operator.window.count if isinstance(operator.window, Tumbling) else None)


def key_column(index: int) -> str:
    return f"key{index}"


def period(window: Window) -> int:
    """The number of tuples of a key from one result to the next."""
    match window:
        case Sliding(slide=slide):
            return slide
        case Tumbling(count=count):
            return count
    return 1


class KeyGroups:
    """The rows of one frame by key, with the keys' rows in the state table."""

    def __init__(self, operator: Aggregate, state: State, keys: Keys, key_values: Sequence[Column]) -> None:
        self.table, rows, buckets = state.rows(operator.name, keys, writes=True)
        self.order, self.starts, self.lengths = group_order(keys.codes, len(keys.distinct))
        self.key_values = key_values
        self._add_new(operator, keys, rows, buckets)
        self.rows = rows
        count = self.table.columns["count"]
        assert isinstance(count, np.ndarray)
        self.counts = count[rows]
        # The index of each tuple among all tuples of its key, in group order.
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
        if operator.acts_at_end:
            first = self.order[self.starts[new]]
            columns |= {key_column(i): take(column, first) for i, column in enumerate(self.key_values)}
        self.table.append(keys.distinct.take(new), buckets[new], columns, zeros)


_ZERO: Mapping[AttributeType, Any] = {INT: 0, FLOAT: 0.0, STR: "", BOOL: False}  # None for columns of Python values


def fold_frame(operator: Aggregate, groups: KeyGroups, arguments: Sequence[Column | None]) -> dict[str, Column]:
    """The value of each fold at each tuple, in group order. Updates the state.

    Nothing is stored before all folds are computed, so a fallback starts from the unchanged state.
    """
    sorted_arguments = [None if a is None else take(a, groups.order) for a in arguments]
    if isinstance(operator.window, Sliding):
        return _sliding(operator, operator.window.count, groups, sorted_arguments)
    return _blocks(operator, groups, sorted_arguments)


def _blocks(operator: Aggregate, groups: KeyGroups, arguments: Sequence[Column | None]) -> dict[str, Column]:
    """Running and tumbling windows: left folds over blocks of a key's tuples; the first may continue an open block."""
    size = operator.window.count if isinstance(operator.window, Tumbling) else None
    results: dict[str, Column] = {}
    new_state: dict[str, Column] = {"count": groups.counts + groups.lengths}
    under_way = groups.counts > 0 if size is None else groups.counts % size > 0
    starts = groups.starts if size is None else np.union1d(groups.starts, np.flatnonzero(groups.index % size == 0))
    ends = groups.starts + groups.lengths - 1
    for i, (fold, argument) in enumerate(zip(operator.folds, arguments, strict=True)):
        name, kernel = fold_name(i), kernel_of(fold)
        if argument is None:
            results[name] = groups.index + 1 if size is None else groups.index % size + 1
            continue
        match kernel:
            case OldestKernel():
                carried = take(groups.table.columns[name], groups.rows)
                results[name] = _first(argument, carried, groups, under_way, starts)
            case AccumulateKernel():
                carried = take(groups.table.columns[name], groups.rows)
                results[name] = _seeded(kernel, groups, argument, carried, under_way, starts)
            case _:
                results[name] = argument
        if name in groups.table.columns:
            new_state[name] = take(results[name], ends)
    groups.table.update(groups.rows, new_state)
    return results


def _first(argument: Column, carried: Column, groups: KeyGroups, under_way: Array, starts: Array) -> Column:
    """The first value of each tuple's block: that of the block's first row, or the carried one."""
    source = starts.copy()
    carrying = np.flatnonzero(under_way)
    source[np.searchsorted(starts, groups.starts[carrying])] = len(argument) + carrying
    return take(concat([argument, carried]), np.repeat(source, np.diff(np.append(starts, len(argument)))))


def _seeded(
    kernel: AccumulateKernel, groups: KeyGroups, argument: Column, carried: Column, under_way: Array, starts: Array
) -> Array:
    """The left fold continued from the carried state, which is combined with the first value of each segment."""
    seeded, seeds = numbers(argument).copy(), numbers(carried)[under_way]
    ufunc = _accumulated(kernel, seeded, seeds)
    at = groups.starts[under_way]
    seeded[at] = ufunc(seeds, seeded[at])
    return accumulate(ufunc, seeded, starts)


def _sliding(
    operator: Aggregate, size: int, groups: KeyGroups, arguments: Sequence[Column | None]
) -> dict[str, Column]:
    table = groups.table
    held = np.minimum(groups.counts, size - 1)
    lengths = held + groups.lengths
    starts = np.cumsum(lengths) - lengths
    # Layout per key: the values it holds, then the new ones. `source` builds it from (stored, new) in one gather.
    stored_size = int(table.offsets[-1])
    source = np.empty(int(lengths.sum()), np.int64)
    source[ranges(starts, held)] = ranges(table.offsets[:-1][groups.rows], held)
    at = ranges(starts + held, groups.lengths)  # the indices of the new tuples
    source[at] = stored_size + np.arange(len(at))
    index = ranges(groups.counts - held, lengths)  # each value's index among all values of its key
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
        if argument is None:
            results[name] = np.minimum(groups.index + 1, size)
            continue
        kernel = kernel_of(fold)
        if isinstance(kernel, NewestKernel):
            results[name] = argument
            continue
        values = take(concat([table.columns[name], argument]), source)
        lists[name] = take(values, kept)
        if isinstance(kernel, OldestKernel):
            results[name] = take(values, oldest)
            continue
        assert isinstance(kernel, AccumulateKernel)
        values = numbers(values)
        ufunc = _accumulated(kernel, values, values[:0])
        prefix = accumulate(ufunc, values, blocks)[at]
        suffix = accumulate_backward(ufunc, values, blocks)[oldest]
        results[name] = np.where(whole, prefix, ufunc(suffix, prefix))
    table.update(groups.rows, {"count": groups.counts + groups.lengths})
    if lists:
        table.update_lists(groups.rows, lists, keep)
    return results


def emitting(operator: Aggregate, groups: KeyGroups) -> Array | None:
    """In group order, the tuples at which the window slides; None: all of them."""
    every = period(operator.window)
    return None if every == 1 else np.flatnonzero((groups.index + 1) % every == 0)


def arguments(folds: Sequence[Fold], row: Any) -> list[Any]:
    """The arguments of the folds for one tuple; None for a fold without one."""
    return [None if fold.argument is None else conform(fold.argument.callable(row), fold.type) for fold in folds]


class RowFolds:
    """The same folds, tuple by tuple in Python: for frames in which a kernel would give a different result."""

    def __init__(self, operator: Aggregate, groups: KeyGroups) -> None:
        self.operator, self.groups, self.stored = operator, groups, stored_folds(operator)
        self.monoids = [monoid_of(operator.folds[i]) for i in self.stored]
        self.counted = [isinstance(kernel_of(fold), CountKernel) for fold in operator.folds]
        self.counts: list[int] = groups.counts.tolist()
        self.held = self._held()  # for each group: the stored values, or rows of them
        self.stacks: dict[int, TwoStacks] = {}

    def _held(self) -> list[Any]:
        table, rows = self.groups.table, self.groups.rows
        columns = [table.columns[fold_name(i)] for i in self.stored]
        if not isinstance(self.operator.window, Sliding):
            return list(zip(*(to_list(take(c, rows)) for c in columns), strict=True)) or [()] * len(rows)
        starts, lengths = table.offsets[rows], np.diff(table.offsets)[rows]
        flat = zip(*(to_list(take(c, ranges(starts, lengths))) for c in columns), strict=True)
        return [deque(islice(flat, length), self.operator.window.count - 1) for length in lengths.tolist()]

    def step(self, group: int, row: Any) -> dict[str, Any]:
        """Add one tuple to a group and return the value of each fold. A failed step leaves the state unchanged."""
        given = arguments(self.operator.folds, row)
        window, count = self.operator.window, self.counts[group]
        taken = tuple(monoid.start(given[i]) for i, monoid in zip(self.stored, self.monoids, strict=True))
        folded = self._slide(group, taken, window.count) if isinstance(window, Sliding) else self._extend(group, taken)
        self.counts[group] = count + 1
        match window:
            case Sliding(count=size):
                seen = min(count + 1, size)
            case Tumbling(count=size):
                seen = count % size + 1
            case _:
                seen = count + 1
        known = dict(zip(self.stored, folded, strict=True))
        return {fold_name(i): seen if counted else known.get(i, given[i]) for i, counted in enumerate(self.counted)}

    def _extend(self, group: int, taken: tuple[Any, ...]) -> tuple[Any, ...]:
        """The folds of the open block."""
        window, count = self.operator.window, self.counts[group]
        opens = count % window.count == 0 if isinstance(window, Tumbling) else count == 0
        folded = taken if opens else self._finished(combine_all(self.held[group], taken, self.monoids))
        self.held[group] = folded
        return folded

    def _finished(self, elements: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(monoid.finish(element) for monoid, element in zip(self.monoids, elements, strict=True))

    def _slide(self, group: int, taken: tuple[Any, ...], size: int) -> tuple[Any, ...]:
        """The folds of the last `size` values."""
        if not self.stored:
            return ()
        stacks = self.stacks.get(group) or self._restored(group, size)
        folded = stacks.slide(len(stacks) == size, taken, self.monoids)
        self.stacks[group] = stacks
        self.held[group].append(taken)
        return self._finished(folded)

    def _restored(self, group: int, size: int) -> TwoStacks:
        """The blocks of the stored values; the key's count determines where they begin."""
        values, count = list(self.held[group]), self.counts[group]
        if count and count % size == 0:  # a complete block, whose first value is in no later window
            made = TwoStacks()
            made.back = [(), *values]
            return made
        border = len(values) - count % size
        return TwoStacks.of(values[:border], values[border:], self.monoids)

    def emits(self, group: int) -> bool:
        return self.counts[group] % period(self.operator.window) == 0

    def store(self) -> None:
        table, rows = self.groups.table, self.groups.rows
        values = [held for window in self.held for held in window] if table.ragged else self.held
        by_fold = list(zip(*values, strict=True)) or [()] * len(self.stored)
        update = {
            fold_name(i): from_values(list(column), self.operator.folds[i].type)
            for i, column in zip(self.stored, by_fold, strict=True)
        }
        if table.ragged:
            table.update_lists(rows, update, np.array([len(held) for held in self.held], np.int64))
            update = {}
        table.update(rows, update | {"count": np.array(self.counts, DTYPES[INT])})


def at_end(operator: Aggregate, state: State) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """The blocks that are still open at the end: the values and the folds of each key, in no particular order."""
    assert isinstance(operator.window, Tumbling)
    state.load_all(operator.name)
    table = state.tables[operator.name]
    assert isinstance(table, Table)
    counts = table.columns["count"]
    assert isinstance(counts, np.ndarray)
    rows = np.flatnonzero(counts % operator.window.count > 0)
    open_counts = (counts[rows] % operator.window.count).tolist()
    by = range(len(operator.window.by))
    keys = list(zip(*(to_list(take(table.columns[key_column(i)], rows)) for i in by), strict=True)) or [()] * len(rows)
    stored = {fold_name(i): to_list(take(table.columns[fold_name(i)], rows)) for i in stored_folds(operator)}
    counted = [fold_name(i) for i, fold in enumerate(operator.folds) if isinstance(kernel_of(fold), CountKernel)]
    folds = [
        {name: values[i] for name, values in stored.items()} | dict.fromkeys(counted, open_counts[i])
        for i in range(len(rows))
    ]
    return keys, folds


def row_fields(fields: Sequence[tuple[str, Expr]], folds: Mapping[str, Any]) -> tuple[Any, ...]:
    """The output attributes of one result."""
    return tuple(conform(evaluate(expr, folds), expr.type) for _, expr in fields)

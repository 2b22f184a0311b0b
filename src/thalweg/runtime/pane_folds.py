"""The folds of windows in event time over whole frames: elements of panes, and the results of windows.

Each fold has an element per pane, in columns. A frame continues the elements of its panes in order of arrival; a window
combines those of its panes, in order of time or, where the value depends on it, of arrival.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Protocol

import numpy as np

from thalweg.errors import InternalError
from thalweg.ir.folds import Fold, fold_name
from thalweg.ir.operators import Process
from thalweg.ir.times import from_time
from thalweg.ir.types import INT, INT64_MAX
from thalweg.library.fold_spec import AccumulateKernel, CountKernel, Monoid, NewestKernel, OldestKernel, WindowBound
from thalweg.library.folds import FOLDS
from thalweg.library.windows.by_event_time import EventTimeAggregate
from thalweg.runtime.columns import Array, Column, concat, from_values, objects, take
from thalweg.runtime.left_folds import accumulate, ranges

NEWEST, OLDEST = "newest", "oldest"  # of a pane: the numbers of these tuples in order of arrival


class Continued:
    """The tuples of a frame by pane, each pane after the element that it has so far, if any.

    `panes`: the row of each group's pane in the table, or -1.
    """

    def __init__(self, panes: Array, starts: Array, lengths: Array, numbers: Array) -> None:
        self.numbers = numbers  # of the tuples, in order of arrival
        known = panes >= 0
        before: Array = np.cumsum(known) - known
        self.carried = panes[known]
        self.starts = starts + before
        self.at = ranges(self.starts + known, lengths)  # where the tuples are
        count = len(self.carried)
        self.source = np.empty(count + len(self.at), np.int64)
        self.source[self.starts[known]] = np.arange(count)
        self.source[self.at] = count + np.arange(len(self.at))
        self.first = np.repeat(self.starts, lengths)  # for each tuple, where its pane begins

    def values(self, carried: Column, values: Column) -> Column:
        if not len(self.carried):
            return values
        return take(concat([take(carried, self.carried), values]), self.source)


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows that are closed, and their panes: sorted by window, then by time."""

    starts: Array  # the first pane of each window
    ends: Array  # in event time
    size: int
    columns: Mapping[str, Column]  # of the panes
    panes: int

    @property
    def single(self) -> bool:
        return len(self.starts) == self.panes

    def number(self) -> Array:
        """The window of each pane."""
        return np.repeat(np.arange(len(self.starts)), np.diff(np.append(self.starts, self.panes)))

    def least(self, *by: Array) -> Array:
        """For each window, the pane with the least of these values, compared one after the other."""
        if self.single:
            return self.starts
        found: Array = np.lexsort((*reversed(by), self.number()))[self.starts]
        return found

    def ints(self, name: str) -> Array:
        column = self.columns[name]
        assert isinstance(column, np.ndarray)
        return column


Errors = dict[int, BaseException]  # by window


class PaneFold(Protocol):
    @property
    def blank(self) -> Mapping[str, Column]:
        """Its columns, without rows."""
        ...

    def continued(self, tuples: Continued, carried: Mapping[str, Column], values: Column | None) -> dict[str, Column]:
        """The elements after each tuple."""
        ...

    def results(self, windows: Windows) -> tuple[Column, Errors]: ...


class Count:
    def __init__(self, name: str) -> None:
        self.name, self.blank = name, {name: np.zeros(0, np.int64)}

    def continued(self, tuples: Continued, carried: Mapping[str, Column], values: Column | None) -> dict[str, Column]:
        ones = np.ones(len(tuples.at), np.int64)
        return {
            self.name: accumulate(np.add, _array(tuples.values(carried[self.name], ones)), tuples.starts)[tuples.at]
        }

    def results(self, windows: Windows) -> tuple[Column, Errors]:
        return np.add.reduceat(windows.ints(self.name), windows.starts), {}


class Sum:
    """A left fold. Ints are checked before (`overflowing`)."""

    def __init__(self, name: str, fold: Fold) -> None:
        self.name, self.blank = name, {name: from_values([], fold.type)}

    def continued(self, tuples: Continued, carried: Mapping[str, Column], values: Column | None) -> dict[str, Column]:
        assert values is not None
        return {
            self.name: accumulate(np.add, _array(tuples.values(carried[self.name], values)), tuples.starts)[tuples.at]
        }

    def results(self, windows: Windows) -> tuple[Column, Errors]:
        values = windows.ints(self.name)
        if windows.single:
            return values, {}
        ends = np.append(windows.starts[1:], len(values)) - 1
        errors: Errors = {}
        if values.dtype == np.int64 and _reach(values) * len(values) > INT64_MAX:
            for window, (start, end) in enumerate(zip(windows.starts.tolist(), ends.tolist(), strict=True)):
                try:
                    _added(values[start : end + 1].tolist())
                except OverflowError as error:
                    errors[window] = error
        return accumulate(np.add, values, windows.starts)[ends], errors


class BestInt:
    """The least or the greatest int."""

    def __init__(self, name: str, ufunc: np.ufunc) -> None:
        self.name, self.ufunc, self.blank = name, ufunc, {name: np.zeros(0, np.int64)}

    def continued(self, tuples: Continued, carried: Mapping[str, Column], values: Column | None) -> dict[str, Column]:
        assert values is not None
        found = accumulate(self.ufunc, _array(tuples.values(carried[self.name], values)), tuples.starts)
        return {self.name: found[tuples.at]}

    def results(self, windows: Windows) -> tuple[Column, Errors]:
        return self.ufunc.reduceat(windows.ints(self.name), windows.starts), {}


class BestFloat:
    """The least or the greatest float: of equal ones the oldest, and NaN only if it is the oldest value."""

    def __init__(self, name: str, sign: int) -> None:
        self.best, self.number, self.oldest, self.sign = name, f"{name}.number", f"{name}.oldest", sign
        self.blank = {
            self.best: np.zeros(0),
            self.oldest: np.zeros(0),
            self.number: np.zeros(0, np.int64),
        }

    def continued(self, tuples: Continued, carried: Mapping[str, Column], values: Column | None) -> dict[str, Column]:
        assert values is not None
        best = _array(tuples.values(carried[self.best], values))
        ranks = self._ranks(best)
        least = accumulate(np.minimum, ranks, tuples.starts)
        wins = np.empty(len(best), np.bool_)
        wins[1:] = least[1:] < least[:-1]
        wins[tuples.starts] = True
        at = np.maximum.accumulate(np.where(wins, np.arange(len(best)), 0))[tuples.at]
        oldest = _array(tuples.values(carried[self.oldest], values))[tuples.first]
        numbers = tuples.values(carried[self.number], tuples.numbers)
        return {self.best: best[at], self.number: _array(numbers)[at], self.oldest: oldest}

    def _ranks(self, values: Array) -> Array:
        """Ints in the order of these floats; NaN after all."""
        bits = (values + 0.0).view(np.int64)
        ranks = np.where(bits >= 0, bits, np.int64(-(2**63)) - bits - 1)
        return np.where(np.isnan(values), np.int64(INT64_MAX), ranks * self.sign)

    def results(self, windows: Windows) -> tuple[Column, Errors]:
        best, oldest = windows.ints(self.best), windows.ints(self.oldest)
        if not windows.single:
            best = best[windows.least(self._ranks(best), windows.ints(self.number))]
            oldest = oldest[windows.least(windows.ints(OLDEST))]
        return np.where(np.isnan(oldest), oldest, best), {}


class Newest:
    """The value that arrived last."""

    def __init__(self, name: str, fold: Fold) -> None:
        self.name, self.blank = name, {name: from_values([], fold.type)}

    def continued(self, tuples: Continued, carried: Mapping[str, Column], values: Column | None) -> dict[str, Column]:
        assert values is not None
        return {self.name: values}

    def results(self, windows: Windows) -> tuple[Column, Errors]:
        column = windows.columns[self.name]
        return (column if windows.single else take(column, windows.least(-windows.ints(NEWEST)))), {}


class Oldest:
    """The value that arrived first."""

    def __init__(self, name: str, fold: Fold) -> None:
        self.name, self.blank = name, {name: from_values([], fold.type)}

    def continued(self, tuples: Continued, carried: Mapping[str, Column], values: Column | None) -> dict[str, Column]:
        assert values is not None
        return {self.name: take(tuples.values(carried[self.name], values), tuples.first)}

    def results(self, windows: Windows) -> tuple[Column, Errors]:
        column = windows.columns[self.name]
        return (column if windows.single else take(column, windows.least(windows.ints(OLDEST)))), {}


class Bound(Oldest):
    """The start or the end of the window, in the time zone of its oldest tuple."""

    def __init__(self, name: str, fold: Fold, *, end: bool) -> None:
        super().__init__(name, fold)
        self.type, self.end = fold.type, end

    def results(self, windows: Windows) -> tuple[Column, Errors]:
        times = windows.ends if self.end else windows.ends - windows.size
        zones, _ = super().results(windows)
        assert isinstance(zones, np.ndarray)
        found: list[Any] = []
        errors: Errors = {}
        for window, (time, zone) in enumerate(zip(times.tolist(), zones.tolist(), strict=True)):
            try:
                found.append(from_time(time, self.type, zone))
            except OverflowError as error:  # a datetime ends with the year 9999
                found.append(None)
                errors[window] = error
        return objects(found), errors


class IntBound:
    """The start or the end of the window, as an int."""

    blank: ClassVar[Mapping[str, Column]] = {}

    def __init__(self, *, end: bool) -> None:
        self.end = end

    def continued(self, tuples: Continued, carried: Mapping[str, Column], values: Column | None) -> dict[str, Column]:
        return {}

    def results(self, windows: Windows) -> tuple[Column, Errors]:
        return windows.ends if self.end else windows.ends - windows.size, {}


class Numbers:
    """The numbers of a pane's newest and oldest tuple, for windows of several panes."""

    blank: ClassVar[Mapping[str, Column]] = {NEWEST: np.zeros(0, np.int64), OLDEST: np.zeros(0, np.int64)}

    def continued(self, tuples: Continued, carried: Mapping[str, Column]) -> dict[str, Column]:
        oldest = take(tuples.values(carried[OLDEST], tuples.numbers), tuples.first)
        return {NEWEST: tuples.numbers, OLDEST: oldest}


def pane_fold(index: int, fold: Fold) -> PaneFold:
    name, spec = fold_name(index), FOLDS[fold.kind]
    if isinstance(spec.scalar, WindowBound):
        end = spec.scalar.end
        return IntBound(end=end) if fold.type is INT else Bound(name, fold, end=end)
    match spec.kernel:
        case CountKernel():
            return Count(name)
        case NewestKernel():
            return Newest(name, fold)
        case OldestKernel():
            return Oldest(name, fold)
        case AccumulateKernel("add"):
            return Sum(name, fold)
        case AccumulateKernel(ufunc) if fold.type is INT:
            return BestInt(name, getattr(np, ufunc))
        case AccumulateKernel("minimum"):
            return BestFloat(name, 1)
        case AccumulateKernel("maximum"):
            return BestFloat(name, -1)
    raise InternalError(f"the fold {fold.kind} has no columns")


def pane_folds(operator: Process) -> list[PaneFold] | None:
    """The folds of an aggregate over windows in event time; None for other operators, and for those of which an element
    is not kept in columns."""
    logic = operator.logic
    if not isinstance(logic, EventTimeAggregate) or not logic.in_columns:
        return None
    return [pane_fold(index, fold) for index, fold in enumerate(logic.config.folds)]


def overflowing(sums: Sequence[tuple[Array, Array]], starts: Array, panes: Array) -> dict[int, BaseException]:
    """The tuples, in order of their panes, with which a sum of ints would exceed 64 bits. They are not part of the
    window. `sums`: for each sum of ints the values of the tuples, and those that the panes carry."""
    if all(_reach(values) * len(values) + _reach(carried) <= INT64_MAX for values, carried in sums):
        return {}
    failed: dict[int, BaseException] = {}
    columns = [values.tolist() for values, _ in sums]
    begins = dict(zip(starts.tolist(), panes.tolist(), strict=True))
    totals: list[int | None] = []
    for row, values in enumerate(zip(*columns, strict=True)):
        if row in begins:
            pane = begins[row]
            totals = [None if pane < 0 else int(carried[pane]) for _, carried in sums]
        try:
            totals = [v if total is None else _added([total, v]) for total, v in zip(totals, values, strict=True)]
        except OverflowError as error:
            failed[row] = error
    return failed


def _added(values: list[int]) -> int:
    scalar = FOLDS["sum"].scalar
    assert isinstance(scalar, Monoid)
    return reduce(scalar.combine, values)


def _reach(values: Array) -> int:
    """The greatest distance from 0."""
    return max(abs(int(values.min())), abs(int(values.max()))) if values.size else 0


def _array(column: Column) -> Array:
    assert isinstance(column, np.ndarray)
    return column

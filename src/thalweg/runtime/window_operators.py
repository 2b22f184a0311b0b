"""Aggregates over windows in event time in a PE: from the frames of tuples and marks to those of all output ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.errors import summary
from thalweg.ir.folds import fold_name
from thalweg.ir.operators import NO_TIME, Process, rank_width
from thalweg.ir.types import INT64_MAX, INT64_MIN
from thalweg.library.windows.by_event_time import TimeWindow
from thalweg.runtime import aggregate
from thalweg.runtime import row_functions as rows
from thalweg.runtime.aggregate_operator import AggregateOperators
from thalweg.runtime.columns import Array, Column, from_values, objects, repeated, take, to_list
from thalweg.runtime.event_time_marks import time_values
from thalweg.runtime.event_windows import (
    Closed,
    FrameOfPanes,
    Marks,
    Panes,
    closed_without_tuples,
    group,
    last_ends,
)
from thalweg.runtime.failed_tuples import put_letters, record_failure
from thalweg.runtime.frame import Frame, Sub, join_frames
from thalweg.runtime.key_ranks import LAST_RANK, rank_columns
from thalweg.runtime.keys import first_rows, keys_of, stable_hash
from thalweg.runtime.merge_frames import merge
from thalweg.runtime.pane_folds import Bound, Sum, overflowing, pane_folds
from thalweg.runtime.pane_table import PaneTable
from thalweg.runtime.row_path import some
from thalweg.runtime.turn import Turn
from thalweg.runtime.vectorized import Columns, VectorFunction, Vectorized, vectorized


class WindowOperators(AggregateOperators):
    """The aggregates of a PE over windows in event time."""

    def event_time_windows(
        self,
        turn: Turn,
        name: str,
        lives: Sequence[Sequence[str]],
        arguments: Callable[[Columns, int], list[Column | None]],
        fields: VectorFunction,
        tuples: Frame | None,
        marks: Frame | None,
    ) -> list[Frame | None]:
        operator = self.program.operators[name]
        assert isinstance(operator, Process)
        return WindowRun(self, turn, operator, arguments, fields).run(lives, tuples, marks)


class WindowRun:
    """One aggregate over one slice of an epoch."""

    def __init__(
        self,
        pe: WindowOperators,
        turn: Turn,
        operator: Process,
        arguments: Callable[[Columns, int], list[Column | None]],
        fields: VectorFunction,
    ) -> None:
        assert turn.state is not None
        self.pe, self.turn, self.state, self.operator = pe, turn, turn.state, operator
        self.arguments, self.fields = arguments, fields
        self.config = operator.logic.config
        self.window: TimeWindow = self.config.window
        table = self.state.tables[operator.name]
        assert isinstance(table, PaneTable)
        self.table = table
        self.folds = pane_folds(operator) or []
        self.width = pe.program.widths[operator.name]

    def run(self, lives: Sequence[Sequence[str]], tuples: Frame | None, given: Frame | None) -> list[Frame | None]:
        name = self.operator.name
        marks = Marks(given, self.state.times().get(name))
        times = marks.times
        ends = self.turn.end is not None
        if ends:
            times = np.append(times, INT64_MAX)
        if len(times):
            self.state.load_all(name)
        late: Frame | None = None
        added: FrameOfPanes | None = None
        places = np.zeros(len(times), np.int64)
        if tuples is not None:
            tuples, values = self._values(tuples)
            late, added, places = self._add(tuples, values, marks, ends=ends)
        closed = None
        if len(times) and added is not None:
            closed = added.closed(times, places, marks.before)
        elif len(times):
            closed = closed_without_tuples(self.window, self.table, times, marks.before)
        if added is not None:
            added.store()
        results = None if closed is None else self._results(closed, self._places(marks), times)
        if len(times):
            self._forget(int(times[-1]))
        found = [results, late, self._forwarded(marks)]
        if len(marks):
            self.state.times()[name] = marks.last
        if self.operator.dead_port is not None:
            width = self.width + rank_width(self.operator) + 1
            found.append(merge([f.padded(width) for f in self.turn.letters.pop(name, [])]))
        return [None if f is None else f.select(live) for f, live in zip(found, lives, strict=True)]

    # Tuples

    def _values(self, frame: Frame) -> tuple[Frame, list[Column | None]]:
        """The tuples whose arguments can be computed, and these arguments."""
        folds, name = self.config.folds, self.operator.name
        found = vectorized(self.arguments, frame, one_for_all=self.operator.on_error == "skip")
        if not len(found.rest):
            return frame, found.result
        tuple_type = self.pe.program.input_types[name][0]
        given = rows.rows(frame.take(found.rest), tuple_type)
        values, kept = self.pe._each(self.turn, name, frame, given, lambda row: aggregate.arguments(folds, row), found)
        with_argument = [i for i, fold in enumerate(folds) if fold.argument is not None]
        columns = {str(i): from_values([v[i] for v in values], folds[i].type) for i in with_argument}
        at = found.rest[kept]
        if len(found.rows):
            columns, at = found.merged({str(i): found.result[i] for i in with_argument}, columns, kept)
        return frame.take(at), [columns.get(str(i)) for i in range(len(folds))]

    def _add(
        self, frame: Frame, values: Sequence[Column | None], marks: Marks, *, ends: bool
    ) -> tuple[Frame | None, FrameOfPanes | None, Array]:
        """Late tuples; the others in panes; and for each mark the number of those before it."""
        places = marks.places(frame, self.width)
        reached = marks.reached(len(frame), places)
        times = self._times(frame)
        is_late = (last_ends(self.window, times) <= reached) & (reached > NO_TIME)
        if ends:
            places = np.append(places, len(frame))
        late = None
        if is_late.any():
            late = self._ranked(frame.where(is_late))
            kept = np.flatnonzero(~is_late)
            frame, times, places = frame.take(kept), times[kept], np.searchsorted(kept, places)
            values = [None if v is None else take(v, kept) for v in values]
        if not len(frame):
            return late, None, places
        key_rows = self._key_rows(frame)
        panes = group(self.window, self.table, key_rows, times)
        values = [self._zones(frame) if isinstance(f, Bound) else v for f, v in zip(self.folds, values, strict=True)]
        if errors := self._overflow(panes, values):
            kept = self._failing(frame, panes, errors)
            values = [None if v is None else take(v, kept) for v in values]
            _, added, places = self._add(frame.take(kept), values, marks, ends=ends)
            return late, added, places
        return late, FrameOfPanes(self.window, self.folds, self.table, panes, values), places

    def _overflow(self, panes: Panes, values: Sequence[Column | None]) -> dict[int, BaseException]:
        """The tuples with which a sum of ints would exceed 64 bits, in order of panes."""
        sums: list[tuple[Array, Array]] = []
        for fold, column in zip(self.folds, values, strict=True):
            if isinstance(fold, Sum) and isinstance(column, np.ndarray) and column.dtype == np.int64:
                sums.append((column[panes.order], np.asarray(self.table.columns[fold.name])))
        return overflowing(sums, panes.starts, panes.known)

    def _failing(self, frame: Frame, panes: Panes, errors: Mapping[int, BaseException]) -> Array:
        """Apply the operator's policy to these tuples; returns the others."""
        by_row = {int(panes.order[place]): error for place, error in errors.items()}
        with self.pe._failures(self.turn, self.operator.name, frame) as failures:
            for row in sorted(by_row):
                if not failures.add(row, by_row[row]):
                    break
        return np.delete(np.arange(len(frame)), list(by_row))

    def _times(self, frame: Frame) -> Array:
        """Of ints at the ends of 64 bits, whose windows would exceed them, the nearest whose windows do not."""
        window = self.window
        times = time_values(frame.columns[window.on])
        least = INT64_MIN + window.size + window.step + 1
        greatest = (INT64_MAX - 1 - window.size) // window.step * window.step + window.step - 1
        return np.clip(times, least + window.of_ends, greatest + window.of_ends) - window.of_ends

    def _zones(self, frame: Frame) -> Column:
        return objects([getattr(value, "tzinfo", None) for value in to_list(frame.columns[self.window.on])])

    def _key_rows(self, frame: Frame) -> Array:
        """For each tuple, the row of its key in the table."""
        columns = [frame.columns[n] for n in self.window.by]
        keys = keys_of(columns, len(frame))
        buckets = self.state.touch(self.operator.name, keys, writes=True)
        found = self.table.find(keys.distinct)
        new = np.flatnonzero(found < 0)
        if len(new):
            found[new] = len(self.table.buckets) + np.arange(len(new))
            distinct, first = keys.distinct.take(pa.array(new)), first_rows(keys.codes)[new]
            ranks = rank_columns([take(c, first) for c in columns], stable_hash(distinct).view(np.int64))
            self.table.add_keys(distinct, buckets[new], ranks)
        rows_of_tuples: Array = found[keys.codes]
        return rows_of_tuples

    # Results

    def _places(self, marks: Marks) -> Frame:
        """The places of the marks, and of the end, which comes after all of them."""
        found = [] if marks.frame is None else [marks.frame.padded(self.width)]
        if self.turn.end is not None:
            end = self.turn.end + self.pe.program.ends[self.operator.name]
            found.append(Frame(np.full(1, end, np.int64), (), {}).padded(self.width))
        return join_frames(found)

    def _results(self, closed: Closed, places: Frame, times: Array) -> Frame | None:
        """The results of windows, at each mark in the order of their ends, then of their keys."""
        windows = closed.windows
        ranks = [rank[closed.keys] for rank in self.table.ranks]
        order = np.lexsort((*reversed(ranks), windows.ends, closed.marks))
        folded: dict[str, Column] = {}
        errors: dict[int, BaseException] = {}
        of_bounds: dict[int, BaseException] = {}  # which are computed after all other folds
        for index, fold in enumerate(self.folds):
            column, failed = fold.results(windows)
            folded[fold_name(index)] = take(column, order)
            if isinstance(fold, Bound):
                of_bounds = failed | of_bounds
            else:
                errors = failed | errors
        errors = of_bounds | errors
        keys, marks, ends = closed.keys[order], closed.marks[order], windows.ends[order]
        at = self._ranked(places.take(marks), [ends, *(rank[order] for rank in ranks)])
        found = vectorized(self.fields, at.with_columns(folded), one_for_all=False)
        if not errors and not len(found.rest):
            return some(at.with_columns(found.result))
        failed = {row: errors[window] for row, window in enumerate(order.tolist()) if window in errors}
        columns, kept = self._field_rows(folded, found, failed)
        # If a window of a key fails at a mark, the key emits nothing there.
        events = marks * (len(self.table.buckets) + 1) + keys
        first: dict[int, int] = {}  # of each event that failed: its window that ends first
        for row in sorted(failed):
            first.setdefault(int(events[row]), row)
        self._fail([(at.window(row, row + 1), times[marks[row]], failed[row]) for row in first.values()])
        remaining = np.flatnonzero(~np.isin(events[kept], list(first)))
        return some(at.take(kept[remaining]).with_columns({n: take(c, remaining) for n, c in columns.items()}))

    def _field_rows(
        self, folded: Columns, found: Vectorized, failed: dict[int, BaseException]
    ) -> tuple[dict[str, Column], Array]:
        """The output fields of the windows with results, and which these are. The rest that the kernel left is computed
        one by one; errors are added to those of the folds."""
        fields, output = self.config.fields.fields, self.operator.outputs[0]
        given = {n: to_list(take(c, found.rest)) for n, c in folded.items()}
        values: list[tuple[Any, ...]] = []
        good: list[int] = []
        for place, row in enumerate(found.rest.tolist()):
            try:
                values.append(aggregate.row_fields(fields, {n: column[place] for n, column in given.items()}))
                good.append(place)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                failed.setdefault(row, error)
        columns, kept = rows.columns_of(values, output), np.array(good, np.int64)
        if not len(found.rows):
            return columns, found.rest[kept]
        return found.merged(found.result, columns, kept)

    def _fail(self, events: Sequence[tuple[Frame, int, BaseException]]) -> None:
        """Apply the operator's policy to keys that fail at a mark: the place of their result, the time, the error."""
        if not events:  # Python could compute all that the kernel had left
            return
        operator = self.operator
        if operator.on_error == "skip":
            self.turn.output.counts.skip(operator.name, len(events))
            return
        texts = ["the end" if time == INT64_MAX else f"the mark {time}" for _, time, _ in events]
        # A failed event comes before the results of its mark.
        at = [Frame(f.position, (*f.subs[: self.width], 0, *f.subs[self.width + 1 :]), {}) for f, _, _ in events]
        if operator.on_error == "fail":
            first = min(range(len(events)), key=lambda i: at[i].order_key(0))
            error = events[first][2]
            record_failure(self.pe.program, self.turn, operator, at[first].order_key(0), error, texts[first])
            return
        for place, (_, _, error), text in zip(at, events, texts, strict=True):
            put_letters(self.turn, operator, place, repeated(summary(error), 1), repeated(text, 1))

    def _forwarded(self, marks: Marks) -> Frame | None:
        """The marks that are passed on."""
        name, found = self.operator.name, list[Frame]()
        if marks.first is not None and marks.first_stands and name not in self.state.marked:
            found.append(marks.first.with_columns({"time": np.full(1, marks.before)}))
        if marks.frame is not None and len(marks):
            found.append(marks.frame.with_columns({"time": marks.times}))
        if not found:
            return None
        self.state.marked.add(name)
        return self._ranked(join_frames([f.padded(self.width) for f in found]), [LAST_RANK])

    def _ranked(self, frame: Frame, ranks: Sequence[Sub] = ()) -> Frame:
        """Places in the output; without ranks, those of the tuples themselves."""
        missing = rank_width(self.operator) - len(ranks)
        padded = frame.padded(self.width)
        return Frame(padded.position, (*padded.subs, *ranks, *((0,) * (missing + 1))), padded.columns)

    def _forget(self, time: int) -> None:
        """Remove the panes whose windows are all closed."""
        over = last_ends(self.window, self.table.starts) <= time
        if over.any():
            self.state.dirty.update(np.unique(self.table.buckets[self.table.owner[over]]).tolist())
            self.table.keep(np.flatnonzero(~over))

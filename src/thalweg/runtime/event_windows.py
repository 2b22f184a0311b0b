"""Aggregates over windows in event time, vectorized over a frame: panes, the windows that marks close, late tuples.

Marks stand between the tuples of a frame. A window that is closed by one of them has the tuples before it: every pane
has an element after each of its tuples, and the window takes the one at its mark.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.ir.operators import NO_TIME
from thalweg.library.windows.by_event_time import TimeWindow
from thalweg.runtime.columns import Array, Column, concat, take
from thalweg.runtime.frame import Frame, join_frames
from thalweg.runtime.left_folds import group_order, ranges
from thalweg.runtime.merge_frames import sort_order
from thalweg.runtime.pane_folds import Continued, Numbers, PaneFold, Windows
from thalweg.runtime.pane_table import START, PaneTable

Columns = Mapping[str, Column]
_EXTREME = 2**62  # from here on, differences of times and codes of panes may exceed 64 bits


class Marks:
    """The marks of a frame with which event time advances. `given`: all of them; `now`: the event time before them."""

    def __init__(self, given: Frame | None, now: int | None) -> None:
        self.before = NO_TIME if now is None else now
        times = np.zeros(0, np.int64) if given is None else np.asarray(given.columns["time"])
        reached = np.maximum.accumulate(np.concatenate([[self.before], times]))
        rows = np.flatnonzero(times > reached[:-1])
        self.times: Array = times[rows]
        self.frame = None if given is None else given.with_columns({}).take(rows)
        # The first mark of an epoch is forwarded even if it does not advance: it shows that the stream is not idle.
        self.first_stands = bool(len(times)) and not (len(rows) and rows[0] == 0)
        self.first = None if given is None else given.with_columns({}).window(0, 1)

    def __len__(self) -> int:
        return len(self.times)

    @property
    def last(self) -> int:
        return int(self.times[-1]) if len(self.times) else self.before

    def places(self, tuples: Frame, width: int) -> Array:
        """For each mark, the number of tuples before it."""
        if self.frame is None:
            return np.zeros(0, np.int64)
        first = np.searchsorted(tuples.position, self.frame.position, side="left")
        if np.array_equal(first, np.searchsorted(tuples.position, self.frame.position, side="right")):
            return first
        both = join_frames([tuples.with_columns({}).padded(width), self.frame.padded(width)])
        marks = np.flatnonzero(sort_order(both) >= len(tuples))
        found: Array = marks - np.arange(len(marks))
        return found

    def reached(self, tuples: int, places: Array) -> Array:
        """The event time at each tuple."""
        counts = np.diff(np.concatenate([[0], places, [tuples]]))
        return np.repeat(np.concatenate([[self.before], self.times]), counts)


@dataclass(frozen=True, slots=True)
class Panes:
    """The tuples of a frame by pane."""

    owner: Array  # of each pane that has tuples in this frame: the row of its key
    start: Array
    known: Array  # its place in the table, or -1
    order: Array  # the tuples, sorted by pane, then in order of arrival
    starts: Array
    lengths: Array


def pane_size(window: TimeWindow) -> int:
    return math.gcd(window.size, window.step)


def last_ends(window: TimeWindow, times: Array) -> Array:
    """The ends of the last windows over these times."""
    found: Array = times // window.step * window.step + window.size
    return found


def group(window: TimeWindow, table: PaneTable, key_rows: Array, times: Array) -> Panes:
    """The tuples by key and pane."""
    size = pane_size(window)
    starts = times // size * size
    low = int(starts.min())
    reach = int(starts.max()) - low
    span = reach // size + 1
    if reach >= _EXTREME or span * (len(table.buckets) + 1) >= _EXTREME:
        distinct, places = np.unique(starts, return_inverse=True)
    else:
        distinct, places = None, (starts - low) // size
    count = span if distinct is None else len(distinct)
    codes = pa.array(key_rows * count + places).dictionary_encode()
    found = codes.dictionary.to_numpy()
    owner, place = found // count, found % count
    start = low + place * size if distinct is None else distinct[place]
    order, group_starts, lengths = group_order(codes.indices.to_numpy().astype(np.int64), len(found))
    known = np.full(len(found), -1, np.int64)
    held = np.flatnonzero((table.starts >= low) & (table.starts <= starts.max()))
    if len(held):
        at = (table.starts[held] - low) // size if distinct is None else np.searchsorted(distinct, table.starts[held])
        real = np.ones(len(held), np.bool_) if distinct is None else distinct[at] == table.starts[held]
        which = pc.index_in(pa.array(table.owner[held] * count + at), value_set=codes.dictionary)
        which = which.fill_null(-1).to_numpy().astype(np.int64)
        met = real & (which >= 0)
        known[which[met]] = held[met]
    return Panes(owner, start, known, order, group_starts, lengths)


@dataclass(frozen=True, slots=True)
class Closed:
    """Windows that marks have closed, with the rows of their keys and the numbers of the marks."""

    keys: Array
    marks: Array
    windows: Windows


class FrameOfPanes:
    """The tuples of one frame that are not late, added to the panes of their keys. The table changes with `store`."""

    def __init__(
        self,
        window: TimeWindow,
        folds: Sequence[PaneFold],
        table: PaneTable,
        panes: Panes,
        values: Sequence[Column | None],
    ) -> None:
        self.window, self.table, self.panes = window, table, panes
        sorted_values = [None if v is None else take(v, panes.order) for v in values]
        continued = Continued(panes.known, panes.starts, panes.lengths, table.arrived + panes.order)
        self.elements: dict[str, Column] = {}
        for fold, column in zip(folds, sorted_values, strict=True):
            self.elements |= fold.continued(continued, table.columns, column)
        if table.numbered:
            self.elements |= Numbers().continued(continued, table.columns)

    def closed(self, times: Array, places: Array, now: int) -> Closed | None:
        """The windows that marks close, with their panes as they are there. `places`: how many of the tuples come
        before each mark."""
        table, panes = self.table, self.panes
        new = np.flatnonzero(panes.known < 0)
        group_of = np.full(len(table) + len(new), -1, np.int64)
        group_of[panes.known[panes.known >= 0]] = np.flatnonzero(panes.known >= 0)
        group_of[len(table) :] = new
        owner = np.concatenate([table.owner, panes.owner[new]])
        start = np.concatenate([table.starts, panes.start[new]])
        due = due_windows(self.window, start, times, now)
        if due is None:
            return None
        pane, end = due
        mark = np.searchsorted(times, end)
        # The element of each pane at its mark: after the last tuple before it, or the one that the table has.
        by_place = np.repeat(np.arange(len(panes.lengths)), panes.lengths) * (len(panes.order) + 1) + panes.order
        groups = group_of[pane]
        before = np.searchsorted(by_place, groups * (len(panes.order) + 1) + places[mark])
        has = (groups >= 0) & (before > np.where(groups >= 0, panes.starts[groups], 0))
        at = np.where(has, len(table) + before - 1, np.where(pane < len(table), pane, -1))
        kept = np.flatnonzero(at >= 0)
        if not len(kept):
            return None
        columns = {n: concat([column, self.elements[n]]) for n, column in table.columns.items() if n != START}
        return windows_of(self.window, owner[pane[kept]], start[pane[kept]], end[kept], mark[kept], columns, at[kept])

    def store(self) -> None:
        last = self.panes.starts + self.panes.lengths - 1
        columns = {name: take(column, last) for name, column in self.elements.items()}
        self.table.put(self.panes.known, self.panes.owner, {START: self.panes.start} | columns)
        self.table.arrived += len(self.panes.order)


def closed_without_tuples(window: TimeWindow, table: PaneTable, times: Array, now: int) -> Closed | None:
    """The windows that marks close if no tuple has arrived."""
    due = due_windows(window, table.starts, times, now)
    if due is None:
        return None
    pane, end = due
    columns = {n: column for n, column in table.columns.items() if n != START}
    return windows_of(window, table.owner[pane], table.starts[pane], end, np.searchsorted(times, end), columns, pane)


def due_windows(window: TimeWindow, starts: Array, times: Array, now: int) -> tuple[Array, Array] | None:
    """The windows over each pane that end after `now` and by the last of these times: indices of panes, and ends."""
    step = window.step
    first = -(-(starts + pane_size(window) - window.size) // step) * step + window.size
    # Differences only of times that are close to each other: others may exceed 64 bits.
    passed = np.flatnonzero(first <= now) if now > NO_TIME else np.zeros(0, np.int64)
    first[passed] += ((now - first[passed]) // step + 1) * step
    last = np.minimum(last_ends(window, starts), times[-1])
    panes = np.flatnonzero(first <= last)
    if not len(panes):
        return None
    counts = (last[panes] - first[panes]) // step + 1
    numbers = ranges(np.zeros(len(panes), np.int64), counts)
    return np.repeat(panes, counts), np.repeat(first[panes], counts) + numbers * step


def windows_of(
    window: TimeWindow, keys: Array, starts: Array, ends: Array, marks: Array, columns: Columns, at: Array
) -> Closed:
    """Windows from their panes: the key of each, its start, the window's end and mark, and the place of its element."""
    if pane_size(window) == window.size:  # each pane is a window
        first = np.arange(len(at))
    else:
        order = np.lexsort((starts, ends, keys))
        keys, ends, marks, at = keys[order], ends[order], marks[order], at[order]
        first = np.flatnonzero(
            np.diff(keys, prepend=-1).astype(np.bool_) | np.diff(ends, prepend=ends[:1] - 1).astype(np.bool_)
        )
    taken = {name: take(column, at) for name, column in columns.items()}
    return Closed(keys[first], marks[first], Windows(first, ends[first], window.size, taken, len(at)))

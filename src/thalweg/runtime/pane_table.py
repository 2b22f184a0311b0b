"""The state of an aggregate over windows in event time: open panes, with an element of each fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.runtime.columns import Array, Column, concat, take
from thalweg.runtime.pane_folds import NEWEST
from thalweg.runtime.state import RANK, Table

START = "start"


class PaneTable:
    """Keys, and their panes: flat columns in no particular order, so that a frame adds, changes and removes panes
    without moving the others. A key is stored with the list of its panes; one without panes is not stored.

    `ranks`: the number of sub-positions that order keys. `numbered`: whether panes hold numbers in order of arrival.
    """

    def __init__(self, columns: Mapping[str, Column], ranks: int, *, numbered: bool) -> None:
        none = np.zeros(0, np.int64)
        self.numbered, self.arrived = numbered, 0
        self.keys: pa.Array | None = None
        self.buckets: Array = none
        self.ranks: list[Array] = [none] * ranks
        self.owner: Array = none  # of each pane: the row of its key
        self.columns: dict[str, Column] = {START: none, **{name: take(c, none) for name, c in columns.items()}}

    def __len__(self) -> int:
        return len(self.owner)

    @property
    def starts(self) -> Array:
        starts = self.columns[START]
        assert isinstance(starts, np.ndarray)
        return starts

    def find(self, distinct: pa.Array) -> Array:
        """The row of each key, or -1."""
        if self.keys is None:
            return np.full(len(distinct), -1, np.int64)
        found: Array = pc.index_in(distinct, value_set=self.keys).fill_null(-1).to_numpy().astype(np.int64)
        return found

    def add_keys(self, keys: pa.Array, buckets: Array, ranks: Sequence[Array]) -> None:
        self.keys = keys if self.keys is None else pa.concat_arrays([self.keys, keys])
        self.buckets = np.concatenate([self.buckets, buckets])
        self.ranks = [np.concatenate(both) for both in zip(self.ranks, ranks, strict=True)]

    def put(self, panes: Array, owner: Array, columns: Mapping[str, Column]) -> None:
        """Set the columns of panes; -1 adds one."""
        known, new = np.flatnonzero(panes >= 0), np.flatnonzero(panes < 0)
        for name, values in columns.items():
            self.columns[name] = _put(self.columns[name], panes[known], values, known, new)
        self.owner = np.concatenate([self.owner, owner[new]])

    def keep(self, kept: Array) -> None:
        """Remove all other panes."""
        self.owner = self.owner[kept]
        self.columns = {name: take(column, kept) for name, column in self.columns.items()}

    def encode(self, bucket: int) -> bytes:
        panes = np.flatnonzero(self.buckets[self.owner] == bucket)
        panes = panes[np.lexsort((self.starts[panes], self.owner[panes]))]
        owners, lengths = np.unique(self.owner[panes], return_counts=True)
        table = self._stored()
        if len(owners):
            assert self.keys is not None
            columns: dict[str, Column] = {f"{RANK}{i}": rank[owners] for i, rank in enumerate(self.ranks)}
            columns |= {name: take(column, panes) for name, column in self.columns.items()}
            table.append(self.keys.take(pa.array(owners)), self.buckets[owners], columns, lengths)
        return table.encode(bucket)

    def decode(self, bucket: int, data: memoryview) -> None:
        table = self._stored()
        table.decode(bucket, data)
        if not len(table):
            return
        owner = np.repeat(len(self.buckets) + np.arange(len(table)), np.diff(table.offsets))
        ranks = [np.asarray(table.columns[f"{RANK}{i}"]) for i in range(len(self.ranks))]
        self.add_keys(table.keys, table.buckets, ranks)
        self.put(np.full(len(owner), -1), owner, {name: table.columns[name] for name in self.columns})
        if self.numbered and len(self):
            self.arrived = max(self.arrived, int(np.asarray(self.columns[NEWEST]).max()) + 1)

    def _stored(self) -> Table:
        """An empty table of this form, with a row per key."""
        none = np.zeros(0, np.int64)
        ranks = {f"{RANK}{i}": none for i in range(len(self.ranks))}
        return Table(ranks | self.columns, frozenset(self.columns))


def _put(column: Column, rows: Array, values: Column, known: Array, new: Array) -> Column:
    if isinstance(column, np.ndarray) and isinstance(values, np.ndarray):
        column[rows] = values[known]
        return np.concatenate([column, values[new]]) if len(new) else column
    source = np.arange(len(column) + len(new))
    source[rows] = len(column) + known
    source[len(column) :] = len(column) + new
    return take(concat([column, values]), source)

"""State: tables of keys in buckets. Only dirty buckets are written.

A bucket is one binary value in the store of its channel: a JSON header, then one part per operator, an Arrow IPC stream
or, for operators written in Python, a pickled list of keys (`records.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.errors import CheckpointError
from thalweg.runtime.columns import Array, Column, concat, take
from thalweg.runtime.keys import Keys, buckets_of
from thalweg.runtime.left_folds import ranges
from thalweg.runtime.objects import from_stored, to_stored

STATE_VERSION = 2
RANK = "#"  # stored columns with this prefix order keys; no attribute has such a name
TIMES = -1  # stored next to the buckets: the event time at each operator


class BucketStore(Protocol):
    """The store of one channel's buckets between epochs."""

    def get(self, bucket: int) -> bytes | None: ...

    def put(self, bucket: int, data: bytes) -> None: ...


def write_batch(batch: pa.RecordBatch) -> bytes:
    """A table's part of a bucket."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def pack_bucket(parts: Sequence[tuple[str, bytes | memoryview]]) -> bytes:
    """A bucket that consists of these operators' parts."""
    header = json.dumps({"version": STATE_VERSION, "operators": [(n, len(p)) for n, p in parts]}).encode()
    return b"".join([len(header).to_bytes(4, "little"), header, *(p for _, p in parts)])


class Table:
    """The state of one operator: a row per key. Columns are plain, or ragged (a list per key).

    `block`: a key whose "count" is a multiple of it holds nothing, and is not stored.
    """

    def __init__(
        self, columns: Mapping[str, Column], ragged: frozenset[str] = frozenset(), block: int | None = None
    ) -> None:
        self.block = block
        self.keys: pa.Array | None = None
        self.buckets: Array = np.zeros(0, np.int64)
        self.columns: dict[str, Column] = {name: take(c, np.zeros(0, np.int64)) for name, c in columns.items()}
        self.offsets: Array = np.zeros(1, np.int64)
        self.ragged = ragged

    def __len__(self) -> int:
        return len(self.buckets)

    def find(self, distinct: pa.Array) -> Array:
        """The row of each key, or -1."""
        if self.keys is None:
            return np.full(len(distinct), -1, np.int64)
        found: Array = pc.index_in(distinct, value_set=self.keys).fill_null(-1).to_numpy().astype(np.int64)
        return found

    def append(self, keys: pa.Array, buckets: Array, columns: Mapping[str, Column], lengths: Array) -> None:
        """Add rows of keys that the table does not have; `lengths`: of their lists."""
        self.keys = keys if self.keys is None else pa.concat_arrays([self.keys, keys])
        self.buckets = np.concatenate([self.buckets, buckets])
        self.columns = {name: concat([c, columns[name]]) for name, c in self.columns.items()}
        self.offsets = np.concatenate([self.offsets, self.offsets[-1] + np.cumsum(lengths)])

    def update(self, rows: Array, columns: Mapping[str, Column]) -> None:
        """Set the values of plain columns in these rows."""
        source = np.arange(len(self))
        source[rows] = len(self) + np.arange(len(rows))
        for name, values in columns.items():
            self.columns[name] = take(concat([self.columns[name], values]), source)

    def update_lists(self, rows: Array, columns: Mapping[str, Column], lengths: Array) -> None:
        """Set the lists in these rows: all ragged columns together, because they share their lengths."""
        starts, counts = self.offsets[:-1].copy(), np.diff(self.offsets)
        starts[rows] = self.offsets[-1] + np.cumsum(lengths) - lengths
        counts[rows] = lengths
        source = ranges(starts, counts)
        for name in self.ragged:
            self.columns[name] = take(concat([self.columns[name], columns[name]]), source)
        self.offsets = np.append(0, np.cumsum(counts))

    def encode(self, bucket: int) -> bytes:
        kept = self.buckets == bucket
        if self.block is not None:
            kept &= np.asarray(self.columns["count"]) % self.block != 0
        rows = np.flatnonzero(kept)
        lengths = np.diff(self.offsets)[rows]
        inner = ranges(self.offsets[:-1][rows], lengths)
        arrays = {"key": pa.nulls(0) if self.keys is None else self.keys.take(pa.array(rows))}
        list_offsets = pa.array(np.append(0, np.cumsum(lengths)).astype(np.int32))
        for name, column in self.columns.items():
            part = to_stored(take(column, inner if name in self.ragged else rows))
            arrays[name] = pa.ListArray.from_arrays(list_offsets, part) if name in self.ragged else part
        batch = pa.RecordBatch.from_pydict(arrays)
        return write_batch(batch)

    def decode(self, bucket: int, data: memoryview) -> None:
        with pa.ipc.open_stream(data) as reader:
            batch = reader.read_next_batch()
        if not batch.num_rows:
            return
        lengths = np.zeros(batch.num_rows, np.int64)
        columns: dict[str, Column] = {}
        for name in self.columns:
            array = batch.column(name)
            if name in self.ragged:
                lengths = np.diff(array.offsets.to_numpy()).astype(np.int64)
                array = array.values
            columns[name] = from_stored(array)
        self.append(batch.column("key"), np.full(batch.num_rows, bucket, np.int64), columns, lengths)


class Stored(Protocol):
    """The state of one operator, encoded and decoded bucket by bucket."""

    def encode(self, bucket: int) -> bytes: ...

    def decode(self, bucket: int, data: memoryview) -> None: ...


class State:
    """The state of one PE on one channel during one epoch: tables filled from buckets as keys appear.

    A bucket is read from the store once; each operator's part of it is decoded when that operator first needs it. So an
    operator's table changes only while the operator runs, and operators in different segments do not share a table.
    """

    def __init__(self, store: BucketStore, buckets: int, tables: Mapping[str, Stored], epoch: int = 0) -> None:
        self.store, self.buckets, self.tables, self.epoch = store, buckets, tables, epoch
        self.marked: set[str] = set()  # operators that have forwarded a mark in this epoch
        self.dirty: set[int] = set()
        self._loaded: dict[str, set[int]] = {name: set() for name in tables}
        self._parts: dict[int, dict[str, memoryview]] = {}  # of the buckets that were read, as they are stored
        self._times: dict[str, int] | None = None
        self._stored_times = b""
        self._reading = Lock()  # of the store, which segments in different threads share

    def times(self) -> dict[str, int]:
        """The event time at each operator that takes marks; every channel keeps its own."""
        with self._reading:
            if self._times is None:
                self._stored_times = self.store.get(TIMES) or b"{}"
                self._times = json.loads(self._stored_times)
        return self._times

    def rows(self, operator: str, keys: Keys, *, writes: bool) -> tuple[Table, Array, Array]:
        """The operator's table, the row of each distinct key (-1: none yet), and the keys' buckets."""
        buckets = self.touch(operator, keys, writes=writes)
        table = self.tables[operator]
        assert isinstance(table, Table)
        return table, table.find(keys.distinct), buckets

    def touch(self, operator: str, keys: Keys, *, writes: bool) -> Array:
        """Load the operator's part of the buckets of these keys; the bucket of each distinct key."""
        buckets = buckets_of(keys.distinct, self.buckets)
        touched = np.unique(buckets).tolist()
        self._load(operator, touched)
        if writes:
            self.dirty.update(touched)
        return buckets

    def load_all(self, operator: str) -> None:
        """Load all stored state of an operator."""
        self._load(operator, range(self.buckets))

    def _load(self, operator: str, buckets: Iterable[int]) -> None:
        loaded = self._loaded[operator]
        for bucket in buckets:
            if bucket not in loaded:
                loaded.add(bucket)
                part = self._stored(bucket).get(operator)
                if part is not None:
                    self.tables[operator].decode(bucket, part)

    def _stored(self, bucket: int) -> Mapping[str, memoryview]:
        """The parts of a bucket by operator, as they are in the store."""
        with self._reading:
            if bucket not in self._parts:
                data = self.store.get(bucket)
                self._parts[bucket] = {} if data is None else _unpacked(data)
            return self._parts[bucket]

    def commit(self) -> None:
        """Write the dirty buckets back."""
        for bucket in sorted(self.dirty):
            self.store.put(bucket, pack_bucket([(name, self._part(name, bucket)) for name in self.tables]))
        self.dirty.clear()
        if self._times is not None and (times := json.dumps(self._times).encode()) != self._stored_times:
            self.store.put(TIMES, times)

    def _part(self, operator: str, bucket: int) -> bytes | memoryview:
        """An operator's part of a dirty bucket. A part that was not loaded has not changed."""
        if bucket not in self._loaded[operator] and (stored := self._stored(bucket).get(operator)) is not None:
            return stored
        return self.tables[operator].encode(bucket)


def _unpacked(data: bytes) -> dict[str, memoryview]:
    view = memoryview(data)
    size = int.from_bytes(view[:4], "little")
    header = json.loads(bytes(view[4 : 4 + size]))
    if header["version"] != STATE_VERSION:
        raise CheckpointError(
            "this state was written by a different version", expected=str(STATE_VERSION), found=str(header["version"])
        )
    parts: dict[str, memoryview] = {}
    start = 4 + size
    for operator, length in header["operators"]:
        parts[operator] = view[start : start + length]
        start += length
    return parts

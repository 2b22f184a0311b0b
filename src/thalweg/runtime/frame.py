"""Frames: the unit of transport. An Arrow record batch of one stream with its order columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thalweg.runtime.columns import Array, Coded, Column, compact, concat, from_arrow, take, window
from thalweg.runtime.objects import is_boxed, pack, unpack

Sub = Array | int  # a sub-position: one per tuple, or one for all tuples of the frame

_POSITION, _SUB = "__position", "__sub"
_SIGNED = (np.int8, np.int16, np.int32, np.int64)


@dataclass(frozen=True, slots=True)
class Frame:
    """Tuples of one stream in one epoch, sorted by their order key (position, sub-positions…)."""

    position: npt.NDArray[np.int64]
    subs: tuple[Sub, ...]
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.position)

    def take(self, indices: Array) -> Frame:
        return Frame(
            self.position.take(indices),
            tuple(s if isinstance(s, int) else s.take(indices) for s in self.subs),
            {name: take(column, indices) for name, column in self.columns.items()},
        )

    def window(self, start: int, stop: int) -> Frame:
        return Frame(
            self.position[start:stop],
            tuple(s if isinstance(s, int) else s[start:stop] for s in self.subs),
            {name: window(column, start, stop) for name, column in self.columns.items()},
        )

    def where(self, mask: Array) -> Frame:
        kept = np.flatnonzero(mask)
        return self if len(kept) == len(self) else self.take(kept)

    def with_columns(self, columns: Mapping[str, Column]) -> Frame:
        return Frame(self.position, self.subs, columns)

    def select(self, names: Sequence[str]) -> Frame:
        return self if tuple(self.columns) == tuple(names) else self.with_columns({n: self.columns[n] for n in names})

    def with_sub(self, sub: Sub) -> Frame:
        return Frame(self.position, (*self.subs, sub), self.columns)

    def sub(self, index: int) -> npt.NDArray[np.int64]:
        """A sub-position of each tuple."""
        sub = self.subs[index]
        return np.full(len(self), sub, np.int64) if isinstance(sub, int) else sub

    def padded(self, width: int) -> Frame:
        """The frame with as many sub-positions as the streams that it is merged with."""
        missing = width - len(self.subs)
        return Frame(self.position, self.subs + (0,) * missing, self.columns) if missing else self

    def order_key(self, row: int) -> tuple[int, ...]:
        subs = (s if isinstance(s, int) else int(s[row]) for s in self.subs)
        return (int(self.position[row]), *subs)


def join_frames(frames: Sequence[Frame]) -> Frame:
    """The frames concatenated, unsorted; all have the same attributes and width."""
    if len(frames) == 1:
        return frames[0]
    return Frame(
        np.concatenate([f.position for f in frames]),
        tuple(_join_sub([f.subs[i] for f in frames], frames) for i in range(len(frames[0].subs))),
        {name: concat([f.columns[name] for f in frames]) for name in frames[0].columns},
    )


def _join_sub(subs: Sequence[Sub], frames: Sequence[Frame]) -> Sub:
    first = subs[0]
    if isinstance(first, int) and all(isinstance(s, int) and s == first for s in subs):
        return first
    parts = [np.full(len(f), s, np.int64) if isinstance(s, int) else s for s, f in zip(subs, frames, strict=True)]
    return np.concatenate(parts)


def encode(frame: Frame) -> bytes:
    """The frame as one Arrow IPC stream, in few bytes: the JVM copies them several times in transit.

    Integers get the narrowest type that holds them. Positions, which ascend, are stored as differences. Sub-positions
    that are the same for all tuples are stored once, in the schema, as are columns of Python values, in one pickle.
    """
    first = int(frame.position[0]) if len(frame) else 0
    arrays = {_POSITION: pa.array(_narrow(np.diff(frame.position, prepend=first)))}
    constants: dict[str, int] = {}
    for index, sub in enumerate(frame.subs):
        if isinstance(sub, int):
            constants[str(index)] = sub
        else:
            arrays[f"{_SUB}{index}"] = pa.array(_narrow(sub))
    boxed = {name: column for name, column in frame.columns.items() if is_boxed(column)}
    arrays |= {name: _column_to_arrow(compact(c)) for name, c in frame.columns.items() if name not in boxed}
    header = {"first": first, "width": len(frame.subs), "constants": constants, "names": list(frame.columns)}
    metadata = {b"thalweg": json.dumps(header).encode()} | ({b"boxed": pack(boxed)} if boxed else {})
    schema = pa.schema([(n, a.type) for n, a in arrays.items()], metadata=metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(list(arrays.values()), schema=schema))
    return bytes(sink.getvalue().to_pybytes())


def _narrow(values: Array) -> Array:
    """The same integers in the narrowest signed type that holds them all."""
    if not values.size:
        return values
    reach = max(int(values.max()), ~int(values.min()))
    return values.astype(next(t for t in _SIGNED if reach <= np.iinfo(t).max), copy=False)


def _column_to_arrow(column: Column) -> pa.Array:
    if isinstance(column, Coded):
        return pa.DictionaryArray.from_arrays(pa.array(_narrow(column.codes)), column.values)
    return pa.array(_narrow(column) if column.dtype == np.int64 else column)


def decode(data: bytes | memoryview | pa.Buffer) -> Frame:
    """The frame that `encode` wrote."""
    with pa.ipc.open_stream(data) as reader:
        batch = reader.read_next_batch()
    header = json.loads(batch.schema.metadata[b"thalweg"])
    columns = {name: _widen(from_arrow(batch.column(i))) for i, name in enumerate(batch.schema.names)}
    if b"boxed" in batch.schema.metadata:
        columns |= unpack(batch.schema.metadata[b"boxed"])
    steps = columns.pop(_POSITION)
    assert isinstance(steps, np.ndarray)
    subs: list[Any] = [
        header["constants"][str(i)] if str(i) in header["constants"] else columns.pop(f"{_SUB}{i}")
        for i in range(header["width"])
    ]
    return Frame(header["first"] + np.cumsum(steps), tuple(subs), {name: columns[name] for name in header["names"]})


def _widen(column: Column) -> Column:
    if isinstance(column, Coded) or column.dtype.kind != "i":
        return column
    return column.astype(np.int64, copy=False)

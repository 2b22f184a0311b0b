"""Keys: canonical form, stable hash, buckets.

The canonical form makes values that are equal in Python equal: −0.0 is 0.0, all NaNs are one NaN, a bool is its int.
For other types it consists of bytes, computed value by value (`ir/canonical_form.py`).
The hash is specific to Thalweg (version 1): splitmix64's finalizer over the 64-bit words of the canonical form. It
determines the bucket of stored state, so it must never change; a new hash gets a new version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thalweg.ir.canonical_form import canonical
from thalweg.ir.plan import Route
from thalweg.runtime.columns import Array, Coded, Column

HASH_VERSION = 1
_SEED = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a frame: `distinct[codes[i]]` is the canonical key of row i. Every distinct key occurs."""

    codes: npt.NDArray[np.int64]
    distinct: pa.Array

    def __len__(self) -> int:
        return len(self.codes)


def keys_of(columns: Sequence[Column], rows: int) -> Keys:
    """The keys that the columns of a frame's key attributes form."""
    if not columns:
        return Keys(np.zeros(rows, np.int64), pa.array([0], pa.int64()))
    parts = [_part(column) for column in columns]
    if len(parts) == 1:
        return parts[0]
    codes = parts[0].codes
    for part in parts[1:]:
        pair = pa.array(codes * len(part.distinct) + part.codes).dictionary_encode()
        codes = pair.indices.to_numpy().astype(np.int64)
    first = first_rows(codes)
    return Keys(codes, pa.array([_pack(parts, row) for row in first.tolist()], pa.binary()))


def _part(column: Column) -> Keys:
    if isinstance(column, Coded):
        return _used(column.codes, column.values)
    if column.dtype.hasobject:
        return _boxed(column)
    if column.dtype == np.float64:
        column = np.where(np.isnan(column), np.nan, column + 0.0).view(np.int64)
    encoded = pa.array(column.astype(np.int64, copy=False)).dictionary_encode()
    return Keys(encoded.indices.to_numpy().astype(np.int64), encoded.dictionary)


def _boxed(column: Array) -> Keys:
    numbers: dict[bytes, int] = {}
    codes = np.fromiter((numbers.setdefault(canonical(v), len(numbers)) for v in column), np.int64, len(column))
    return Keys(codes, pa.array(list(numbers), pa.binary()))


def _used(codes: Array, values: pa.Array) -> Keys:
    """Only values that occur: a dictionary may hold keys of other channels, which must not get state here."""
    occurs = np.zeros(len(values), np.bool_)
    occurs[codes] = True
    if occurs.all():
        return Keys(codes.astype(np.int64), values)
    renumbered = np.cumsum(occurs) - 1
    return Keys(renumbered[codes], values.filter(pa.array(occurs)))


def first_rows(codes: Array) -> Array:
    first = np.full(int(codes.max(initial=-1)) + 1, len(codes), np.int64)
    np.minimum.at(first, codes, np.arange(len(codes)))
    return first


def _pack(parts: Sequence[Keys], row: int) -> bytes:
    """Several attributes as bytes: numbers in 8 bytes, strings and canonical bytes after their length."""
    packed = b""
    for part in parts:
        value = part.distinct[int(part.codes[row])].as_py()
        if isinstance(value, str | bytes):
            data = value.encode() if isinstance(value, str) else value
            packed += len(data).to_bytes(8, "little") + data
        else:
            packed += value.to_bytes(8, "little", signed=True)
    return packed


def buckets_of(distinct: pa.Array, buckets: int) -> npt.NDArray[np.int64]:
    return (stable_hash(distinct) % np.uint64(buckets)).astype(np.int64)


def channels_of(buckets: npt.NDArray[np.int64], route: Route) -> npt.NDArray[np.int64]:
    """The channels to which a route by key sends these buckets."""
    return buckets % route.degree if route.table is None else np.array(route.table, np.int64)[buckets]


def stable_hash(distinct: pa.Array) -> npt.NDArray[np.uint64]:
    """The hash of each canonical key (int64, string or binary)."""
    with np.errstate(over="ignore"):
        if pa.types.is_int64(distinct.type):
            return mix(distinct.to_numpy().view(np.uint64) ^ _SEED)
        return _hash_bytes(distinct.cast(pa.binary()))


def _hash_bytes(distinct: pa.Array) -> npt.NDArray[np.uint64]:
    _, offset_buffer, data_buffer = distinct.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[distinct.offset : distinct.offset + len(distinct) + 1].astype(
        np.int64
    )
    data = np.frombuffer(data_buffer or b"", np.uint8)
    padded = np.concatenate([data, np.zeros(8, np.uint8)])
    # A 64-bit word at every byte offset: reading past a string's end is harmless, the extra bytes are shifted out.
    words = np.lib.stride_tricks.as_strided(padded.view(np.uint8)[:8].view("<u8"), (len(data) + 1,), (1,))
    starts, lengths = offsets[:-1], np.diff(offsets)
    hashes = _SEED ^ (lengths.astype(np.uint64) * np.uint64(0xFF51AFD7ED558CCD))
    for word in range(int(lengths.max(initial=0) + 7) // 8):
        active = np.flatnonzero(lengths > 8 * word)
        unused = np.clip(8 * (word + 1) - lengths[active], 0, 7).astype(np.uint64) * np.uint64(8)
        value = words[starts[active] + 8 * word] << unused
        hashes[active] = mix(hashes[active] ^ value)
    return mix(hashes)


def mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))

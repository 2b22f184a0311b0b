"""Read a bucket without the program that wrote it, and without running code from it, for `thalweg state`.

A bucket is a JSON header and one blob per operator (`runtime.state`). A blob is an Arrow stream (a row per key) or a
pickled list of keys, each with a separate pickle: (key values, rank, the object's attributes) (`runtime.records`).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from thalweg.errors import CheckpointError
from thalweg.runtime.plain_pickles import plain_loads
from thalweg.runtime.records import StoredEntry
from thalweg.runtime.state import RANK, STATE_VERSION

_ARROW, _PICKLE = b"\xff\xff\xff\xff", b"\x80"


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """One key and its stored state."""

    key: tuple[Any, ...]
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OperatorPart:
    """The part of a bucket that belongs to one operator."""

    operator: str
    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)

    def table(self) -> pa.RecordBatch | None:
        """The table with a row per key; None if the part is not a table."""
        if not self.data.startswith(_ARROW):
            return None
        with pa.ipc.open_stream(self.data) as reader:
            return reader.read_next_batch()

    def records(self) -> list[StoredEntry] | None:
        """The keys of an operator written in Python; None if the part is not a list of keys."""
        if not self.data.startswith(_PICKLE):
            return None
        match plain_loads(self.data):
            case list() as kept if all(isinstance(item, tuple) and len(item) == 3 for item in kept):
                return [StoredEntry(*item) for item in kept]
        return None

    def keys(self) -> int | None:
        """The number of keys; None for a format that this version does not support."""
        if (table := self.table()) is not None:
            return int(table.num_rows)
        kept = self.records()
        return None if kept is None else len(kept)

    def entries(self, kinds: Mapping[str, str]) -> Iterator[KeyEntry]:
        """The keys with their values. `kinds`: the key's attributes and their types."""
        if (table := self.table()) is not None:
            for row in table.to_pylist():
                key = readable_key(row.pop("key"), kinds)
                yield KeyEntry(key, {name: value for name, value in row.items() if not name.startswith(RANK)})
        for entry in self.records() or ():
            match plain_loads(entry.data):
                case (tuple(values), _, dict(attributes)):
                    yield KeyEntry(values, attributes)
                case other:
                    raise CheckpointError("the stored state of a key cannot be read", found=repr(other))


def describe_bucket(data: bytes) -> list[OperatorPart]:
    """The parts of a bucket, one per operator."""
    size = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + size])
    if header["version"] != STATE_VERSION:
        raise CheckpointError(
            "this state was written by a different version", expected=str(STATE_VERSION), found=str(header["version"])
        )
    parts, start = [], 4 + size
    for operator, length in header["operators"]:
        parts.append(OperatorPart(operator, bytes(data[start : start + length])))
        start += length
    return parts


def readable_key(key: Any, kinds: Mapping[str, str]) -> tuple[Any, ...]:
    """A canonical key (`runtime.keys`) as the values of its attributes, as far as their types are known."""
    types = list(kinds.values())
    if not types:
        return ()
    if len(types) == 1:
        return (_value(key, types[0]),)
    if not isinstance(key, bytes) or not set(types) <= {"int", "float", "bool", "str"}:
        return (key,)
    values, at = [], 0
    for kind in types:
        word = int.from_bytes(key[at : at + 8], "little", signed=True)
        at += 8
        if kind == "str":
            values.append(key[at : at + word].decode())
            at += word
        else:
            values.append(_value(word, kind))
    return tuple(values)


def _value(canonical: Any, kind: str) -> Any:
    if kind == "float" and isinstance(canonical, int):
        return struct.unpack("<d", struct.pack("<q", canonical))[0]
    return bool(canonical) if kind == "bool" else canonical

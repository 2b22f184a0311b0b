"""The state of operators written in Python: one object per key, pickled bucket by bucket."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from thalweg.errors import CheckpointError, StateError
from thalweg.ir.library_logic import LibraryLogic
from thalweg.ir.logic import Logic, acts_on_marks, fresh
from thalweg.ir.operators import Process
from thalweg.ir.secret import is_secret
from thalweg.ir.state_pickles import HINT, dumps, not_storable
from thalweg.runtime.due_keys import DueKeys
from thalweg.runtime.key_ranks import key_rank
from thalweg.runtime.pickles import TypeTable, classes_of, loads
from thalweg.runtime.plain_pickles import plain_loads


@dataclass(slots=True, eq=False)
class KeyRecord:
    """A key and its object. `rank` orders the tuples that several keys emit at the same event."""

    key: int | str | bytes  # canonical
    logic: Logic
    values: tuple[Any, ...]
    rank: tuple[int, ...]
    bucket: int
    due: int | None = None  # as its operator's `DueKeys` has noted it

    @property
    def is_over(self) -> bool:
        """Whether the key can be forgotten: its code has asked for it, or its object holds nothing."""
        return self.logic._forgotten or (isinstance(self.logic, LibraryLogic) and self.logic.is_empty)


_MISSING = object()


class StoredEntry(NamedTuple):
    """One key in a bucket. Its state is a separate pickle: (values, rank, attributes).

    So keys can be moved to different buckets without the program and the user's classes, and no two keys
    share an object only because they were stored together.
    """

    key: int | str | bytes  # canonical
    version: int  # of the class that wrote it
    data: bytes


def pack_entries(entries: Iterable[StoredEntry]) -> bytes:
    return pickle.dumps([tuple(entry) for entry in entries], protocol=5)


def unpack_entries(data: bytes | memoryview) -> list[StoredEntry]:
    return [StoredEntry(*entry) for entry in plain_loads(data)]


class ObjectTable:
    """The objects of one operator, by bucket and canonical key."""

    def __init__(self, operator: Process, types: TypeTable, resource: Any) -> None:
        self.operator, self.types, self.resource = operator, types, resource
        self.buckets: dict[int, dict[Any, KeyRecord]] = {}
        self.due = DueKeys() if operator.marked and acts_on_marks(operator.logic) else None

    def find(self, bucket: int, key: Any, values: tuple[Any, ...], key_hash: int) -> KeyRecord:
        """The key's record; a new key starts with the attributes of the template."""
        records = self.buckets.setdefault(bucket, {})
        record = records.get(key)
        if record is None:
            record = records[key] = KeyRecord(key, self._fresh(), values, key_rank(values, key_hash), bucket)
        return record

    def called(self, record: KeyRecord) -> None:
        """To be called after each call of a key's code: forgets the key, or notes when it is due."""
        if record.is_over:
            del self.buckets[record.bucket][record.key]
        if self.due is not None:
            self.due.remove(record) if record.is_over else self.due.note(record)

    def _fresh(self) -> Logic:
        logic = fresh(self.operator.logic)
        logic.resource = self.resource
        return logic

    def all(self) -> Iterator[KeyRecord]:
        """In the order of their keys."""
        yield from sorted((r for records in self.buckets.values() for r in records.values()), key=lambda r: r.rank)

    def encode(self, bucket: int) -> bytes:
        """The stored form of the bucket's keys.

        An attribute that is still the template's is not stored: settings in a user's class follow the program.
        """
        records = self.buckets.get(bucket, {})
        version = self.operator.logic.version
        return pack_entries(StoredEntry(key, version, self._pickled(record)) for key, record in records.items())

    def _pickled(self, record: KeyRecord) -> bytes:
        changed = self._changed(record.logic)
        try:
            return dumps((record.values, record.rank, changed))
        except Exception as error:  # an object's own code may raise anything when it is pickled
            name, cause = not_storable(changed) or ("", error)
            raise StateError(
                f"the state of {self.operator.name} cannot be stored: {name} cannot be pickled",
                operator=self.operator.name,
                where=self.operator.where,
                found=f"{type(cause).__name__}: {cause}",
                hint=HINT,
            ) from error

    def _changed(self, logic: Logic) -> dict[str, Any]:
        template = self.operator.logic.__dict__
        return {n: v for n, v in logic.__dict__.items() if v is not template.get(n, _MISSING)}

    @cached_property
    def _classes(self) -> dict[str, type]:
        return classes_of(self.operator.logic)

    def decode(self, bucket: int, data: memoryview) -> None:
        for key, version, blob in unpack_entries(data):
            values, rank, attributes = loads(blob, self.types, self._classes)
            logic = self._fresh()
            attributes = {
                name: value for name, value in attributes.items() if not is_secret(value)
            }  # of older versions
            logic.__dict__.update(self._fitting(attributes, version))
            record = self.buckets.setdefault(bucket, {})[key] = KeyRecord(key, logic, values, rank, bucket)
            if self.due is not None:
                self.due.note(record)

    def _fitting(self, attributes: dict[str, Any], version: int) -> dict[str, Any]:
        logic = self.operator.logic
        if version == logic.version:
            return attributes
        try:
            return logic.upgrade(attributes, version)
        except NotImplementedError as error:
            raise CheckpointError(
                f"the stored state of {self.operator.name} has version {version}, but its class has {logic.version}",
                operator=self.operator.name,
                where=self.operator.where,
                found=str(error),
                hint="implement `upgrade(self, attributes, version)`, or start over with a different --checkpoint",
            ) from None

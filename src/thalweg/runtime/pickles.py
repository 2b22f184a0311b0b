"""Pickled state. Tuples inside it are stored by the name of their type: the classes of rows are made at run time."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from thalweg.errors import CheckpointError
from thalweg.ir.rows import row_maker
from thalweg.ir.types import AttributeType, TupleType

TypeTable = Mapping[str, TupleType]


def type_table(types: Iterable[TupleType]) -> dict[str, TupleType]:
    """The types by name, with those of the tuples inside their tuples."""
    return {_name(part): part for t in types for part in _with_parts(t)}


def _with_parts(tuple_type: TupleType) -> Iterator[TupleType]:
    yield tuple_type
    for _, kind in tuple_type.attributes:
        inner: AttributeType | None = kind
        while inner is not None:  # an optional list of tuples has its tuples two levels below
            if inner.fields is not None:
                yield from _with_parts(inner.fields)
            inner = inner.item


def _name(tuple_type: TupleType) -> str:
    return str(tuple_type)


class _Pickler(pickle.Pickler):
    def persistent_id(self, obj: Any) -> Any:
        tuple_type = getattr(type(obj), "tuple_type", None)
        if not isinstance(tuple_type, TupleType):
            return None
        names = tuple(n for n in tuple_type.names if hasattr(obj, n))
        return _name(tuple_type), names, dumps(tuple(getattr(obj, n) for n in names))


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, types: TypeTable) -> None:
        super().__init__(io.BytesIO(data))
        self.types = types

    def persistent_load(self, pid: Any) -> Any:
        type_name, names, values = pid
        if type_name not in self.types:
            raise CheckpointError(
                f"the stored state holds tuples of the type {type_name}, which the operator no longer has",
                expected=", ".join(self.types),
                hint="start anew with another --checkpoint, or give the operator its old types",
            )
        return row_maker(self.types[type_name], names)(*loads(values, self.types))


def dumps(value: Any) -> bytes:
    out = io.BytesIO()
    _Pickler(out, protocol=5).dump(value)
    return out.getvalue()


def loads(data: bytes, types: TypeTable) -> Any:
    return _Unpickler(data, types).load()

"""Rows with names: tuples whose values can also be read as attributes."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from operator import itemgetter
from typing import Any, TypeVar

from thalweg.ir.types import TupleType


class NamedRow(tuple[Any, ...]):
    """A tuple of a stream, outside of it. It equals a plain tuple of its values."""

    __slots__ = ()
    tuple_type: TupleType  # set by `row_class`, which makes a class for each type

    def __getattr__(self, name: str) -> Any:  # the attributes themselves are properties
        raise AttributeError(f"{self.tuple_type} has no attribute {name!r}")

    def __repr__(self) -> str:
        return row_text(self, self.tuple_type)

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the class of the user, which pickle could not store if it is defined in a function."""
        return _restored, (type(self).__base__, replace(self.tuple_type, python=None), tuple(self))


R = TypeVar("R", bound=NamedRow)


@lru_cache(maxsize=256)
def row_class(tuple_type: TupleType, base: type[R]) -> type[R]:
    """A class with a property per attribute: an attribute may be named `count` or `index`, as methods of `tuple`."""
    attributes = {name: property(itemgetter(index)) for index, name in enumerate(tuple_type.names)}
    return type(tuple_type.name, (base,), {"__slots__": (), "tuple_type": tuple_type, **attributes})


def row_text(values: Any, tuple_type: TupleType) -> str:
    inner = ", ".join(f"{name}={value!r}" for name, value in zip(tuple_type.names, values, strict=True))
    return f"{tuple_type.name}({inner})"


def _restored(base: type[NamedRow], tuple_type: TupleType, values: tuple[Any, ...]) -> NamedRow:
    made: NamedRow = row_class(tuple_type, base)(values)
    return made

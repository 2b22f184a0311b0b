"""Attribute types and tuple types."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


class AttributeType(enum.Enum):
    """The type of one attribute. `int` is 64 bits wide: a value outside is an error, never a wrap."""

    INT = "int"
    FLOAT = "float"
    STR = "str"
    BOOL = "bool"

    def __str__(self) -> str:
        return self.value


INT, FLOAT, STR, BOOL = AttributeType.INT, AttributeType.FLOAT, AttributeType.STR, AttributeType.BOOL

PYTHON_TYPES: Mapping[type, AttributeType] = {int: INT, float: FLOAT, str: STR, bool: BOOL}


@dataclass(frozen=True, slots=True)
class TupleType:
    """Named, typed attributes, in order."""

    name: str
    attributes: tuple[tuple[str, AttributeType], ...]
    # The user's class, where one was declared: its methods are there for opaque functions.
    python: type | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.attributes):
            raise ValueError(f"tuple type {self.name}: attribute names repeat: {', '.join(self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.attributes)

    def get(self, name: str) -> AttributeType | None:
        return dict(self.attributes).get(name)

    def kind(self, name: str) -> AttributeType:
        """The type of an attribute that is known to be there."""
        return dict(self.attributes)[name]

    def same_attributes(self, other: TupleType) -> bool:
        return self.attributes == other.attributes

    def __str__(self) -> str:
        inner = ", ".join(f"{name}: {kind}" for name, kind in self.attributes)
        return f"{self.name}({inner})"


def conform(value: object, kind: AttributeType) -> object:
    """The value as this attribute type, or a TypeError / OverflowError.

    An int is taken where a float is declared, as Python's own typing does; nothing else is converted.
    """
    if kind is FLOAT:
        if type(value) is float:
            return value
        if type(value) is int:
            return float(value)
    elif kind is INT:
        if type(value) is int:
            if INT64_MIN <= value <= INT64_MAX:
                return value
            raise OverflowError(f"{value} does not fit into a 64-bit int")
    elif kind is STR and type(value) is str:
        if not value.isascii():
            value.encode()  # a lone surrogate has no encoding, so no file and no frame could hold it
        return value
    elif kind is BOOL and type(value) is bool:
        return value
    raise TypeError(f"expected {kind}, found {type(value).__name__} ({value!r})")

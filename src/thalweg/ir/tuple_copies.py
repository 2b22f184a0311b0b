"""Copies of tuple types with frozen methods. Code may compare a tuple's class with any copy: all are one type."""

from __future__ import annotations

import abc
import types
import weakref
from collections import Counter
from dataclasses import replace
from typing import Any

from thalweg.ir.types import AttributeType, TupleType

IDENTITY = "__thalweg_type__"  # an attribute of a tuple type and of its copies, also in workers
_CODE = (types.FunctionType, staticmethod, classmethod, property)
_OF_PYTHON = ("tuple_type", IDENTITY)

_same_name: Counter[str] = Counter()
_originals: weakref.WeakKeyDictionary[type, type] = weakref.WeakKeyDictionary()


class _Copy(type):
    """The class of copies: an object of one copy of a type is an instance of all its copies."""

    def __instancecheck__(cls, instance: object) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, other: type) -> bool:
        own = vars(cls).get(IDENTITY)
        return super().__subclasscheck__(other) or (
            own is not None and any(vars(base).get(IDENTITY) == own for base in other.__mro__)
        )


class _AbstractCopy(_Copy, abc.ABCMeta):
    """The same, of a class with abc.ABC among its bases."""


METACLASSES: tuple[type[type], ...] = (_Copy, _AbstractCopy)


def is_tuple_type(cls: type) -> bool:
    return isinstance(vars(cls).get("tuple_type"), TupleType)


def metaclass_of_copies(cls: type) -> type[type]:
    return _AbstractCopy if isinstance(cls, abc.ABCMeta) else _Copy


def note_copy(cls: type, made: type) -> None:
    """`made` is a copy of the class. They get the same identity, which is the same in every run."""
    if IDENTITY not in vars(cls):
        name = f"{cls.__module__}.{cls.__qualname__}"
        _same_name[name] += 1
        setattr(cls, IDENTITY, f"{name} {_same_name[name]}")
    setattr(made, IDENTITY, vars(cls)[IDENTITY])
    _originals[made] = cls


def original(cls: type) -> type:
    """The user's own class, of which this is a copy."""
    return _originals.get(cls, cls)


def has_code(cls: type) -> bool:
    """Whether the class of tuples has code or values of the user, in itself, in a base or in an attribute's type."""
    return any(map(_has_own_code, (c for c in cls.__mro__ if not c.__module__.startswith("thalweg.")))) or any(
        inner is not None and inner is not cls and has_code(inner) for inner in vars(cls)["tuple_type"].classes()
    )


def _has_own_code(cls: type) -> bool:
    return cls is not object and any(
        not getattr(value, "made_by_thalweg", False)
        and (isinstance(value, _CODE) or not name.startswith("__"))
        and name not in _OF_PYTHON
        and not isinstance(value, types.MemberDescriptorType)
        for name, value in vars(cls).items()
    )


def with_classes(tuple_type: TupleType, copy_of: Any) -> TupleType:
    """The type with other Python classes: `copy_of` returns the one that replaces a class."""
    attributes = tuple((name, _kind(kind, copy_of)) for name, kind in tuple_type.attributes)
    python = None if tuple_type.python is None else copy_of(tuple_type.python)
    return replace(tuple_type, attributes=attributes, python=python)


def _kind(kind: AttributeType, copy_of: Any) -> AttributeType:
    if kind.fields is not None:
        return replace(kind, fields=with_classes(kind.fields, copy_of))
    return kind if kind.item is None else replace(kind, item=_kind(kind.item, copy_of))

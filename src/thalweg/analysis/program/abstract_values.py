"""Abstract values: the value of an expression is a set of items, its possible results."""

from __future__ import annotations

import ast
import datetime as dt
import decimal
import fractions
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from thalweg.ir.types import AttributeType, TupleType

Site = tuple[Any, ...]  # the place in the followed calls where an object was created


class PLAIN:
    """Used as a type: an immutable value without user code (a number, a string, None, a date …)."""


class TREE:
    """Used as a type: plain data of any shape (such as the result of `json.loads`)."""


@dataclass(frozen=True, slots=True)
class Root:
    """The owner of an object that existed before the call."""

    kind: str
    name: str
    held: object = field(default=None, compare=False, repr=False)
    ident: int = field(default=0, repr=False)  # of the object: two modules may use the same name

    @staticmethod
    def of(kind: str, name: str, held: object) -> Root:
        return Root(kind, name, held, id(held))

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


STATE = Root("state", "")  # of the current key: the only root whose objects may change
CONFIG = Root("the setting", "self.config")
CODE = Root("code", "")  # not only data: a stored function
RESOURCE = Root("the resource", "self.resource")


@dataclass(frozen=True, slots=True)
class ValueOf:
    """An immutable value of exactly this type."""

    type: type


@dataclass(frozen=True, slots=True)
class Given:
    """A value read from the input tuple; with a name, the unchanged value of that attribute."""

    kind: AttributeType
    name: str = ""
    port: int = 0


@dataclass(frozen=True, slots=True)
class InputTuple:
    """The input tuple of a port; `port` -1: a tuple of an earlier call."""

    type: TupleType
    port: int


@dataclass(frozen=True, slots=True)
class New:
    """A mutable object created during this call, at this site."""

    site: Site
    type: type


@dataclass(frozen=True, slots=True)
class Part:
    """An object of this type that existed before the call; `origin`: the object that an earlier call created."""

    root: Root
    type: type
    origin: New | None = None


class Known:
    """An object that exists during the analysis: a literal, or an object from outside that the code uses."""

    __slots__ = ("root", "value")

    def __init__(self, value: object, root: Root | None = None) -> None:
        self.value, self.root = value, root

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Known) or type(self.value) is not type(other.value):
            return False
        if isinstance(self.value, ATOMS):
            return repr(self.value) == repr(other.value) and self.root == other.root
        return self.value is other.value and self.root == other.root

    def __hash__(self) -> int:
        return hash(repr(self.value)) if isinstance(self.value, ATOMS) else id(self.value)


@dataclass(frozen=True, slots=True)
class Func:
    """A function that the code defines while it runs. `frame`: the call that defines it."""

    site: Site
    node: ast.Lambda | ast.FunctionDef
    frame: Any = field(compare=False)  # the site contains its key
    scopes: tuple[tuple[tuple[str, Site], ...], ...] = ()  # of the enclosing comprehensions


@dataclass(frozen=True, slots=True)
class Bound:
    """A Python function that is bound to a receiver."""

    function: Any
    receiver: Item


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a built-in type."""

    receiver: Item
    name: str


@dataclass(frozen=True, slots=True)
class Super:
    """`super()` of a class, for an object."""

    cls: type
    receiver: Item


class Submit:
    """The function that emits tuples; there is exactly one."""


@dataclass(frozen=True, slots=True)
class Anything:
    """An unknown object; only the roots through which it may be reached are known."""

    roots: frozenset[Root] = frozenset()


Item = ValueOf | Given | InputTuple | New | Part | Known | Func | Bound | Method | Super | Submit | Anything
Value = frozenset[Item]

NOTHING: Value = frozenset()
UNKNOWN: Value = frozenset((Anything(),))
SUBMIT = Submit()

ATOMS = (int, float, str, bytes, bool, complex, type(None), type(Ellipsis))
_TIMES = (dt.date, dt.datetime, dt.time, dt.timedelta, dt.timezone)
_NUMBERS = (decimal.Decimal, fractions.Fraction)
SCALARS: tuple[type, ...] = (*ATOMS, *_TIMES, *_NUMBERS, uuid.UUID, range, slice, re.Match, re.Pattern)
MANY = 12


def just(item: Item) -> Value:
    """The value with exactly this item."""
    return frozenset((item,))


def of(*types: type) -> Value:
    return frozenset(ValueOf(t) for t in types)


INT, FLOAT, STR, BOOL, BYTES, NONE, PLAINS = (of(t) for t in (int, float, str, bool, bytes, type(None), PLAIN))


def joined(a: Value, b: Value) -> Value:
    """The join of two values."""
    return a if b is a or b <= a else b if a <= b else join((a, b))


def join(values: Iterable[Value]) -> Value:
    """The join of these values. If there are many items, literals become their types; unknown objects become one."""
    found = frozenset[Item]().union(*values)
    unknown = [item for item in found if isinstance(item, Anything)]
    if len(unknown) > 1:
        merged = Anything(frozenset[Root]().union(*(item.roots for item in unknown)))
        found = found.difference(unknown) | {merged}
    if len(found) > MANY:
        found = frozenset(_typed(item) for item in found)
    return found


def _typed(item: Item) -> Item:
    return ValueOf(type(item.value)) if isinstance(item, Known) and isinstance(item.value, ATOMS) else item


def aged(value: Value, root: Root) -> Value:
    """The value as a later call finds it under a root: the input tuple is then a tuple of an earlier call."""
    return frozenset(_aged(item, root) for item in value)


def _aged(item: Item, root: Root) -> Item:
    match item:
        case Given(kind):
            return Given(kind, "", -1)
        case InputTuple(kind):
            return InputTuple(kind, -1)
        case New(_, kind):
            return Part(root, kind, item)
        case Func() | Bound() | Method() | Super():
            return Anything(frozenset((root, CODE)))
    return item


def only(value: Value) -> Item | None:
    """The only item of a value; None if there are none or several."""
    return next(iter(value)) if len(value) == 1 else None


def literal(value: Value) -> Known | None:
    """The constant of a value that is a single constant, written in the code."""
    item = only(value)
    return item if isinstance(item, Known) and item.root is None and isinstance(item.value, ATOMS) else None


KINDS: dict[str, type] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "bytes": bytes,
    "datetime": dt.datetime,
    "date": dt.date,
    "Decimal": decimal.Decimal,
    "list": list,
}


def types_of(item: Item) -> tuple[type, ...] | None:
    """The types (or PLAIN, TREE) that an item may have; None if they are unknown."""
    match item:
        case ValueOf(kind) | New(_, kind) | Part(_, kind):
            return (kind,)
        case Known(value=value):
            return (type(value),)
        case Given(kind):
            if kind.required.kind not in KINDS:
                return None
            own = KINDS[kind.required.kind]
            return (own, type(None)) if kind.optional else (own,)
    return None


def classes_of(item: Item) -> tuple[type, ...]:
    """The class of an item with class attributes; empty if it is unknown."""
    match item:
        case New(_, kind) | Part(_, kind):
            return (kind,)
        case Known(value=value):
            return (type(value),)
        case InputTuple(kind):
            return (kind.python,) if kind.python is not None else ()
        case Given(kind) if kind.required.fields is not None and kind.required.fields.python is not None:
            return (kind.required.fields.python,)
    return ()

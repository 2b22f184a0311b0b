"""Abstract values: an expression has a set of items, the things that it may evaluate to."""

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

Site = tuple[Any, ...]  # where in the followed calls something was made


class PLAIN:
    """Used as a type: some immutable value without code of the user's (a number, a text, None, a date …)."""


class TREE:
    """Used as a type: plain data of any shape (what `json.loads` returns)."""


@dataclass(frozen=True, slots=True)
class Root:
    """What owns an object that existed before the call."""

    kind: str
    name: str
    held: object = field(default=None, compare=False, repr=False)
    ident: int = field(default=0, repr=False)  # of the object: two modules may use one name

    @staticmethod
    def of(kind: str, name: str, held: object) -> Root:
        return Root(kind, name, held, id(held))

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


STATE = Root("state", "")  # of the operator's own key: the one thing that may change
CONFIG = Root("the setting", "self.config")
CODE = Root("code", "")  # not only data: a function that was kept
RESOURCE = Root("the resource", "self.resource")


@dataclass(frozen=True, slots=True)
class Of:
    """An immutable value of exactly this type."""

    type: type


@dataclass(frozen=True, slots=True)
class Given:
    """A value reached from the input tuple; with a name, that attribute's own value, unchanged."""

    kind: AttributeType
    name: str = ""
    port: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """The input tuple of a port; `port` -1: one of an earlier call."""

    type: TupleType
    port: int


@dataclass(frozen=True, slots=True)
class New:
    """A mutable object made during this call, at this site."""

    site: Site
    type: type


@dataclass(frozen=True, slots=True)
class Part:
    """Something of this type that is reached from what is older than the call; `origin`: what an earlier call made."""

    root: Root
    type: type
    origin: New | None = None


class Known:
    """An object that exists now: a literal, or something that the code reaches from outside."""

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
    """A function that the code defines while it runs. `frame` is that of the call that did."""

    site: Site
    node: ast.Lambda | ast.FunctionDef
    frame: Any = field(compare=False)  # the site has its key
    scopes: tuple[tuple[tuple[str, Site], ...], ...] = ()  # of the comprehensions around it


@dataclass(frozen=True, slots=True)
class Bound:
    """A Python function as a method of something."""

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
    """The function that emits; there is exactly one."""


@dataclass(frozen=True, slots=True)
class Anything:
    """An object of which only the owners through which it may be reached are known."""

    roots: frozenset[Root] = frozenset()


Item = Of | Given | Row | New | Part | Known | Func | Bound | Method | Super | Submit | Anything
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
    """The value that is exactly this item."""
    return frozenset((item,))


def of(*types: type) -> Value:
    return frozenset(Of(t) for t in types)


INT, FLOAT, STR, BOOL, BYTES, NONE, PLAINS = (of(t) for t in (int, float, str, bool, bytes, type(None), PLAIN))


def joined(a: Value, b: Value) -> Value:
    """One of two values."""
    return a if b is a or b <= a else b if a <= b else join((a, b))


def join(values: Iterable[Value]) -> Value:
    """Any of these values. Many literals become their types, many unknown objects one."""
    found = frozenset[Item]().union(*values)
    unknown = [item for item in found if isinstance(item, Anything)]
    if len(unknown) > 1:
        merged = Anything(frozenset[Root]().union(*(item.roots for item in unknown)))
        found = found.difference(unknown) | {merged}
    if len(found) > MANY:
        found = frozenset(_typed(item) for item in found)
    return found


def _typed(item: Item) -> Item:
    return Of(type(item.value)) if isinstance(item, Known) and isinstance(item.value, ATOMS) else item


def aged(value: Value, root: Root) -> Value:
    """The value as a later call finds it under a root: the input tuple is an old one by then."""
    return frozenset(_aged(item, root) for item in value)


def _aged(item: Item, root: Root) -> Item:
    match item:
        case Given(kind):
            return Given(kind, "", -1)
        case Row(kind):
            return Row(kind, -1)
        case New(_, kind):
            return Part(root, kind, item)
        case Func() | Bound() | Method() | Super():
            return Anything(frozenset((root, CODE)))
    return item


def only(value: Value) -> Item | None:
    """The item of a value that has exactly one."""
    return next(iter(value)) if len(value) == 1 else None


def literal(value: Value) -> Known | None:
    """The constant of a value that is one constant, written in the code."""
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
    """The types (or PLAIN, TREE) that an item may have; None: they are not known."""
    match item:
        case Of(kind) | New(_, kind) | Part(_, kind):
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
    """The class of an item that has attributes of a class; none if it is not known."""
    match item:
        case New(_, kind) | Part(_, kind):
            return (kind,)
        case Known(value=value):
            return (type(value),)
        case Row(kind):
            return (kind.python,) if kind.python is not None else ()
        case Given(kind) if kind.required.fields is not None and kind.required.fields.python is not None:
            return (kind.required.fields.python,)
    return ()

"""What values contain: whether they are plain data, how many elements they have, which fields."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from thalweg.analysis.program import live_objects
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.python_types import ITERATOR, MAPPINGS, is_built_in
from thalweg.analysis.program.store import ANY_NUMBER, Count, either
from thalweg.analysis.program.values import Given, Item, Known, New, Of, Part, Row, Value, only
from thalweg.ir.types import AttributeType


def is_plain(m: Machine, *values: Value) -> bool:
    """Whether these are built-in data through and through."""
    return all(_is_plain(item) for item in m.memory.reach(values))


def _is_plain(item: Item) -> bool:
    match item:
        case Of():
            return True
        case Given(given):
            return all(cls is None or not live_objects.own_operators(cls) for cls in _classes(given))
        case New(_, kind) | Part(_, kind):
            return is_built_in(kind) or _has_no_operators(kind)
        case Known(value=value):
            return live_objects.is_plain(value) or isinstance(value, type) or _has_no_operators(type(value))
        case Row(kind):
            return kind.python is None or not live_objects.own_operators(kind.python)
    return False


def is_plain_data(m: Machine, *values: Value) -> bool:
    """Whether there are no objects of classes among them either: what is made of them shares nothing with them."""
    items = m.memory.reach(values)
    return all(map(_is_plain, items)) and not any(map(_is_object, items))


def _is_object(item: Item) -> bool:
    match item:
        case New(_, kind) | Part(_, kind):
            return not is_built_in(kind)
        case Known(value=value):
            return not live_objects.is_plain(value)
    return isinstance(item, Row)


def _has_no_operators(cls: type) -> bool:
    """Whether a class of the user's defines no operators: Python itself compares and shows its objects."""
    return live_objects.is_python_class(cls) and not live_objects.own_operators(cls)


def _classes(kind: AttributeType) -> Iterator[type | None]:
    """The user's classes of the tuples in a value."""
    while kind.item is not None:
        kind = kind.item
    if kind.fields is not None:
        yield from kind.fields.classes()


def check_keys(m: Machine, keys: Value, node: ast.AST) -> None:
    """These become keys of a dict, or elements of a set: they are hashed and compared."""
    if not is_plain(m, keys):
        m.unknown("a dict or a set compares objects with code of their own", node, keys)
    m.read_whole(keys)


def look_into(m: Machine, values: list[Value], node: ast.AST) -> None:
    """These are read as a whole."""
    for item in m.memory.reach(values):
        m.look_at(item, node)
        if isinstance(item, New | Part) and item.type is ITERATOR:
            m.elements(frozenset((item,)), node)
        if isinstance(item, Row):
            m.notes.read(item.port, None)


def length(m: Machine, value: Value) -> Count:
    """How many elements a value has."""
    found: Count | None = None
    for item in value:
        one = _length(m, item)
        found = one if found is None else either(found, one)
    return ANY_NUMBER if found is None else found


def _length(m: Machine, item: Item) -> Count:
    match item:
        case New() if m.store is not None:
            return m.store.length(item)
        case Known(value=value) if type(value) in (tuple, str, bytes):
            return len(value), len(value)  # type: ignore[arg-type]
        case Known(value=None):
            return 0, 0
    return ANY_NUMBER


def steady_length(m: Machine, value: Value) -> Count:
    """How many elements a value has when it is used later, or while other code runs."""
    changing = [item for item in value if isinstance(item, New) and item in m.memory.altered]
    if all(item.type is ITERATOR for item in changing):  # it gets no longer by that
        least, most = length(m, value)
        return 0 if changing else least, most
    return ANY_NUMBER


def fields_of(m: Machine, value: Value) -> dict[Any, Value] | None:
    """The fields of a tuple or a dict that has them all."""
    item = only(value)
    if not isinstance(item, New) or item.type not in (tuple, *MAPPINGS) or m.store is None:
        return None
    fields = m.store.fields(item)
    return None if fields is None or m.store.optional(item) else dict(fields)

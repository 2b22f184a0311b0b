"""The contents of values: whether they are plain data, how many elements they have, which fields."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from thalweg.analysis.program import live_objects
from thalweg.analysis.program.abstract_values import Given, InputTuple, Item, Known, New, Part, Value, ValueOf, only
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.python_types import ITERATOR, MAPPINGS, is_built_in
from thalweg.analysis.program.store import ANY_NUMBER, Count, either
from thalweg.ir.types import AttributeType


def is_plain(m: Machine, *values: Value) -> bool:
    """Whether these values consist of built-in data only."""
    return all(_is_plain(item) for item in m.memory.reach(values))


def _is_plain(item: Item) -> bool:
    match item:
        case ValueOf():
            return True
        case Given(given):
            return all(cls is None or not live_objects.own_operators(cls) for cls in _classes(given))
        case New(_, kind) | Part(_, kind):
            return is_built_in(kind) or _has_no_operators(kind)
        case Known(value=value):
            return live_objects.is_plain(value) or isinstance(value, type) or _has_no_operators(type(value))
        case InputTuple(kind):
            return kind.python is None or not live_objects.own_operators(kind.python)
    return False


def is_plain_data(m: Machine, *values: Value) -> bool:
    """Whether these values contain no objects of classes either: results made from them share nothing with them."""
    items = m.memory.reach(values)
    return all(map(_is_plain, items)) and not any(map(_is_object, items))


def _is_object(item: Item) -> bool:
    match item:
        case New(_, kind) | Part(_, kind):
            return not is_built_in(kind)
        case Known(value=value):
            return not live_objects.is_plain(value)
    return isinstance(item, InputTuple)


def _has_no_operators(cls: type) -> bool:
    """Whether a user class defines no operators: its objects are compared and formatted by Python's defaults."""
    return live_objects.is_python_class(cls) and not live_objects.own_operators(cls)


def _classes(kind: AttributeType) -> Iterator[type | None]:
    """The user classes of the tuples in a value."""
    while kind.item is not None:
        kind = kind.item
    if kind.fields is not None:
        yield from kind.fields.classes()


def check_keys(m: Machine, keys: Value, node: ast.AST) -> None:
    """Check values that become keys of a dict or elements of a set: they are hashed and compared."""
    if not is_plain(m, keys):
        m.unknown("compares objects with user-defined special methods in a dict or a set", node, keys)
    m.read_whole(keys)


def look_into(m: Machine, values: list[Value], node: ast.AST) -> None:
    """Record that these values are read completely."""
    for item in m.memory.reach(values):
        m.look_at(item, node)
        if isinstance(item, New | Part) and item.type is ITERATOR:
            m.elements(frozenset((item,)), node)
        if isinstance(item, InputTuple):
            m.notes.read(item.port, None)


def length(m: Machine, value: Value) -> Count:
    """The number of elements of a value."""
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
    """The number of elements of a value that is used later, or while other code runs."""
    changing = [item for item in value if isinstance(item, New) and item in m.memory.altered]
    if all(item.type is ITERATOR for item in changing):  # it does not get longer
        least, most = length(m, value)
        return 0 if changing else least, most
    return ANY_NUMBER


def fields_of(m: Machine, value: Value) -> dict[Any, Value] | None:
    """The fields of a tuple or a dict, if none of them may be missing."""
    item = only(value)
    if not isinstance(item, New) or item.type not in (tuple, *MAPPINGS) or m.store is None:
        return None
    fields = m.store.fields(item)
    return None if fields is None or m.store.optional(item) else dict(fields)

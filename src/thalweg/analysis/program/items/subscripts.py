"""Reading and writing elements with `[…]`, by the type of the item."""

from __future__ import annotations

import ast
import collections
import types

from thalweg.analysis.program import live_objects
from thalweg.analysis.program.abstract_values import (
    INT,
    NOTHING,
    PLAIN,
    PLAINS,
    STR,
    TREE,
    Anything,
    Bound,
    Func,
    Given,
    InputTuple,
    Item,
    Known,
    Method,
    New,
    Part,
    Submit,
    Super,
    Value,
    ValueOf,
    classes_of,
    join,
    just,
    literal,
    types_of,
)
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.changes import alias_changed, mutate
from thalweg.analysis.program.contents import is_plain
from thalweg.analysis.program.machine import SUBSCRIPTS, Machine
from thalweg.analysis.program.memory import ELEMENTS, KEYS
from thalweg.analysis.program.python_types import MAPPINGS, is_built_in
from thalweg.analysis.program.stdlib.container_methods import call_method
from thalweg.analysis.program.store import ANY_NUMBER


def _check_index(m: Machine, index: Value, node: ast.AST) -> None:
    m.read_whole(index)
    if not is_plain(m, index):
        m.unknown("uses an index that runs code that cannot be analyzed", node, index)


def _may_be_slice(index: Value) -> bool:
    kinds = [types_of(item) for item in index]
    return any(kind is None or any(one in (PLAIN, TREE, slice) for one in kind) for kind in kinds)


def _is_slice(index: Value) -> bool:
    return _may_be_slice(index) and all(isinstance(item, Known) for item in index)


def _sliced(m: Machine, kind: type, held: Value, index: Value, node: ast.AST, *, surely: bool = True) -> Value:
    made = m.made(kind, node, held, tag="slice")
    return made if surely and _is_slice(index) else join((held, made))


@SUBSCRIPTS.handles(Given, ValueOf)
def of_value(m: Machine, item: Given | ValueOf, index: Value, node: ast.AST) -> Value:
    _check_index(m, index, node)
    if isinstance(item, Given) and item.kind.required.item is not None:
        inner = just(Given(item.kind.required.item, "", -1))
        return _sliced(m, list, inner, index, node) if _may_be_slice(index) else inner
    kinds = types_of(item)
    return STR if kinds == (str,) else INT if kinds == (bytes,) and not _may_be_slice(index) else PLAINS


@SUBSCRIPTS.handles(Known)
def of_known(m: Machine, item: Known, index: Value, node: ast.AST) -> Value:
    _check_index(m, index, node)
    m.look_at(item, node)
    kind = type(item.value)
    if kind is collections.defaultdict:
        return call_method(m, item, "__getitem__", Args([index]), node)
    if kind in (str, bytes):
        return STR if kind is str else PLAINS
    at = literal(index)
    if at is not None and kind in (list, tuple, *MAPPINGS) and not _may_be_slice(index):
        return _peek(m, item, at)
    return _element(m, item, index, node)


def _peek(m: Machine, item: Known, at: Known) -> Value:
    """The current element; a program that changes it is not run in parallel."""
    try:
        found = item.value[at.value]  # type: ignore[index]
    except (LookupError, TypeError):
        return m.memory.get(item, ELEMENTS)
    return join((just(live_objects.rooted(found, item.root)), m.memory.get(item, ELEMENTS)))


@SUBSCRIPTS.handles(New)
def of_new(m: Machine, item: New, index: Value, node: ast.AST) -> Value:
    _check_index(m, index, node)
    at = literal(index)
    fields = m.store.fields(item) if m.store is not None and at is not None else None
    if at is not None and fields is not None and item.type is tuple and isinstance(at.value, int):
        size = sum(isinstance(n, int) for n in fields)
        return fields.get(at.value if at.value >= 0 else size + at.value, NOTHING)
    if at is not None and fields is not None and item.type in MAPPINGS and at.value in fields:
        return fields[at.value]
    return _element(m, item, index, node)


@SUBSCRIPTS.handles(Part, InputTuple, Anything, Func, Bound, Method, Super, Submit)
def of_other(m: Machine, item: Item, index: Value, node: ast.AST) -> Value:
    _check_index(m, index, node)
    return _element(m, item, index, node)


def _element(m: Machine, item: Item, index: Value, node: ast.AST) -> Value:
    """Any element."""
    kinds = types_of(item)
    if kinds is None or not all(map(is_built_in, kinds)):
        return _own_element(m, item, index, node)
    if collections.defaultdict in kinds:
        return call_method(m, item, "__getitem__", Args([index]), node)
    held = m.memory.contents(item)
    if _may_be_slice(index) and any(kind in (list, tuple, TREE, collections.deque) for kind in kinds):
        return _sliced(m, kinds[0], held, index, node, surely=TREE not in kinds)
    return held


def _own_element(m: Machine, item: Item, index: Value, node: ast.AST) -> Value:
    for cls in classes_of(item):
        method = live_objects.class_attribute(cls, "__getitem__")
        if isinstance(method, types.FunctionType):
            return m.call(just(Bound(method, item)), Args([index]), node)
    return m.unknown("reads an element of a value that cannot be analyzed", node, just(item), index)


def set_subscript(m: Machine, owner: Value, index: Value, value: Value, node: ast.AST, shown: str) -> None:
    if not owner:
        m.lose(f"writes {shown}, an element of an unknown object", node)
    at = literal(index)
    key = at.value if at is not None and isinstance(at.value, str) else None
    mutate(m, owner, f"writes {shown}", node, key)
    _check_index(m, index, node)
    sliced = bool(index) and all(isinstance(i, Known) and isinstance(i.value, slice) for i in index)
    for item in owner:
        if isinstance(item, Given):
            continue  # the list of a tuple cannot be changed: raises an exception
        kinds = types_of(item)
        if kinds is None or not all(map(is_built_in, kinds)):
            m.unknown("writes an element of a value that cannot be analyzed", node, just(item), value)
        inner = [m.memory.contents(i) for i in value if at is None]
        m.put(item, ELEMENTS, join(inner if sliced and _is_data(value) else (value, *inner)))
        m.put(item, KEYS, index)
        if key is not None:
            m.put(item, f"key {key}", value)
        alias_changed(m, item)
        if isinstance(item, New) and m.store is not None:
            if at is not None and item.type in MAPPINGS:
                m.store.set_field(item, at.value, value, surely=len(owner) == 1)
            elif item.type in MAPPINGS:
                m.store.replace_fields(item, None)
            if item.type is not list or not (at is not None and isinstance(at.value, int)):
                m.store.set_length(item, ANY_NUMBER, surely=False)
    m.touch()


def _is_data(value: Value) -> bool:
    """Whether the contents of these containers are known."""
    return all(all(map(is_built_in, types_of(item) or (object,))) for item in value)

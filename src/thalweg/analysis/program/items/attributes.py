"""Reading and writing attributes, by the type of the item."""

from __future__ import annotations

import ast
import types
from typing import Any

from thalweg.analysis.program import live_objects
from thalweg.analysis.program.abstract_values import (
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
    Root,
    Submit,
    Super,
    Value,
    ValueOf,
    classes_of,
    join,
    just,
    types_of,
)
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.changes import alias_changed, mutate
from thalweg.analysis.program.live_objects import NOT_THERE, class_attribute
from thalweg.analysis.program.machine import ATTRIBUTES, Machine
from thalweg.analysis.program.python_types import ITERATOR, is_built_in, methods_of, plain_attribute
from thalweg.ir.tuple_copies import METACLASSES

TEXTS = ("__name__", "__qualname__", "__doc__", "__module__")  # of functions and of existing objects


@ATTRIBUTES.handles(InputTuple)
def of_row(m: Machine, item: InputTuple, name: str, node: ast.AST) -> Value:
    given = item.type.get(name)
    if given is None:
        return of_class(m, item, item.type.python, name, node)
    m.notes.read(item.port, [name])
    return just(Given(given, name, item.port) if item.port >= 0 else Given(given, "", -1))


@ATTRIBUTES.handles(Given)
def of_given(m: Machine, item: Given, name: str, node: ast.AST) -> Value:
    fields = item.kind.required.fields
    if fields is None:
        return of_value(m, item, name, node)
    inner = fields.get(name)
    return just(Given(inner, "", -1)) if inner is not None else of_class(m, item, fields.python, name, node)


@ATTRIBUTES.handles(New, Part)
def of_object(m: Machine, item: New | Part, name: str, node: ast.AST) -> Value:
    if is_built_in(item.type):
        return of_value(m, item, name, node)
    fields = m.store.fields(item) if m.store is not None else None
    if fields is not None and name in fields:
        return fields[name]
    return join((m.memory.get(item, name), of_class(m, item, item.type, name, node)))


@ATTRIBUTES.handles(ValueOf)
def of_value(m: Machine, item: Item, name: str, node: ast.AST) -> Value:
    found = join((m.memory.get(item, name), of_built_in(m, item, name, node)))
    if not found and tuple in (types_of(item) or ()):
        return m.unknown(f"uses .{name} of a named tuple", node, just(item))
    return found


@ATTRIBUTES.handles(Super)
def of_super(m: Machine, item: Super, name: str, node: ast.AST) -> Value:
    cls, receiver = item.cls, item.receiver
    if isinstance(receiver, Known) and isinstance(receiver.value, type) and cls in receiver.value.__mro__:
        held = class_attribute(receiver.value, name, after=cls)  # in a class method
        if isinstance(held, types.FunctionType):
            return just(Known(held))
        return bind(m, held, receiver, receiver.value, name, node)
    kinds = [kind for kind in classes_of(receiver) if cls in kind.__mro__]
    return join([bind(m, class_attribute(k, name, after=cls), receiver, k, name, node) for k in kinds])


@ATTRIBUTES.handles(Func)
def of_local_function(m: Machine, item: Func, name: str, node: ast.AST) -> Value:
    if name in TEXTS:
        return STR
    return just(item) if name == "__call__" else m.memory.get(item, name)


@ATTRIBUTES.handles(Submit, Bound, Method)
def of_function(m: Machine, item: Item, name: str, node: ast.AST) -> Value:
    if name in TEXTS and isinstance(item, Bound):
        return STR
    return m.unknown(f"reads .{name} of a function", node, just(item))


@ATTRIBUTES.handles(Anything)
def of_anything(m: Machine, item: Anything, name: str, node: ast.AST) -> Value:
    m.unknown(f"reads .{name} of a value that cannot be analyzed", node, just(item))
    return just(Anything(item.roots))


def of_built_in(m: Machine, item: Item, name: str, node: ast.AST) -> Value:
    """An attribute of the built-in type of an item."""
    found: list[Value] = []
    for kind in types_of(item) or ():
        if kind is ITERATOR and name != "__next__":  # it represents generators and views, too
            return m.unknown(f"uses .{name} of an iterator", node, just(item))
        if issubclass(kind, BaseException):
            return m.unknown(f"uses .{name} of an exception", node, just(item))
        if kind in (PLAIN, TREE):
            method, data = plain_attribute(kind, name)
            found += [just(Method(item, name))] if method else []
            found += [PLAINS] if data else []
        elif name in methods_of(kind):
            found.append(just(Method(item, name)) if callable(getattr(kind, name)) else PLAINS)
    return join(found)


def of_class(m: Machine, item: Item, cls: type | None, name: str, node: ast.AST) -> Value:
    """An attribute of the class of an object."""
    if cls is None:
        return NOTHING
    if live_objects.looks_up_itself(cls):
        return m.unknown(f"uses {cls.__name__}, which defines its own attribute lookup", node, just(item))
    if name == "__class__":
        return just(Known(cls, Root.of("the class", cls.__name__, cls)))
    found = bind(m, class_attribute(cls, name), item, cls, name, node)
    if not found and name.startswith("__"):
        return m.unknown(f"uses .{name} of a {cls.__name__}", node, just(item))
    return found


def bind(m: Machine, held: Any, receiver: Item, cls: type, name: str, node: ast.AST) -> Value:
    """A class attribute, bound to its object."""
    if held is NOT_THERE or isinstance(held, types.MemberDescriptorType | types.GetSetDescriptorType):
        return NOTHING
    if isinstance(held, types.FunctionType):
        return just(Bound(held, receiver))
    if isinstance(held, property):
        return NOTHING if held.fget is None else m.call(just(Bound(held.fget, receiver)), Args(), node)
    if isinstance(held, staticmethod):
        return just(Known(held.__func__))
    if isinstance(held, classmethod):
        return just(Bound(held.__func__, Known(cls)))
    if isinstance(held, types.MethodDescriptorType | types.WrapperDescriptorType):
        return just(Method(receiver, name))
    if hasattr(type(held), "__get__"):
        return m.unknown(f"uses {name} of {cls.__name__}, whose code cannot be analyzed", node, just(receiver))
    root = Root.of("the class attribute", f"{cls.__name__}.{name}", held)
    for one in cls.__mro__[:-1]:  # setting it in a class in between changes the lookup
        m.notes.saw((one, name), m.reason(f"reads {root}", node))
    return join((just(Known(held, root)), m.memory.get(Known(cls), name)))


def set_attribute(m: Machine, value: Value, name: str, new: Value, node: ast.AST, shown: str) -> None:
    if not value:
        m.lose(f"writes {shown}, an attribute of an unknown object", node)
    mutate(m, value, f"writes {shown}", node, name)
    for item in value:
        kinds = (type, *METACLASSES, types.ModuleType, types.FunctionType)
        simple = isinstance(item, Known) and type(item.value) in kinds
        for cls in () if simple else classes_of(item):
            held = class_attribute(cls, name)
            if isinstance(held, property) and held.fset is not None:
                m.call(just(Bound(held.fset, item)), Args([new]), node)
            elif live_objects.is_data_descriptor(held) and not isinstance(held, property | types.MemberDescriptorType):
                m.unknown(f"writes {cls.__name__}.{name}, which runs code when it is set", node, just(item), new)
            elif class_attribute(cls, "__setattr__") not in (object.__setattr__, NOT_THERE):
                m.unknown(f"writes an attribute of {cls.__name__}, which defines __setattr__", node, just(item), new)
        m.put(item, name, new)
        alias_changed(m, item)
        if isinstance(item, New) and m.store is not None and name in (m.store.fields(item) or {}):
            m.store.set_field(item, name, new, surely=len(value) == 1)
    m.touch()

"""Attributes: what reading one gives, and what writing one changes."""

from __future__ import annotations

import ast
import enum
import logging
import types
from typing import Any

from thalweg.analysis.program import outside
from thalweg.analysis.program.builtin_calls import Builtins
from thalweg.analysis.program.frames import Args
from thalweg.analysis.program.outside import NOT_THERE, class_attribute, own_attribute
from thalweg.analysis.program.tables import ITERATOR, LOGGING, is_built_in, methods_of, plain_attribute
from thalweg.analysis.program.values import (
    CONFIG,
    INT,
    NONE,
    NOTHING,
    PLAIN,
    PLAINS,
    SCALARS,
    STATE,
    STR,
    SUBMIT,
    TREE,
    Anything,
    Bound,
    Func,
    Given,
    Item,
    Known,
    Method,
    New,
    Part,
    Root,
    Row,
    Submit,
    Super,
    Value,
    join,
    types_of,
)
from thalweg.ir.logic import Logic

_NAMES = ("__name__", "__qualname__", "__doc__", "__module__")


class Attributes(Builtins):
    """Reading and writing attributes."""

    resource: Value = NONE  # of the operator class that is followed: what its `setup` made

    def get_attribute(self, value: Value, name: str, node: ast.AST) -> Value:
        found = self.attribute_if_there(value, name, node)
        if found or self.store is None:
            return found
        if value and all(_lacks(item) for item in value):
            return self.raises()
        return self.lose(f"uses .{name} of something that cannot be read", node)

    def attribute_if_there(self, value: Value, name: str, node: ast.AST) -> Value:
        return join(self._attribute(item, name, node) for item in value)

    def _attribute(self, item: Item, name: str, node: ast.AST) -> Value:
        if name in _NAMES and isinstance(item, Known | Func | Bound):
            return STR
        match item:
            case Row(kind, port):
                if (given := kind.get(name)) is not None:
                    self.notes.read(port, [name])
                    return frozenset((Given(given, name, port) if port >= 0 else Given(given, "", -1),))
                return self._of_class(item, kind.python, name, node)
            case Given(kind) if kind.required.fields is not None:
                inner = kind.required.fields.get(name)
                if inner is not None:
                    return frozenset((Given(inner, "", -1),))
                return self._of_class(item, kind.required.fields.python, name, node)
            case Known(value=held):
                found = self._known_attribute(item, held, name, node)
                if not found and not _may_miss(item, held):
                    return self.unknown(f"uses .{name}, which is not there yet", node, frozenset((item,)))
                return found
            case New(_, kind) | Part(_, kind) if not is_built_in(kind):
                fields = self.store.fields(item) if self.store is not None else None
                if fields is not None and name in fields:
                    return fields[name]
                return join((self.get(item, name), self._of_class(item, kind, name, node)))
            case Super(cls, receiver):
                return self._of_super(cls, receiver, name, node)
            case Func():
                return frozenset((item,)) if name == "__call__" else self.get(item, name)
            case Anything(roots):
                self.unknown(f"reads .{name} of something that cannot be read", node, frozenset((item,)))
                return frozenset((Anything(roots),))
            case Submit() | Bound() | Method():
                return self.unknown(f"reads .{name} of a function", node, frozenset((item,)))
        found = join((self.get(item, name), self._of_built_in(item, name, node)))
        if not found and tuple in (types_of(item) or ()):
            return self.unknown(f"uses .{name} of a named tuple", node, frozenset((item,)))
        return found

    def _of_super(self, cls: type, receiver: Item, name: str, node: ast.AST) -> Value:
        """An attribute of `super()`."""
        if isinstance(receiver, Known) and isinstance(receiver.value, type) and cls in receiver.value.__mro__:
            held = class_attribute(receiver.value, name, behind=cls)  # in a class method
            if isinstance(held, types.FunctionType):
                return frozenset((Known(held),))
            return self._bind(held, receiver, receiver.value, name, node)
        kinds = [kind for kind in self.classes_of(receiver) if cls in kind.__mro__]
        return join(self._bind(class_attribute(k, name, behind=cls), receiver, k, name, node) for k in kinds)

    def classes_of(self, item: Item) -> list[type]:
        match item:
            case New(_, kind) | Part(_, kind):
                return [kind]
            case Known(value=value):
                return [type(value)]
            case Row(kind):
                return [kind.python] if kind.python is not None else []
            case Given(kind) if kind.required.fields is not None and kind.required.fields.python is not None:
                return [kind.required.fields.python]
        return []

    def _of_built_in(self, item: Item, name: str, node: ast.AST) -> Value:
        found: list[Value] = []
        for kind in types_of(item) or ():
            if kind is ITERATOR and name != "__next__":  # it stands for generators and views, too
                return self.unknown(f"uses .{name} of an iterator", node, frozenset((item,)))
            if issubclass(kind, BaseException):
                return self.unknown(f"uses .{name} of an exception", node, frozenset((item,)))
            if kind in (PLAIN, TREE):
                method, data = plain_attribute(kind, name)
                found += [frozenset((Method(item, name),))] if method else []
                found += [PLAINS] if data else []
            elif name in methods_of(kind):
                found.append(frozenset((Method(item, name),)) if callable(getattr(kind, name)) else PLAINS)
        return join(found)

    def _of_class(self, item: Item, cls: type | None, name: str, node: ast.AST) -> Value:
        if cls is None:
            return NOTHING
        if outside.looks_up_itself(cls):
            return self.unknown(f"{cls.__name__} looks its attributes up itself", node, frozenset((item,)))
        if name == "__class__":
            return frozenset((Known(cls, Root.of("the class", cls.__name__, cls)),))
        found = self._bind(class_attribute(cls, name), item, cls, name, node)
        if not found and name.startswith("__"):
            return self.unknown(f"uses .{name} of a {cls.__name__}", node, frozenset((item,)))
        return found

    def _bind(self, held: Any, receiver: Item, cls: type, name: str, node: ast.AST) -> Value:
        """A class's attribute as its object sees it."""
        if held is NOT_THERE or isinstance(held, types.MemberDescriptorType | types.GetSetDescriptorType):
            return NOTHING
        if isinstance(held, types.FunctionType):
            return frozenset((Bound(held, receiver),))
        if isinstance(held, property):
            if held.fget is None:
                return NOTHING
            return self.call(frozenset((Bound(held.fget, receiver),)), Args(), node)
        if isinstance(held, staticmethod):
            return frozenset((Known(held.__func__),))
        if isinstance(held, classmethod):
            return frozenset((Bound(held.__func__, Known(cls)),))
        if isinstance(held, types.MethodDescriptorType | types.WrapperDescriptorType):
            return frozenset((Method(receiver, name),))
        if hasattr(type(held), "__get__"):
            return self.unknown(f"{name} of {cls.__name__} runs code that cannot be read", node, frozenset((receiver,)))
        root = Root.of("the class attribute", f"{cls.__name__}.{name}", held)
        for one in cls.__mro__[:-1]:  # who sets it in a class in between changes what is found
            self.notes.saw((one, name), self.reason(f"reads {root}", node))
        return join((frozenset((Known(held, root),)), self.get(Known(cls), name)))

    def _known_attribute(self, item: Known, held: Any, name: str, node: ast.AST) -> Value:
        if isinstance(held, types.ModuleType):
            return self.module_attribute(vars(held), name, f"{held.__name__}.{name}", node)
        if isinstance(held, type):
            return self._attribute_of_class(item, held, name, node)
        if isinstance(held, Logic) and item.root == STATE and _is_given(type(held), name):
            return self._of_operator(held, name, node)
        if isinstance(held, enum.Enum) and name in ("value", "name", "_value_", "_name_"):
            return frozenset((Known(held._value_ if "value" in name else held._name_, item.root),))
        if isinstance(held, logging.Logger) and name in LOGGING and _is_own_logging(type(held), name):
            return frozenset((Method(item, name),))
        if isinstance(held, types.FunctionType):
            own = own_attribute(held, name)
            self.place(Known([], item.root or Root.of("the function", held.__name__, held)), node)
            root = Root.of("the attribute", f"{held.__name__}.{name}", own)
            return join((frozenset((Known(own, root),)) if own is not NOT_THERE else NOTHING, self.get(item, name)))
        if type(held) in SCALARS or is_built_in(type(held)):
            return join((self.get(item, name), self._of_built_in(item, name, node)))
        if not outside.is_python_class(type(held)) and not isinstance(held, enum.Enum):
            return self._of_native(item, held, name, node)
        if outside.looks_up_itself(type(held)):
            return self.unknown(f"{type(held).__name__} looks its attributes up itself", node, frozenset((item,)))
        self.place(item, node)
        own = own_attribute(held, name)
        root = item.root or Root.of("the object", type(held).__name__, held)
        mine = frozenset((outside.rooted(own, root),)) if own is not NOT_THERE else NOTHING
        from_class = class_attribute(type(held), name)
        shadowed = own is not NOT_THERE and not _is_data_descriptor(from_class)
        return join((mine, self.get(item, name), NOTHING if shadowed else self._of_class(item, type(held), name, node)))

    def _of_native(self, item: Known, held: Any, name: str, node: ast.AST) -> Value:
        """Of an object whose class has a base that is not written in Python."""
        from_class = class_attribute(type(held), name)
        if outside.is_named_tuple(type(held)) and name in held._fields:
            return frozenset((outside.rooted(getattr(held, name), item.root),))
        if outside.sets_itself(type(held), ()) or class_attribute(type(held), "__getattr__") is not NOT_THERE:
            return self.unknown(f"{type(held).__name__} looks its attributes up itself", node, frozenset((item,)))
        if isinstance(from_class, types.FunctionType):
            own = own_attribute(held, name)
            return frozenset((Bound(from_class, item),)) if own is NOT_THERE else frozenset((Known(own, item.root),))
        native = types.MethodDescriptorType | types.WrapperDescriptorType | types.BuiltinFunctionType
        if isinstance(from_class, native) or from_class is NOT_THERE:
            return frozenset((Method(item, name),))  # a call of it is unknown
        return self.unknown(f"uses .{name} of a {type(held).__name__}", node, frozenset((item,)))

    def _of_operator(self, logic: Logic, name: str, node: ast.AST) -> Value:
        match name:
            case "submit":
                return frozenset((SUBMIT,))
            case "now":
                self.notes.reads_time = self.notes.reads_time or self.reason("reads self.now", node)
                return INT | NONE
            case "config":
                return frozenset((Known(getattr(logic, "config", None), CONFIG),))
        return self.resource

    def _attribute_of_class(self, item: Known, cls: type, name: str, node: ast.AST) -> Value:
        held = class_attribute(cls, name)
        if isinstance(held, types.FunctionType):
            return frozenset((Known(held),))
        if isinstance(held, property | types.MemberDescriptorType):
            return self.unknown(f"uses {cls.__name__}.{name} itself", node)
        if isinstance(held, types.MethodDescriptorType | types.WrapperDescriptorType):
            return frozenset((Known(held),))
        if isinstance(held, types.ClassMethodDescriptorType) or (held is not NOT_THERE and cls in SCALARS):
            return frozenset((Method(item, name),)) if callable(getattr(cls, name, None)) else PLAINS
        if isinstance(cls, enum.EnumMeta) and name in cls.__members__:
            return frozenset((Known(cls.__members__[name]),))
        if held is NOT_THERE and type(cls) is not type:
            return self.unknown(f"reads {cls.__name__}.{name}", node)
        return self._bind(held, item, cls, name, node)

    def module_attribute(self, module: dict[str, Any], name: str, shown: str, node: ast.AST) -> Value:
        """A name of a module: an object that exists."""
        if name not in module:
            return self.unknown(f"uses {shown}, which is not there yet", node)
        held = module[name]
        self.notes.saw((module, name), self.reason(f"reads the global {shown}", node))
        root = None if isinstance(held, types.ModuleType) else Root.of("the global", shown, held)
        bound = Known(module, Root("the global", shown))
        return join((frozenset((Known(held, root),)), self.get(bound, name)))

    # Writing.

    def set_attribute(self, value: Value, name: str, new: Value, node: ast.AST, shown: str) -> None:
        if not value:
            self.lose(f"writes {shown}, of which nothing is known", node)
        self.mutate(value, f"writes {shown}", node, name)
        for item in value:
            simple = isinstance(item, Known) and type(item.value) in (type, types.ModuleType, types.FunctionType)
            for cls in () if simple else self.classes_of(item):
                held = class_attribute(cls, name)
                if isinstance(held, property) and held.fset is not None:
                    self.call(frozenset((Bound(held.fset, item),)), Args([new]), node)
                elif _is_data_descriptor(held) and not isinstance(held, property | types.MemberDescriptorType):
                    self.unknown(f"{cls.__name__}.{name} runs code when it is set", node, frozenset((item,)), new)
                elif class_attribute(cls, "__setattr__") not in (object.__setattr__, NOT_THERE):
                    self.unknown(f"{cls.__name__} sets its attributes itself", node, frozenset((item,)), new)
            self.put(item, name, new)
            self.alias_changed(item)
            if isinstance(item, New) and self.store is not None and name in (self.store.fields(item) or {}):
                self.store.set_field(item, name, new, surely=len(value) == 1)
        self.touch()


def _is_own_logging(cls: type, name: str) -> bool:
    return class_attribute(cls, name) is vars(logging.Logger)[name]


def _is_data_descriptor(held: object) -> bool:
    """Whether it comes before what an object itself has under the name."""
    return held is not NOT_THERE and hasattr(type(held), "__set__")


def _is_given(cls: type, name: str) -> bool:
    """Whether an operator class has this from Thalweg."""
    return name in ("submit", "now", "config", "resource") and class_attribute(cls, name) is vars(Logic)[name]


def _lacks(item: Item) -> bool:
    """Whether it surely has no more attributes than are known: a number, a text, None."""
    if isinstance(item, Known) and item.root is not None:
        return False
    return isinstance(item, Known | Given) and all(kind in SCALARS for kind in types_of(item) or (object,))


def _may_miss(item: Known, held: object) -> bool:
    """Whether an attribute that is not there now will not be there later: None is what a name holds until it is filled,
    and a key's state gets attributes while it runs."""
    if type(held) in SCALARS:
        return held is not None or item.root is None
    return isinstance(held, Logic) and item.root == STATE

"""Reading attributes of existing objects: modules, classes, functions, user objects."""

from __future__ import annotations

import ast
import enum
import logging
import types
from typing import Any

from thalweg.analysis.program import live_objects
from thalweg.analysis.program.abstract_values import (
    CONFIG,
    INT,
    NONE,
    NOTHING,
    PLAINS,
    SCALARS,
    STATE,
    STR,
    SUBMIT,
    Bound,
    Known,
    Method,
    Root,
    Value,
    join,
    just,
)
from thalweg.analysis.program.items.attributes import TEXTS, bind, of_built_in, of_class
from thalweg.analysis.program.live_objects import NOT_THERE, class_attribute, own_attribute
from thalweg.analysis.program.machine import ATTRIBUTES, Machine
from thalweg.analysis.program.python_types import LOGGING, is_built_in
from thalweg.ir.logic import Logic


@ATTRIBUTES.handles(Known)
def of_known(m: Machine, item: Known, name: str, node: ast.AST) -> Value:
    if name in TEXTS:
        return STR
    found = _of_known(m, item, item.value, name, node)
    if not found and not _may_miss(item):
        return m.unknown(f"uses .{name}, which is not defined yet", node, just(item))
    return found


def _may_miss(item: Known) -> bool:
    """Whether a missing attribute stays missing, or is set by the followed code. A name that holds None may be filled
    later; the state of a key gets attributes while the operator runs."""
    if type(item.value) in SCALARS:
        return item.value is not None or item.root is None
    return isinstance(item.value, Logic) and item.root == STATE


def _of_known(m: Machine, item: Known, held: Any, name: str, node: ast.AST) -> Value:
    if isinstance(held, types.ModuleType):
        return of_module(m, vars(held), name, f"{held.__name__}.{name}", node)
    if isinstance(held, type):
        return _of_class_itself(m, item, held, name, node)
    if isinstance(held, Logic) and item.root == STATE and _is_given(type(held), name):
        return _of_operator(m, held, name, node)
    if isinstance(held, enum.Enum) and name in ("value", "name", "_value_", "_name_"):
        return just(Known(held._value_ if "value" in name else held._name_, item.root))
    if isinstance(held, logging.Logger) and name in LOGGING and _is_own_logging(type(held), name):
        return just(Method(item, name))
    if isinstance(held, types.FunctionType):
        return _of_function(m, item, held, name, node)
    if type(held) in SCALARS or is_built_in(type(held)):
        return join((m.memory.get(item, name), of_built_in(m, item, name, node)))
    if not live_objects.is_python_class(type(held)) and not isinstance(held, enum.Enum):
        return _of_native(m, item, held, name, node)
    if live_objects.looks_up_itself(type(held)):
        return m.unknown(f"uses {type(held).__name__}, which defines its own attribute lookup", node, just(item))
    m.look_at(item, node)
    own = own_attribute(held, name)
    root = item.root or Root.of("the object", type(held).__name__, held)
    mine = just(live_objects.rooted(own, root)) if own is not NOT_THERE else NOTHING
    shadowed = own is not NOT_THERE and not live_objects.is_data_descriptor(class_attribute(type(held), name))
    from_class = NOTHING if shadowed else of_class(m, item, type(held), name, node)
    return join((mine, m.memory.get(item, name), from_class))


def _of_function(m: Machine, item: Known, held: types.FunctionType, name: str, node: ast.AST) -> Value:
    own = own_attribute(held, name)
    m.look_at(Known([], item.root or Root.of("the function", held.__name__, held)), node)
    root = Root.of("the attribute", f"{held.__name__}.{name}", own)
    return join((just(Known(own, root)) if own is not NOT_THERE else NOTHING, m.memory.get(item, name)))


def _of_native(m: Machine, item: Known, held: Any, name: str, node: ast.AST) -> Value:
    """An attribute of an object whose class has a base that is not written in Python."""
    from_class = class_attribute(type(held), name)
    if live_objects.is_named_tuple(type(held)) and name in held._fields:
        return just(live_objects.rooted(getattr(held, name), item.root))
    if live_objects.sets_itself(type(held), ()) or class_attribute(type(held), "__getattr__") is not NOT_THERE:
        return m.unknown(f"uses {type(held).__name__}, which defines its own attribute lookup", node, just(item))
    if isinstance(from_class, types.FunctionType):
        own = own_attribute(held, name)
        return just(Bound(from_class, item)) if own is NOT_THERE else just(Known(own, item.root))
    native = types.MethodDescriptorType | types.WrapperDescriptorType | types.BuiltinFunctionType
    if isinstance(from_class, native) or from_class is NOT_THERE:
        return just(Method(item, name))  # calling it is an unknown call
    return m.unknown(f"uses .{name} of a {type(held).__name__}", node, just(item))


def _of_operator(m: Machine, logic: Logic, name: str, node: ast.AST) -> Value:
    """An attribute that Thalweg provides to operator classes."""
    match name:
        case "submit":
            return just(SUBMIT)
        case "now":
            m.notes.reads_time = m.notes.reads_time or m.reason("reads self.now", node)
            return INT | NONE
        case "config":
            return just(Known(getattr(logic, "config", None), CONFIG))
    return m.resource


def _is_given(cls: type, name: str) -> bool:
    """Whether Thalweg provides this attribute to an operator class."""
    return name in ("submit", "now", "config", "resource") and class_attribute(cls, name) is vars(Logic)[name]


def _is_own_logging(cls: type, name: str) -> bool:
    return class_attribute(cls, name) is vars(logging.Logger)[name]


def _of_class_itself(m: Machine, item: Known, cls: type, name: str, node: ast.AST) -> Value:
    held = class_attribute(cls, name)
    if isinstance(held, types.FunctionType):
        return just(Known(held))
    if isinstance(held, property | types.MemberDescriptorType):
        return m.unknown(f"uses the descriptor {cls.__name__}.{name}", node)
    if isinstance(held, types.MethodDescriptorType | types.WrapperDescriptorType):
        return just(Known(held))
    if isinstance(held, types.ClassMethodDescriptorType) or (held is not NOT_THERE and cls in SCALARS):
        return just(Method(item, name)) if callable(getattr(cls, name, None)) else PLAINS
    if isinstance(cls, enum.EnumMeta) and name in cls.__members__:
        return just(Known(cls.__members__[name]))
    if held is NOT_THERE and type(cls) is not type:
        return m.unknown(f"reads {cls.__name__}.{name}", node)
    return bind(m, held, item, cls, name, node)


def of_module(m: Machine, module: dict[str, Any], name: str, shown: str, node: ast.AST) -> Value:
    """A name of a module: an existing object."""
    if name not in module:
        return m.unknown(f"uses {shown}, which is not defined yet", node)
    held = module[name]
    m.notes.saw((module, name), m.reason(f"reads the global {shown}", node))
    root = None if isinstance(held, types.ModuleType) else Root.of("the global", shown, held)
    owner = Known(module, Root("the global", shown))
    return join((just(Known(held, root)), m.memory.get(owner, name)))

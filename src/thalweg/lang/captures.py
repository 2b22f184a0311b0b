"""The syntax of a frozen user function, and the values of the variables that it captures."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import math
import types
from collections.abc import Callable, Iterator
from typing import Any

from thalweg.ir.declarations import declared_of_function
from thalweg.lang.source_place import function_node

_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Opaque(Exception):
    """The function uses a construct outside the allow-list."""


class Captured:
    """A plain function with its syntax and its captured values. It is frozen, so they do not change."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not isinstance(function, types.FunctionType):
            raise Opaque(f"{type(function).__name__} is not a plain function")
        self.function, self.code = function, function.__code__
        node = function_node(self.code)
        if node is None:
            raise Opaque("its source is not available")
        if self.code.co_flags & _SUSPENDED:
            raise Opaque("it is a generator or a coroutine")
        if self.code.co_flags & _VARIADIC:
            raise Opaque("it takes a variable number of arguments")
        self.node = node
        self.names = dict(_outer(function))
        self.defaults = function.__defaults__ or ()
        self.keyword_defaults = function.__kwdefaults__ or {}
        self.locals = frozenset((*self.code.co_varnames, *self.code.co_cellvars))

    @property
    def positional(self) -> list[str]:
        return [a.arg for a in (*self.node.args.posonlyargs, *self.node.args.args)]

    @property
    def given(self) -> dict[str, Any]:
        """The parameters with a default, and its value."""
        last = self.positional[len(self.positional) - len(self.defaults) :]
        return dict(zip(last, self.defaults, strict=True)) | self.keyword_defaults

    @property
    def statements(self) -> list[ast.stmt]:
        if isinstance(self.node, ast.Lambda):
            return [ast.Return(self.node.body)]
        if len(self.node.decorator_list) > (declared_of_function(self.function) is not None):
            raise Opaque("it is decorated")  # tw.declare returns the function itself
        return self.node.body


def _outer(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Closure variables and globals that the function refers to."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for name in function.__code__.co_names:
        if name in function.__globals__ and name not in cells:
            yield name, function.__globals__[name]
    for name, cell in cells.items():
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue  # not yet assigned: an expression that reads it stays opaque


def static_attribute(value: Any, name: str) -> Any:
    """An attribute of a captured object that cannot change: of `math`, an enum, a frozen dataclass."""
    found: Any = None
    if value is math:
        return getattr(math, name, None)
    if isinstance(value, type) and issubclass(value, enum.Enum):
        found = value.__members__.get(name)
    elif isinstance(value, enum.Enum) and inspect.getattr_static(value, name, None) is enum.Enum.__dict__.get(name, 0):
        found = {"value": value._value_, "name": value._name_}.get(name)
    else:
        parameters = getattr(type(value), "__dataclass_params__", None)
        if parameters is not None and parameters.frozen and name in (f.name for f in dataclasses.fields(value)):
            found = getattr(value, name)
    parameters = getattr(type(found), "__dataclass_params__", None)
    if type(found) in (int, float, str, bool, tuple, frozenset) or isinstance(found, enum.Enum) or parameters:
        return found
    raise Opaque(f"it uses {name} of a captured {type(value).__name__}")

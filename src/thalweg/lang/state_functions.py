"""Functions of a tuple, the key's state and `submit`: what they return.

A function that returns a value anywhere returns the new state at every tuple, and None removes it. One that never does
changes the state in place.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

from thalweg.errors import GraphError, Where
from thalweg.lang.source_place import function_node


def changes_in_place(function: Callable[..., Any], state: object, where: Where) -> bool:
    """Whether the function changes the state in place. It cannot remove it then: `return None` is refused."""
    code = _code(function)
    if code is None or _returns_a_value(code):
        return False
    node = function_node(code)
    if state is not None and node is not None and any(map(_is_none, _returns(node))):
        raise GraphError(
            "custom: the function returns None to remove the state, but never a state",
            where=where,
            expected="`return state` in all other places, also where the state was changed in place",
            hint="without `return None` the function changes the state in place, and the state is kept",
        )
    return True


def _code(function: Any) -> types.CodeType | None:
    """The code of a function written in Python."""
    while isinstance(function, functools.partial | types.MethodType):
        function = function.func if isinstance(function, functools.partial) else function.__func__
    if not isinstance(function, types.FunctionType):
        function = type(function).__call__
    return inspect.unwrap(function).__code__ if isinstance(function, types.FunctionType) else None


def _returns_a_value(code: types.CodeType) -> bool:
    if code.co_flags & inspect.CO_GENERATOR:
        return True
    before: dis.Instruction | None = None
    for step in dis.get_instructions(code):
        if step.opname == "RETURN_CONST" and step.argval is not None:
            return True
        if step.opname == "RETURN_VALUE" and not (before and before.opname == "LOAD_CONST" and before.argval is None):
            return True
        before = step
    return False


def _returns(node: ast.AST) -> Iterator[ast.Return]:
    """The return statements of a function, without those of functions inside it."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.Return):
            yield part
        elif not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield from _returns(part)


def _is_none(statement: ast.Return) -> bool:
    return isinstance(statement.value, ast.Constant) and statement.value.value is None

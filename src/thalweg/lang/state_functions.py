"""What user functions return: those of a tuple, the key's state and `submit`, and predicates.

A function that returns a value anywhere returns the new state at every tuple, and None removes it; it must not end
without a value elsewhere. One that never does changes the state in place. A predicate must return a value somewhere.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from thalweg.errors import GraphError, Where
from thalweg.lang.source_place import function_node

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def changes_in_place(function: Callable[..., Any], state: object, where: Where) -> bool:
    """Whether the function changes the state in place. It cannot remove it then: `return None` is refused."""
    code = _code(function)
    if code is None:
        return False
    node = function_node(code)
    if _returns_a_value(code):
        _check_ends(node, where)
        return False
    if state is not None and node is not None and any(map(_is_none, _returns(node))):
        raise GraphError(
            "custom: the function returns None to remove the state, but never a state",
            where=where,
            expected="`return state` in all other places, also where the state was changed in place",
            hint="without `return None` the function changes the state in place, and the state is kept",
        )
    return True


def check_predicate(function: Callable[..., Any], where: Where) -> None:
    """Reject a predicate that ends but never returns a value: it would be false for every tuple."""
    code = _code(function)
    if code is None or _returns_a_value(code):
        return
    node = function_node(code)
    if isinstance(node, ast.FunctionDef) and not any(_returns(node)) and _falls_through(node.body):
        raise GraphError(
            f"the function {node.name} returns nothing",
            where=where,
            expected="True or False for each tuple: None counts as False",
            found=f"a function without `return`, line {node.lineno}",
        )


def _check_ends(node: ast.AST | None, where: Where) -> None:
    """Reject a function that returns a state and can also end without a value: the key would be forgotten silently."""
    if not isinstance(node, ast.FunctionDef) or not any(r.value is not None for r in _returns(node)):
        return
    bare = min((r.lineno for r in _returns(node) if r.value is None), default=None)
    if bare is None and not _falls_through(node.body):
        return
    raise GraphError(
        "custom: the function returns a state in some places and ends without a value in others",
        where=where,
        expected="`return state` to keep the state of the key, or `return None` to remove it",
        found=f"a function that ends at line {node.body[-1].end_lineno}" if bare is None else f"`return`, line {bare}",
    )


def _falls_through(body: Sequence[ast.stmt]) -> bool:
    """Whether the end of these statements can be reached, as far as their syntax tells."""
    return all(map(_goes_on, body))


def _goes_on(statement: ast.stmt) -> bool:
    """Whether what follows the statement can be reached."""
    match statement:
        case ast.Return() | ast.Raise() | ast.Continue() | ast.Break() | ast.Assert(test=ast.Constant(value=False)):
            return False
        case ast.If():
            return _falls_through(statement.body) or _falls_through(statement.orelse)
        case ast.While(test=ast.Constant(value=value)) if value:
            return _breaks(statement.body)
        case ast.While() | ast.For():
            return _falls_through(statement.orelse) or _breaks(statement.body)
        case ast.With():
            return _falls_through(statement.body)
        case ast.Try() | ast.TryStar():
            normal = _falls_through([*statement.body, *statement.orelse])
            return (normal or any(_falls_through(h.body) for h in statement.handlers)) and _falls_through(
                statement.finalbody
            )
        case ast.Match():
            last = statement.cases[-1]
            matches_all = last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
            return not matches_all or any(_falls_through(case.body) for case in statement.cases)
    return True


def _breaks(body: Iterable[ast.AST]) -> bool:
    """Whether the loop with this body can be left by `break`."""
    for part in body:
        if isinstance(part, ast.Break):
            return True
        if isinstance(part, ast.For | ast.While):
            if _breaks(part.orelse):  # a `break` there leaves the outer loop
                return True
        elif not isinstance(part, _SCOPES) and _breaks(ast.iter_child_nodes(part)):
            return True
    return False


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
        elif not isinstance(part, _SCOPES):
            yield from _returns(part)


def _is_none(statement: ast.Return) -> bool:
    return isinstance(statement.value, ast.Constant) and statement.value.value is None

"""What user functions return: those of a tuple, the key's state and `submit`, and predicates.

A function that returns a value anywhere returns the new state at every tuple, and None removes it; it must not end
without a value elsewhere. One that never does changes the state in place. `return submit(…)` returns no value.
A predicate must return a value somewhere.
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

_SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def changes_in_place(function: Callable[..., Any], state: object, where: Where) -> bool:
    """Whether the function changes the state in place. It cannot remove it then: `return None` is refused."""
    code, submit = _code(function), _submit(function)
    if code is None:
        return False
    if code.co_flags & _SUSPENDED:
        raise GraphError(
            "custom: the function does not run when it is called",
            where=where,
            expected="a function that calls submit(…) for each of its results",
            found=_suspended(function, code),
        )
    node = function_node(code)
    if _returns_a_value(code) and not _only_submits(node, submit):
        _check_ends(node, submit, where)
        return False
    if state is not None and node is not None and any(_is_none(value) for r in _returns(node) for value in _values(r)):
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
    if code is not None and code.co_flags & _SUSPENDED:
        raise GraphError(
            "the function does not run when it is called, and what it returns is always true",
            where=where,
            expected="True or False for each tuple",
            found=_suspended(function, code),
        )
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


def _check_ends(node: ast.AST | None, submit: str, where: Where) -> None:
    """Reject a function that returns a state and can also end without a value: the key would be forgotten silently."""
    if not isinstance(node, ast.FunctionDef) or not any(r.value is not None for r in _returns(node)):
        return
    bare = min((r.lineno for r in _returns(node) if any(_is_no_value(v, submit) for v in _values(r))), default=None)
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


def _suspended(function: Any, code: types.CodeType) -> str:
    what = "coroutine" if code.co_flags & inspect.CO_COROUTINE else "generator"
    return f"the {what} {getattr(function, '__name__', type(function).__name__)}, line {code.co_firstlineno}"


def _only_submits(node: ast.AST | None, submit: str) -> bool:
    """Whether all values that a function returns are those of `submit(…)`, which returns None."""
    if node is None:
        return False
    found = [node.body] if isinstance(node, ast.Lambda) else [r.value for r in _returns(node)]
    values = [value for one in found for value in _values(one)]
    return all(_is_no_value(value, submit) or _is_none(value) for value in values)


def _values(expression: ast.Return | ast.expr | None) -> list[ast.expr | None]:
    """The values that an expression may have, as far as its syntax tells."""
    if isinstance(expression, ast.Return):
        expression = expression.value
    if isinstance(expression, ast.IfExp):
        return [*_values(expression.body), *_values(expression.orelse)]
    return [expression]


def _is_no_value(expression: ast.expr | None, submit: str) -> bool:
    if isinstance(expression, ast.Call):
        return isinstance(expression.func, ast.Name) and expression.func.id == submit
    return expression is None


def _submit(function: Any) -> str:
    """The name of the parameter `submit`, the third; empty if it is not known."""
    place = 2
    while isinstance(function, functools.partial | types.MethodType):
        place += len(function.args) if isinstance(function, functools.partial) else 1
        function = function.func if isinstance(function, functools.partial) else function.__func__
    code = _code(function)
    place += not isinstance(function, types.FunctionType)  # `self`
    return code.co_varnames[place] if code is not None and place < code.co_argcount else ""


def _code(function: Any) -> types.CodeType | None:
    """The code of a function written in Python."""
    while isinstance(function, functools.partial | types.MethodType):
        function = function.func if isinstance(function, functools.partial) else function.__func__
    if not isinstance(function, types.FunctionType):
        function = type(function).__call__
    return inspect.unwrap(function).__code__ if isinstance(function, types.FunctionType) else None


def _returns_a_value(code: types.CodeType) -> bool:
    """Whether the function can return something else than the constant None."""
    before: dis.Instruction | None = None
    for step in dis.get_instructions(code):
        if step.opname == "RETURN_CONST" and step.argval is not None:
            return True
        loads_none = before is not None and before.opname == "LOAD_CONST" and before.argval is None
        if step.opname == "RETURN_VALUE" and (step.is_jump_target or not loads_none):  # of `state if … else None`
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


def _is_none(expression: ast.expr | None) -> bool:
    return isinstance(expression, ast.Constant) and expression.value is None

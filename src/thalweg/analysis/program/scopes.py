"""The names of a function: which are local, and which of them are visible to code that runs later."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

Function = ast.Lambda | ast.FunctionDef
_NESTED = ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_COMPREHENSION = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Names(NamedTuple):
    """The names that a function uses, by what they refer to."""

    local: frozenset[str] = frozenset()
    later: frozenset[str] = frozenset()  # visible to code that may run later
    globals: frozenset[str] = frozenset()  # declared `global`
    nonlocals: frozenset[str] = frozenset()  # declared `nonlocal`
    first: str | None = None  # the first parameter


def parameters(node: Function) -> list[str]:
    a = node.args
    named = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(x for x in (a.vararg, a.kwarg) if x is not None)]
    return [arg.arg for arg in named]


def body_of(node: Function) -> Sequence[ast.stmt]:
    if isinstance(node, ast.Lambda):
        return [ast.Return(node.body, lineno=node.body.lineno, col_offset=node.body.col_offset)]
    return node.body


def inside(node: Function) -> Iterator[ast.AST]:
    """Every node of a function, except those of nested functions and classes; comprehensions are part of it."""
    waiting: list[ast.AST] = list(node.body) if isinstance(node, ast.FunctionDef) else [node.body]
    while waiting:
        one = waiting.pop()
        yield one
        if isinstance(one, _NESTED):
            continue
        waiting += ast.iter_child_nodes(one)


@lru_cache(maxsize=2_000)
def names_of(node: Function) -> Names:
    bound, out, up = set(parameters(node)), set[str](), set[str]()
    later: set[str] = set()
    targets: set[str] = set()  # of comprehensions: local to them
    for one in inside(node):
        match one:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                bound.add(name)
            case ast.Global(names=names):
                out.update(names)
            case ast.Nonlocal(names=names):
                up.update(names)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                bound.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                bound.update((a.asname or a.name).partition(".")[0] for a in aliases)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                bound.add(name)
            case ast.MatchMapping(rest=str(name)):
                bound.add(name)
        if isinstance(one, _NESTED | ast.GeneratorExp):
            later |= {n.id for n in ast.walk(one) if isinstance(n, ast.Name)}
        if isinstance(one, _COMPREHENSION):
            targets |= {n.id for g in one.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    own = _assigned_outside_comprehensions(node) | set(parameters(node))
    bound -= {name for name in targets if name not in own}
    first = next(iter(parameters(node)), None)
    return Names(frozenset(bound - out - up), frozenset(later), frozenset(out), frozenset(up), first)


def _assigned_outside_comprehensions(node: Function) -> set[str]:
    found: set[str] = set()
    waiting: list[ast.AST] = list(node.body) if isinstance(node, ast.FunctionDef) else [node.body]
    while waiting:
        one = waiting.pop()
        match one:
            case ast.comprehension(iter=source, ifs=tests):
                waiting += [source, *tests]  # the target is local to the comprehension
                continue
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                found.update((a.asname or a.name).partition(".")[0] for a in aliases)
        if not isinstance(one, _NESTED):
            waiting += ast.iter_child_nodes(one)
    return found


@lru_cache(maxsize=2_000)
def is_generator(node: Function) -> bool:
    return any(isinstance(one, ast.Yield | ast.YieldFrom) for one in inside(node))


@lru_cache(maxsize=2_000)
def suspends(node: Function) -> bool:
    return any(isinstance(one, ast.Await | ast.AsyncFor | ast.AsyncWith) for one in inside(node))

"""The syntax of the user's program at a call: the name of its result, and the syntax of a function."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FrameType

Span = tuple[int, int, int, int]  # first line, last line, first column, last column
Positions = tuple[int | None, int | None, int | None, int | None]


def assigned_name(frame: FrameType) -> tuple[str, bool] | None:
    """The variable that the statement of the current call assigns, and whether the call is its complete value.

    `vwap = trades.aggregate(…)` names the aggregate `vwap`; a call inside a longer chain is only a part of it. Of
    `y = (x := s.filter(…)).map(…)` the innermost name is taken for the filter.
    """
    span = _span(frame)
    if span is None:
        return None
    found: tuple[str, bool] | None = None
    for name, value in _file_index(frame.f_code.co_filename).assigned.get(span[0], ()):
        if _inside(span, node_span(value)):
            # Only the end is compared: a method call over several lines is reported to start at its last line.
            found = name, (span[1], span[3]) == node_span(_without_hints(value))[1::2]
    return found


HINTS = frozenset(("parallel", "sequential", "fuse_with", "isolate", "unordered"))


def _without_hints(node: ast.expr) -> ast.expr:
    """The call that makes an operator, without the calls after it that only give hints about the plan."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in HINTS:
        node = node.func.value
    return node


def _span(frame: FrameType) -> Span | None:
    positions, index = _positions_of(frame.f_code), frame.f_lasti // 2
    return complete(positions[index]) if index < len(positions) else None


_last_positions: tuple[CodeType, list[Positions]] | None = None


def _positions_of(code: CodeType) -> list[Positions]:
    """The positions of all instructions. Those of the last code are kept: the module of an application calls one
    operator after the other. (Not by hash: that of a code object depends on all its constants.)"""
    global _last_positions
    last = _last_positions  # another thread may build a graph, too
    if last is None or last[0] is not code:
        last = _last_positions = code, list(code.co_positions())
    return last[1]


def complete(positions: Positions) -> Span | None:
    first, last, start, end = positions
    if first is None or last is None or start is None or end is None:
        return None
    return first, last, start, end


def node_span(node: ast.expr | ast.stmt) -> Span:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _inside(inner: Span, outer: Span) -> bool:
    return (outer[0], outer[2]) <= (inner[0], inner[2]) and (inner[1], inner[3]) <= (outer[1], outer[3])


@lru_cache(maxsize=256)
def parse_file(file: str) -> ast.Module | None:
    """The syntax tree of a source file, or None if its text is not available (a shell, a notebook without a cache)."""
    lines = linecache.getlines(file)
    if not lines:
        return None
    try:
        return ast.parse("".join(lines))
    except SyntaxError:
        return None


@dataclass(frozen=True, slots=True)
class _FileIndex:
    """Parts of a file's syntax, by the lines that they cover; on each line, outer ones come first."""

    assigned: dict[int, list[tuple[str, ast.expr]]] = field(default_factory=dict)  # variables and their values
    lambdas: dict[int, list[ast.Lambda]] = field(default_factory=dict)
    functions: dict[tuple[str, int], ast.FunctionDef] = field(default_factory=dict)  # by name and first line

    def add(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            for name, value in _named(target, node.value):
                for line in _lines(value):
                    self.assigned.setdefault(line, []).append((name, value))
        elif isinstance(node, ast.Lambda):
            for line in _lines(node.body):
                self.lambdas.setdefault(line, []).append(node)
        elif isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            self.functions.setdefault((node.name, first), node)


def _named(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The names that an assignment gives, each with its value. A call that makes several streams, as in
    `a, b = s.split(…)`, gets none of their names."""
    match target, value:
        case ast.Name(id=name), _:
            yield name, value
        case ast.Attribute(attr=name), _:
            yield name, value
        case ((ast.Tuple(elts=targets) | ast.List(elts=targets)), (ast.Tuple(elts=values) | ast.List(elts=values))):
            if len(targets) == len(values):
                for one, its_value in zip(targets, values, strict=True):
                    yield from _named(one, its_value)
        case ((ast.Tuple(elts=[one]) | ast.List(elts=[one])), _):
            yield from _named(one, value)


def _lines(node: ast.expr) -> range:
    first, last, _, _ = node_span(node)
    return range(first, last + 1)


@lru_cache(maxsize=256)
def _file_index(file: str) -> _FileIndex:
    index, tree = _FileIndex(), parse_file(file)
    for node in () if tree is None else ast.walk(tree):
        index.add(node)
    return index


def function_node(code: CodeType) -> ast.Lambda | ast.FunctionDef | None:
    """The syntax of a function, found by the exact positions in its byte code.

    A lambda is the innermost one that contains all of them; the position of its complete body need not be among them
    (`a if b > c else d` has none). Instructions without source text have an empty span.
    """
    index = _file_index(code.co_filename)
    if code.co_name != "<lambda>":
        return index.functions.get((code.co_name, code.co_firstlineno))
    spans = {s for s in map(complete, code.co_positions()) if s is not None and (s[0], s[2]) != (s[1], s[3])}
    found: ast.Lambda | None = None
    for node in index.lambdas.get(min(spans)[0], ()) if spans else ():
        body = node_span(node.body)
        found = node if all(_inside(span, body) for span in spans) else found
    return found

"""The syntax of the user's program at a call: the name of its result, and the syntax of a function."""

from __future__ import annotations

import ast
import itertools
import linecache
from functools import lru_cache
from types import CodeType, FrameType

Span = tuple[int, int, int, int]  # first line, last line, first column, last column


def assigned_name(frame: FrameType) -> tuple[str, bool] | None:
    """The variable that the statement of the current call assigns, and whether the call is its complete value.

    `vwap = trades.aggregate(…)` names the aggregate `vwap`; a call inside a longer chain is only a part of it.
    """
    span = _span(frame)
    tree = parse_file(frame.f_code.co_filename)
    if span is None or tree is None:
        return None
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if len(targets) == 1 and isinstance(targets[0], ast.Name) and _inside(span, node_span(node.value)):
            # Only the end is compared: a method call over several lines is reported to start at its last line.
            return targets[0].id, (span[1], span[3]) == node_span(_without_hints(node.value))[1::2]
    return None


HINTS = frozenset(("parallel", "sequential", "fuse_with", "isolate", "unordered"))


def _without_hints(node: ast.expr) -> ast.expr:
    """The call that makes an operator, without the calls after it that only give hints about the plan."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in HINTS:
        node = node.func.value
    return node


def _span(frame: FrameType) -> Span | None:
    positions = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    return None if positions is None else complete(positions)


def complete(positions: tuple[int | None, int | None, int | None, int | None]) -> Span | None:
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


@lru_cache(maxsize=256)
def _functions(file: str) -> tuple[ast.Lambda | ast.FunctionDef, ...]:
    tree = parse_file(file)
    return () if tree is None else tuple(n for n in ast.walk(tree) if isinstance(n, ast.Lambda | ast.FunctionDef))


def function_node(code: CodeType) -> ast.Lambda | ast.FunctionDef | None:
    """The syntax of a function, found by the exact positions in its byte code.

    A lambda is the innermost one that contains all of them; the position of its complete body need not be among them
    (`a if b > c else d` has none). Instructions without source text have an empty span.
    """
    spans = {s for s in map(complete, code.co_positions()) if s is not None and (s[0], s[2]) != (s[1], s[3])}
    found: ast.Lambda | None = None
    for node in _functions(code.co_filename):
        if isinstance(node, ast.Lambda) and code.co_name == "<lambda>" and spans:
            body = node_span(node.body)
            found = node if all(_inside(span, body) for span in spans) else found  # outer ones come first
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return found

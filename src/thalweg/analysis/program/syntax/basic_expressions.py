"""Expressions, except calls, displays and comprehensions."""

from __future__ import annotations

import ast

from thalweg.analysis.program.abstract_values import (
    BOOL,
    NONE,
    NOTHING,
    STR,
    UNKNOWN,
    Known,
    Value,
    join,
    just,
    literal,
)
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.contents import is_plain, steady_length
from thalweg.analysis.program.emissions import copied_of, copied_of_elements
from thalweg.analysis.program.items.function_calls import yield_values
from thalweg.analysis.program.items.names import assign_name, read_name
from thalweg.analysis.program.items.operations import binary, compare, unary
from thalweg.analysis.program.machine import EXPRESSIONS, Machine
from thalweg.analysis.program.stdlib.builtin_functions import as_text, shows_itself
from thalweg.analysis.program.store import meet
from thalweg.analysis.program.truth import truth

_SLICE: Value = just(Known(slice(None)))  # one object for all: items are compared by identity
_SHOWN = {-1: ("__format__", "__str__", "__repr__"), ord("s"): ("__str__", "__repr__")}  # by `!s` and the like


@EXPRESSIONS.handles(ast.Constant)
def constant(m: Machine, node: ast.Constant) -> Value:
    return just(Known(node.value))


@EXPRESSIONS.handles(ast.Name)
def name(m: Machine, node: ast.Name) -> Value:
    return read_name(m, node.id, node)


@EXPRESSIONS.handles(ast.Attribute)
def attribute(m: Machine, node: ast.Attribute) -> Value:
    return m.attribute(m.evaluate(node.value), m.frame.mangled(node.attr), node)


@EXPRESSIONS.handles(ast.Subscript)
def subscript(m: Machine, node: ast.Subscript) -> Value:
    return m.subscript(m.evaluate(node.value), m.evaluate(node.slice), node)


@EXPRESSIONS.handles(ast.Slice)
def slice_of(m: Machine, node: ast.Slice) -> Value:
    for bound in (node.lower, node.upper, node.step):
        if bound is not None and not is_plain(m, found := m.evaluate(bound)):
            m.unknown("uses an index that runs code that cannot be analyzed", node, found)
    return _SLICE


@EXPRESSIONS.handles(ast.Starred)
def starred(m: Machine, node: ast.Starred) -> Value:
    return m.elements(m.evaluate(node.value), node)


@EXPRESSIONS.handles(ast.NamedExpr)
def named(m: Machine, node: ast.NamedExpr) -> Value:
    found = m.evaluate(node.value)
    assign_name(m, node.target.id, found, node, in_comprehension=False)
    return found


# Operators.


@EXPRESSIONS.handles(ast.BinOp)
def binary_operation(m: Machine, node: ast.BinOp) -> Value:
    return binary(m, node.op, m.evaluate(node.left), m.evaluate(node.right), node)


@EXPRESSIONS.handles(ast.UnaryOp)
def unary_operation(m: Machine, node: ast.UnaryOp) -> Value:
    operand = m.evaluate(node.operand)
    if not isinstance(node.op, ast.Not):
        return unary(m, node.op, operand, node)
    answer = literal(truth(m, operand, node.operand))
    return BOOL if answer is None else just(Known(not answer.value))


@EXPRESSIONS.handles(ast.BoolOp)
def and_or(m: Machine, node: ast.BoolOp) -> Value:
    """The operands after the first may not be evaluated."""
    found = [m.evaluate(node.values[0])]
    for operand in node.values[1:]:
        truth(m, found[-1], operand)
        before = m.store
        if before is None:
            break
        m.store = before.copy()
        found.append(m.evaluate(operand))
        m.store = meet((before, m.store))
    return join(found)


@EXPRESSIONS.handles(ast.Compare)
def comparison(m: Machine, node: ast.Compare) -> Value:
    left = m.evaluate(node.left)
    found: Value = BOOL
    for index, (op, other) in enumerate(zip(node.ops, node.comparators, strict=True)):
        before = m.store
        if index and before is not None:  # an earlier comparison may have been false
            truth(m, found, node)
            m.store = before.copy()
        right = m.evaluate(other)
        found = compare(m, op, left, right, node)
        left = right
        if index:
            m.store = meet((before, m.store))
    return found if len(node.ops) == 1 else BOOL


@EXPRESSIONS.handles(ast.IfExp)
def conditional(m: Machine, node: ast.IfExp) -> Value:
    condition = literal(truth(m, m.evaluate(node.test), node.test))
    before = m.store
    if before is None:
        return NOTHING
    if condition is not None:
        return m.evaluate(node.body if condition.value else node.orelse)
    m.store = before.copy()
    first, after = m.evaluate(node.body), m.store
    m.store = before
    second = m.evaluate(node.orelse)
    m.store = meet((after, m.store))
    return join((first, second))


# Text.


@EXPRESSIONS.handles(ast.JoinedStr)
def text(m: Machine, node: ast.JoinedStr) -> Value:
    for part in node.values:
        m.evaluate(part)
    return STR


@EXPRESSIONS.handles(ast.FormattedValue)
def formatted(m: Machine, node: ast.FormattedValue) -> Value:
    shown = m.evaluate(node.value)
    if node.format_spec is not None:
        m.evaluate(node.format_spec)
    if not shows_itself(m, shown, _SHOWN.get(node.conversion, ("__repr__",)), node):
        as_text(m, Args([shown]), node)
    return STR


# Generators.


@EXPRESSIONS.handles(ast.Yield)
def yields(m: Machine, node: ast.Yield) -> Value:
    found = NONE if node.value is None else m.evaluate(node.value)
    yield_values(m, found, copied_of(m, found), (1, 1), node)
    return NONE


@EXPRESSIONS.handles(ast.YieldFrom)
def yields_from(m: Machine, node: ast.YieldFrom) -> Value:
    source = m.evaluate(node.value)
    count = steady_length(m, source)
    copied = copied_of_elements(m, source)
    yield_values(m, m.elements(source, node), copied, count, node)
    return UNKNOWN  # the return value of the generator


# Not understood. The names are those of later Python versions.
_LATER = [getattr(ast, name) for name in ("TemplateStr", "Interpolation") if hasattr(ast, name)]


@EXPRESSIONS.handles(ast.Await, *_LATER)
def not_understood(m: Machine, node: ast.expr) -> Value:
    return m.unknown(f"uses `{ast.unparse(node)[:40]}`", node)

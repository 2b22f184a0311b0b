"""Call expressions."""

from __future__ import annotations

import ast

from thalweg.analysis.program.abstract_values import NOTHING, New, Super, Value, join, only
from thalweg.analysis.program.call_frames import Args, CallFrame
from thalweg.analysis.program.contents import fields_of
from thalweg.analysis.program.items.names import read_name
from thalweg.analysis.program.machine import EXPRESSIONS, Machine


@EXPRESSIONS.handles(ast.Call)
def call(m: Machine, node: ast.Call) -> Value:
    if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
        return _super(m, node)
    callee = m.evaluate(node.func)
    positional, more = _positional(m, node)
    named, more_named = _named(m, node)
    return m.call(callee, Args(positional, named, more, more_named), node)


def _positional(m: Machine, node: ast.Call) -> tuple[list[Value], Value | None]:
    """The positional arguments, and further ones from `*args` of unknown length."""
    positional: list[Value] = []
    more: Value | None = None
    for argument in node.args:
        if not isinstance(argument, ast.Starred):
            if more is None:
                positional.append(m.evaluate(argument))
            else:
                more = join((more, m.evaluate(argument)))
            continue
        whole = m.evaluate(argument.value)
        fields = fields_of(m, whole)
        item = only(whole)
        if more is None and fields is not None and isinstance(item, New) and item.type is tuple:
            positional += [fields[i] for i in range(len(fields)) if i in fields]
        else:
            more = join((more or NOTHING, m.elements(whole, argument)))
    return positional, more


def _named(m: Machine, node: ast.Call) -> tuple[dict[str, Value], Value | None]:
    """The keyword arguments, and further ones from `**kwargs` with unknown names."""
    named: dict[str, Value] = {}
    more: Value | None = None
    for keyword in node.keywords:
        value = m.evaluate(keyword.value)
        if keyword.arg is not None:
            named[keyword.arg] = value
        elif (fields := fields_of(m, value)) is not None and all(isinstance(k, str) for k in fields):
            named |= fields
        else:
            more = join((more or NOTHING, *map(m.memory.contents, value)))
    return named, more


def _super(m: Machine, node: ast.Call) -> Value:
    frame: CallFrame | None = m.frame
    while frame is not None and "__class__" not in frame.cells:
        frame = frame.outer
    if frame is None or m.frame.first is None:
        return m.unknown("uses super() where its class is unknown", node)
    cls = frame.cells["__class__"].cell_contents
    return frozenset(Super(cls, item) for item in read_name(m, m.frame.first, node))

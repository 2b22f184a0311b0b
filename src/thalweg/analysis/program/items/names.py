"""Names: locals, captured variables, globals."""

from __future__ import annotations

import ast
import builtins
from typing import Any

from thalweg.analysis.program.abstract_values import NOTHING, Known, Root, Value, join, just
from thalweg.analysis.program.call_frames import CallFrame
from thalweg.analysis.program.changes import change
from thalweg.analysis.program.items.function_calls import bind
from thalweg.analysis.program.items.known_attributes import of_module
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.memory import ELEMENTS
from thalweg.analysis.program.notes import Place


def read_name(m: Machine, name: str, node: ast.AST) -> Value:
    frame: CallFrame | None = m.frame
    if name in m.frame.names.globals:
        return _global(m, name, node)
    while frame is not None:
        for scope in reversed(frame.scopes):
            if name in scope:
                return _variable(m, frame, scope[name], name)
        if name in frame.names.local:
            return _variable(m, frame, frame.key, name)
        if name in frame.cells:
            return _cell(m, frame.cells[name], name, node)
        frame = frame.outer
    return _global(m, name, node)


def _variable(m: Machine, frame: CallFrame, scope: object, name: str) -> Value:
    if name in frame.names.later:
        return m.memory.later.get((scope, name), NOTHING)
    assert m.store is not None
    return m.store.variables.get((scope, name), NOTHING)


def _cell(m: Machine, cell: Any, name: str, node: ast.AST) -> Value:
    m.notes.saw((cell, ""), m.reason(f"reads the captured variable {name}", node))
    rebound = m.memory.get(Known(cell, Root("the captured variable", name)), ELEMENTS)
    try:
        held = cell.cell_contents
    except ValueError:  # not yet assigned
        return rebound or m.unknown(f"uses {name}, which is not defined yet", node)
    return join((just(Known(held, Root.of("the captured variable", name, held))), rebound))


def _global(m: Machine, name: str, node: ast.AST) -> Value:
    if name in m.frame.module:
        return of_module(m, m.frame.module, name, name, node)
    if hasattr(builtins, name):
        return just(Known(getattr(builtins, name)))
    return m.unknown(f"uses {name}, which is not defined yet", node)


def assign_name(m: Machine, name: str, value: Value, node: ast.AST, *, in_comprehension: bool = True) -> None:
    """`in_comprehension`: whether the name may refer to a variable of the innermost comprehension."""
    frame = m.frame
    if in_comprehension and frame.scopes and name in frame.scopes[-1]:
        bind(m, frame, frame.scopes[-1][name], name, value)
    elif name in frame.names.globals:
        _change(m, Known(frame.module, Root("the global", name)), (frame.module, name), name, value, node)
    elif name in frame.names.nonlocals:
        _assign_nonlocal(m, name, value, node)
    else:
        bind(m, frame, frame.key, name, value)


def _assign_nonlocal(m: Machine, name: str, value: Value, node: ast.AST) -> None:
    frame = m.frame.outer
    while frame is not None:
        if name in frame.names.local:
            bind(m, frame, frame.key, name, value)
            return
        if name in frame.cells:
            cell = frame.cells[name]
            _change(m, Known(cell, Root("the captured variable", name)), (cell, ""), ELEMENTS, value, node)
            return
        frame = frame.outer


def _change(m: Machine, owner: Known, place: Place, field: str, value: Value, node: ast.AST) -> None:
    assert owner.root is not None
    change(m, owner.root, place, f"writes {owner.root}", node)
    m.put(owner, field, value)

"""A machine in the middle of a call, for tests of single handlers."""

from __future__ import annotations

import ast
from typing import Any

import thalweg as tw
from thalweg.analysis.program import follow  # noqa: F401  it registers all handlers
from thalweg.analysis.program.abstract_values import InputTuple, New, Value, ValueOf, just
from thalweg.analysis.program.call_frames import CallFrame
from thalweg.analysis.program.limits import Limits
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.scopes import Names
from thalweg.errors import Where

PLACE = ast.Pass(lineno=7, col_offset=0)


class In(tw.Tuple):
    k: str
    a: int
    v: list[int]


ROW = just(InputTuple(In.tuple_type, 0))


def machine(
    limits: Limits | None = None,
    module: dict[str, Any] | None = None,
    assigned: frozenset[str] = frozenset(),
    **given: Value,
) -> Machine:
    """A machine inside a function of `app.py` with these local variables; `module`: its globals."""
    m = Machine(Where("app.py", 1), (In.tuple_type,), limits)
    frame = CallFrame(1, "function", "app.py", module or {}, None)
    frame.names = Names(local=frozenset((*given, *assigned)))
    m.calls.frames.append(frame)
    assert m.store is not None
    for name, value in given.items():
        m.store.set((1, name), value)
    return m


def evaluate(m: Machine, text: str) -> Value:
    return m.evaluate(ast.parse(text, mode="eval").body)


def run(text: str, **given: Value) -> Machine:
    """A machine after it ran these statements."""
    body = ast.parse(text).body
    stored = {n.id for one in body for n in ast.walk(one) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    m = machine(None, None, frozenset(stored), **given)
    m.run(body)
    return m


def variable(m: Machine, name: str) -> Value:
    assert m.store is not None
    return m.store.variables[1, name]


def effects(m: Machine) -> list[str]:
    """The effects that were noted, with their reasons."""
    return [f"{effect.kind}: {effect.reason.text}" for effect in m.notes.effects]


def kinds(value: Value) -> set[str]:
    """What a value may be, in short: constants, types, attributes of the input tuple, kinds of items."""
    return {_kind(item) for item in value}


def _kind(item: Any) -> str:
    match item:
        case ValueOf(type=kind):
            return f"some {kind.__name__}"
        case New(type=kind):
            return f"new {kind.__name__}"
    if hasattr(item, "value"):
        return repr(item.value)
    return f"t.{item.name}" if hasattr(item, "kind") and item.name else type(item).__name__

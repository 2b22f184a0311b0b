"""Changes to objects: local objects, the state of the key, and objects that other calls can see."""

from __future__ import annotations

import ast

from thalweg.analysis.program.abstract_values import (
    PLAIN,
    SCALARS,
    STATE,
    Anything,
    Given,
    InputTuple,
    Item,
    Known,
    New,
    Part,
    Root,
    Value,
)
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.notes import Place
from thalweg.analysis.program.python_types import ITERATOR, MAPPINGS
from thalweg.ir.facts import MUTATES, MUTATES_INPUT, UNKNOWN_CALL


def mutate(m: Machine, value: Value, what: str, node: ast.AST, name: str | None = None) -> None:
    """Record a change to these objects; `what` describes it in terms of the user's code. `name`: the only key or
    attribute that is set; memory holds its value."""
    for item in value:
        made = item.origin if isinstance(item, Part) else item
        if isinstance(made, New):
            m.alter(made, name)
        match item:
            case Known(value=held, root=root) if type(held) not in SCALARS:
                shown = getattr(held, "__name__", type(held).__name__)
                place = (held, (name or "") if isinstance(held, type) else "")
                change(m, root or Root.of("the object", shown, held), place, what, node)
            case Part(root, kind) if kind not in SCALARS and kind is not PLAIN:
                change(m, root, (root.held, ""), what, node)
            case InputTuple():
                m.effect(MUTATES_INPUT, f"{what} (part of a tuple)", node)
            case Given(given) if given.required.kind == "tuple":
                m.effect(MUTATES_INPUT, f"{what} (part of a tuple)", node)
            case Anything(roots):
                _may_change(m, roots, f"{what} (an unknown object)", node)
    m.touch()


def _may_change(m: Machine, roots: frozenset[Root], what: str, node: ast.AST) -> None:
    """The changed object is unknown: this neither proves nor excludes hidden state."""
    if roots != {STATE}:
        m.effect(UNKNOWN_CALL, what, node)
    for root in roots:
        if root == STATE:
            m.notes.writes_state = m.notes.writes_state or m.reason(what, node)
        else:
            m.notes.exposes((root.held, ""), m.reason(what, node))


def change(m: Machine, root: Root, place: Place, what: str, node: ast.AST) -> None:
    """Record a change to an object that a root owns."""
    if root == STATE:
        m.notes.writes_state = m.notes.writes_state or m.reason(what, node)
        return
    reason = m.reason(what if root.name and root.name in what else f"{what} ({root})", node)
    m.notes.effect(MUTATES, reason)
    m.notes.changes(place, reason)


def unsettle(m: Machine, item: New) -> None:
    """Record that an object may change at any time. An iterator does not get longer."""
    names = m.memory.altered.get(item)
    if m.store is None:
        return
    if names is not None:
        m.store.loosen(item, {name: m.memory.get(item, _field(item, name)) for name in names})
    else:
        m.store.forget(item, m.store.length(item)[1] if item.type is ITERATOR else None)


def alias_changed(m: Machine, item: Item) -> None:
    """The contents of an object of this call may have been changed through an object that refers to it."""
    if isinstance(item, Part) and item.origin is not None and m.store is not None:
        m.store.forget(item.origin)


def _field(item: New, name: str) -> str:
    """The field that holds the value set under a name: a key of a dict is not an attribute."""
    return f"key {name}" if item.type in MAPPINGS else name

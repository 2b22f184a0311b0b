"""Changes of objects: local ones, those of the key's state, and those that other calls can see."""

from __future__ import annotations

import ast

from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.notes import Place
from thalweg.analysis.program.python_types import ITERATOR, MAPPINGS
from thalweg.analysis.program.values import (
    PLAIN,
    SCALARS,
    STATE,
    Anything,
    Given,
    Item,
    Known,
    New,
    Part,
    Root,
    Row,
    Value,
)
from thalweg.ir.facts import MUTATES, MUTATES_INPUT, UNKNOWN_CALL


def mutate(m: Machine, value: Value, what: str, node: ast.AST, name: str | None = None) -> None:
    """Something of these objects is changed; `what` describes it in the user's words. `name`: the one key or
    attribute that is set, whose value memory holds."""
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
            case Row():
                m.effect(MUTATES_INPUT, f"{what}, of a tuple", node)
            case Given(given) if given.required.kind == "tuple":
                m.effect(MUTATES_INPUT, f"{what}, of a tuple", node)
            case Anything(roots):
                _may_change(m, roots, f"{what}, which may be anything", node)
    m.touch()


def _may_change(m: Machine, roots: frozenset[Root], what: str, node: ast.AST) -> None:
    """It is not known what is changed: this proves no hidden state, and does not exclude it either."""
    if roots != {STATE}:
        m.effect(UNKNOWN_CALL, what, node)
    for root in roots:
        if root == STATE:
            m.notes.writes_state = m.notes.writes_state or m.reason(what, node)
        else:
            m.notes.exposes((root.held, ""), m.reason(what, node))


def change(m: Machine, root: Root, place: Place, what: str, node: ast.AST) -> None:
    """What a root owns is changed."""
    if root == STATE:
        m.notes.writes_state = m.notes.writes_state or m.reason(what, node)
        return
    reason = m.reason(what if root.name and root.name in what else f"{what} ({root})", node)
    m.notes.effect(MUTATES, reason)
    m.notes.changes(place, reason)


def unsettle(m: Machine, item: New) -> None:
    """It may be changed at any time. An iterator gets no longer by that."""
    names = m.memory.altered.get(item)
    if m.store is None:
        return
    if names is not None:
        m.store.loosen(item, {name: m.memory.get(item, _field(item, name)) for name in names})
    else:
        m.store.forget(item, m.store.length(item)[1] if item.type is ITERATOR else None)


def alias_changed(m: Machine, item: Item) -> None:
    """What an object of this call holds may have been changed through something that keeps it."""
    if isinstance(item, Part) and item.origin is not None and m.store is not None:
        m.store.forget(item.origin)


def _field(item: New, name: str) -> str:
    """The field that holds what was set under a name: a key of a dict is not an attribute of it."""
    return f"key {name}" if item.type in MAPPINGS else name

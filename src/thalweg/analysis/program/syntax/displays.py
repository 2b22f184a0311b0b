"""Container displays: `[…]`, `(…)`, `{…}`."""

from __future__ import annotations

import ast
from typing import Any

from thalweg.analysis.program.abstract_values import New, Value, join, just, literal, only
from thalweg.analysis.program.contents import check_keys, length
from thalweg.analysis.program.machine import EXPRESSIONS, Machine
from thalweg.analysis.program.memory import ELEMENTS, KEYS
from thalweg.analysis.program.python_types import MAPPINGS
from thalweg.analysis.program.stdlib.containers import absorb
from thalweg.analysis.program.store import Count, Fields, overlaid, plus

_KINDS: dict[type[ast.expr], type] = {ast.List: list, ast.Tuple: tuple, ast.Set: set}


@EXPRESSIONS.handles(ast.List, ast.Tuple, ast.Set)
def display(m: Machine, node: ast.List | ast.Tuple | ast.Set) -> Value:
    kind = _KINDS[type(node)]
    count: Count = (0, 0)
    values: list[Value] = []
    fixed = True
    for part in node.elts:
        if isinstance(part, ast.Starred):
            whole = m.evaluate(part.value)
            count, fixed = plus(count, length(m, whole)), False
            values.append(m.elements(whole, part, ordered=kind is not set))
        else:
            values.append(m.evaluate(part))
            count = plus(count, (1, 1))
    held = join(values)
    if kind is set:
        check_keys(m, held, node)
        return m.made(kind, node, held)
    fields = dict(enumerate(values)) if kind is tuple and fixed else None
    return m.made(kind, node, held, length=count, fields=fields)


@EXPRESSIONS.handles(ast.Dict)
def dict_display(m: Machine, node: ast.Dict) -> Value:
    item = m.make(dict, node)
    fields: Fields | None = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            source = m.evaluate(value)
            fields = overlaid(fields, *_entries(m, source))
            absorb(m, item, source, node)
            continue
        known, held = m.evaluate(key), m.evaluate(value)
        check_keys(m, known, node)
        m.put(item, KEYS, known)
        m.put(item, ELEMENTS, held)
        name = literal(known)
        fields = None if fields is None or name is None else {**fields, name.value: held}
    m.set_fields(item, fields)
    return just(item)


def _entries(m: Machine, value: Value) -> tuple[Fields | None, frozenset[Any]]:
    """The fields of a dict, and which of them may be missing."""
    item = only(value)
    if not isinstance(item, New) or item.type not in MAPPINGS or m.store is None:
        return None, frozenset()
    return m.store.fields(item), m.store.optional(item)

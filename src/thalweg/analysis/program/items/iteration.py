"""Iteration, by the type of the item."""

from __future__ import annotations

import ast
import enum
from typing import Any

from thalweg.analysis.program import live_objects
from thalweg.analysis.program.abstract_values import (
    INT,
    NOTHING,
    PLAINS,
    SCALARS,
    STR,
    UNKNOWN,
    Anything,
    Bound,
    Func,
    Given,
    InputTuple,
    Item,
    Known,
    Method,
    New,
    Part,
    Submit,
    Super,
    Value,
    ValueOf,
    join,
    just,
    types_of,
)
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.callbacks import call_often, run_later, take_from
from thalweg.analysis.program.changes import mutate
from thalweg.analysis.program.machine import ITERATION, Machine
from thalweg.analysis.program.python_types import CONTAINERS, ITERATOR, MAPPINGS, is_built_in


@ITERATION.handles(Given, ValueOf)
def over_value(m: Machine, item: Given | ValueOf, node: ast.AST) -> Value:
    if isinstance(item, Given) and item.kind.required.item is not None:
        return just(Given(item.kind.required.item))
    kinds = types_of(item)
    if kinds is None:
        return over_object(m, item, node)
    return STR if kinds[0] is str else INT if kinds[0] in (bytes, range) else PLAINS


@ITERATION.handles(New)
def over_new(m: Machine, item: New, node: ast.AST) -> Value:
    if not is_built_in(item.type):
        return over_object(m, item, node)
    if item.type is ITERATOR:
        take_from(m, item)
    return m.memory.keys(item) if item.type in MAPPINGS else m.memory.contents(item)


@ITERATION.handles(Part)
def over_part(m: Machine, item: Part, node: ast.AST) -> Value:
    if not is_built_in(item.type):
        return over_object(m, item, node)
    if item.type is ITERATOR:
        mutate(m, just(item), f"takes from {item.root}", node)
    return m.memory.keys(item) if item.type in MAPPINGS else m.memory.contents(item)


@ITERATION.handles(Known)
def over_known(m: Machine, item: Known, node: ast.AST) -> Value:
    held: Any = item.value
    m.look_at(item, node)
    if type(held) in MAPPINGS:
        return m.memory.keys(item)
    if type(held) in CONTAINERS:
        return m.memory.contents(item)
    if isinstance(held, str | bytes | range):
        return STR if isinstance(held, str) else INT
    if type(held) in SCALARS:
        return NOTHING  # raises an exception
    if isinstance(held, enum.EnumMeta):
        return live_objects.summary(list(held), item.root)
    has_next = live_objects.class_attribute(type(held), "__next__") is not live_objects.NOT_THERE
    if live_objects.is_iterator(held) and has_next:
        mutate(m, just(item), f"takes from {item.root or 'an iterator'}", node)
        return UNKNOWN if not isinstance(held, ITERATOR) else PLAINS | UNKNOWN
    return over_object(m, item, node)


@ITERATION.handles(Super, Func, Method, Submit, Bound)
def over_function(m: Machine, item: Item, node: ast.AST) -> Value:
    return NOTHING  # raises an exception


@ITERATION.handles(InputTuple, Anything)
def over_object(m: Machine, item: Item, node: ast.AST) -> Value:
    """Iterate over an object that may define its own iteration."""
    value = just(item)
    method = m.attribute(value, "__iter__", node) if not isinstance(item, Anything) else NOTHING
    if not method or not all(isinstance(one, Bound) for one in method):
        return m.unknown("iterates over a value that cannot be analyzed", node, value)
    made = m.call(method, Args(), node)
    found = m.elements(made - value, node)
    if item in made:  # it is its own iterator
        take = m.attribute(value, "__next__", node)
        found = join((found, run_later(m, lambda: call_often(m, take, Args(), node))))
    return found

"""Calls of existing objects: functions, classes, callable objects."""

from __future__ import annotations

import ast
import datetime as dt
import enum
import functools
import operator
import types
import uuid
from typing import Any

from thalweg.analysis.program import live_objects
from thalweg.analysis.program.abstract_values import (
    STATE,
    SUBMIT,
    Bound,
    Item,
    Known,
    Method,
    Root,
    Value,
    join,
    just,
    types_of,
)
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.emissions import emit
from thalweg.analysis.program.items.classes import make_object
from thalweg.analysis.program.items.function_calls import call_function
from thalweg.analysis.program.known_functions import is_pure
from thalweg.analysis.program.machine import Machine, called
from thalweg.analysis.program.memory import ELEMENTS
from thalweg.analysis.program.stdlib.container_methods import call_method
from thalweg.analysis.program.stdlib.library_calls import call_library
from thalweg.ir.facts import IO, RANDOMNESS, TIME, UNKNOWN_CALL
from thalweg.ir.logic import Logic

_ONE_FORM = (int, str, bytes, type(None), dt.date, uuid.UUID, tuple, frozenset)  # and their elements


def call_known(m: Machine, item: Known, args: Args, node: ast.AST, surely: bool) -> Value:
    value: Any = item.value
    if value is Logic.submit and args.positional:
        return join([submit(m, receiver, args.rest(), node) for receiver in args.at(0)])
    if isinstance(value, types.FunctionType):
        known = call_library(m, value, args, node)
        return known if known is not None else call_function(m, value, args, node)
    if isinstance(value, types.MethodType):
        known = call_library(m, value, args, node)
        return known if known is not None else _call_bound_method(m, item, value, args, node)
    if isinstance(value, functools.partial):
        return _call_partial(m, item, value, args, node)
    if isinstance(value, functools._lru_cache_wrapper):
        return _call_cached(m, value.__wrapped__, args, node)
    if isinstance(value, types.MethodDescriptorType | types.WrapperDescriptorType):
        methods = [Method(receiver, value.__name__) for receiver in args.at(0)]
        return join([m.call_item(method, args.rest(), node, surely=False) for method in methods])
    if is_pure(value) and any(map(live_objects.has_own_metaclass, _live_objects(args))):
        return m.unknown(f"calls {called(node)} with a class that cannot be analyzed", node, *args.all())
    if isinstance(value, operator.attrgetter | operator.itemgetter):
        return _call_getter(m, value, args, node)
    known = call_library(m, value, args, node)
    if known is not None:
        return known
    if isinstance(value, types.BuiltinFunctionType) and not isinstance(value.__self__, types.ModuleType | None):
        return call_method(m, Known(value.__self__, item.root), value.__name__, args, node, surely=surely)
    if isinstance(value, type):
        return make_object(m, value, args, node)
    method = live_objects.class_attribute(type(value), "__call__")
    if isinstance(method, types.FunctionType):
        return call_function(m, method, args.after(just(Known(value, _root(item, value)))), node)
    return m.unknown(f"calls {called(node)}, whose code cannot be analyzed", node, just(item), *args.all())


def _root(item: Known, value: object) -> Root:
    return item.root or Root.of("the object", type(value).__name__, value)


def submit(m: Machine, receiver: Item, args: Args, node: ast.AST) -> Value:
    """`Operator.submit`, however it is accessed."""
    if isinstance(receiver, Known) and receiver.root == STATE and isinstance(receiver.value, Logic):
        return emit(m, args, node)
    return m.unknown("submits for another operator", node, frozenset((receiver, SUBMIT)), *args.all())


def _call_bound_method(m: Machine, item: Known, value: types.MethodType, args: Args, node: ast.AST) -> Value:
    owner = value.__self__
    receiver = Known(owner, None if isinstance(owner, type) else _root(item, owner))
    return m.call(just(Bound(value.__func__, receiver)), args, node)


def _call_partial(m: Machine, item: Known, value: functools.partial[Any], args: Args, node: ast.AST) -> Value:
    named = {k: just(Known(v, item.root)) for k, v in value.keywords.items()}
    given = [just(Known(v, item.root)) for v in value.args]
    merged = Args([*given, *args.positional], named | args.named, args.more, args.more_named)
    return m.call(just(Known(value.func, item.root)), merged, node)


def _call_cached(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    """A cache of results that depend only on the arguments is not state; a cache of random numbers or times is."""
    effects, m.notes.effects = m.notes.effects, {}
    try:
        made = m.call(just(Known(function)), args, node)
    finally:
        own = m.notes.effects
        m.notes.effects = effects | own
    name = getattr(function, "__name__", "a function")
    if any(effect.kind in (RANDOMNESS, TIME, IO) for effect in own):
        m.effect(UNKNOWN_CALL, f"the cache of {name} keeps a result that differs between calls", node)
    if not all(map(_has_one_form, m.memory.reach(args.all()))):
        m.effect(UNKNOWN_CALL, f"the cache of {name} treats equal arguments as the same, such as 0.0 and -0.0", node)
    holder = Known(function, Root.of("the cache of", name, function))
    m.put(holder, ELEMENTS, made)  # all callers get the same object
    return m.memory.get(holder, ELEMENTS)


def _has_one_form(item: Item) -> bool:
    """Whether equal values are the same: not for float, Decimal, bool (1 == True) and datetime (of two time zones)."""
    if isinstance(item, Known) and isinstance(item.value, type | types.FunctionType | enum.Enum):
        return True
    return all(kind in _ONE_FORM for kind in types_of(item) or (object,))


def _call_getter(m: Machine, getter: Any, args: Args, node: ast.AST) -> Value:
    found: list[Value] = []
    for name in getter.__reduce__()[1]:
        if isinstance(getter, operator.itemgetter):
            found.append(m.subscript(args.at(0), just(Known(name)), node))
            continue
        value = args.at(0)
        for part in name.split("."):
            value = m.attribute(value, part, node)
        found.append(value)
    return found[0] if len(found) == 1 else m.made(tuple, node, join(found), tag="got")


def _live_objects(args: Args) -> list[object]:
    """The existing objects among arguments, including those in tuples: `isinstance(x, (A, B))`."""
    held = [item.value for value in args.all() for item in value if isinstance(item, Known)]
    return [*held, *(one for value in held if type(value) is tuple for one in value)]

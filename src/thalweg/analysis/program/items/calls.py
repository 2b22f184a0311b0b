"""Calls, by the type of the callee."""

from __future__ import annotations

import ast
import functools
import types

from thalweg.analysis.program import live_objects
from thalweg.analysis.program.abstract_values import (
    NOTHING,
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
    classes_of,
    just,
    types_of,
)
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.changes import alias_changed
from thalweg.analysis.program.emissions import emit
from thalweg.analysis.program.items.function_calls import call_function, follow
from thalweg.analysis.program.items.known_calls import call_known, submit
from thalweg.analysis.program.machine import CALLS, Machine, called
from thalweg.analysis.program.python_types import MUTATORS
from thalweg.analysis.program.scopes import parameters
from thalweg.analysis.program.stdlib.container_methods import call_method
from thalweg.ir.logic import Logic

CALLS.handles(Known)(call_known)


@CALLS.handles(Func)
def call_local_function(m: Machine, item: Func, args: Args, node: ast.AST, surely: bool) -> Value:
    defaults = {name: m.memory.get(item, f"default {name}") for name in parameters(item.node)}
    outer = item.frame.with_scopes(item.scopes)
    return follow(m, item.node, args, node, outer, defaults, getattr(item.node, "name", "a lambda"))


@CALLS.handles(Bound)
def call_bound(m: Machine, item: Bound, args: Args, node: ast.AST, surely: bool) -> Value:
    if item.function is Logic.submit:
        return submit(m, item.receiver, args, node)
    if isinstance(item.function, types.FunctionType):
        return call_function(m, item.function, args.after(just(item.receiver)), node)
    return call_known(m, Known(item.function), args.after(just(item.receiver)), node, surely)


@CALLS.handles(Method)
def call_builtin_method(m: Machine, item: Method, args: Args, node: ast.AST, surely: bool) -> Value:
    if item.name == "__init__" and not args.all() and _has_no_init(item.receiver):
        return just(Known(None))
    found = call_method(m, item.receiver, item.name, args, node, surely=surely)
    if any(item.name in MUTATORS.get(kind, ()) for kind in types_of(item.receiver) or ()):
        alias_changed(m, item.receiver)
    return found


def _has_no_init(receiver: Item) -> bool:
    """Whether `super().__init__()` is that of object, which does nothing."""
    classes = classes_of(receiver)
    return bool(classes) and all(map(live_objects.is_python_class, classes))


@CALLS.handles(Submit)
def call_submit(m: Machine, item: Submit, args: Args, node: ast.AST, surely: bool) -> Value:
    return emit(m, args, node)


@CALLS.handles(New, Part)
def call_object(m: Machine, item: New | Part, args: Args, node: ast.AST, surely: bool) -> Value:
    if isinstance(item, New) and item.type is functools.partial:
        return _call_partial(m, item, args, node)
    if live_objects.is_python_class(item.type):
        return call_tuple(m, item, args, node, surely)
    return m.unknown(f"calls {called(node)}, an object whose code cannot be analyzed", node, just(item), UNKNOWN)


def _call_partial(m: Machine, item: New, args: Args, node: ast.AST) -> Value:
    held = m.memory.objects.get(item, {})
    given = [held[f"arg {i}"] for i in range(len(held)) if f"arg {i}" in held]
    named = {k.removeprefix("named "): v for k, v in held.items() if k.startswith("named ")}
    merged = Args([*given, *args.positional], named | args.named, args.more, args.more_named)
    return m.call(m.memory.get(item, "func"), merged, node)


@CALLS.handles(InputTuple)
def call_tuple(m: Machine, item: Item, args: Args, node: ast.AST, surely: bool) -> Value:
    return m.call(m.attribute(just(item), "__call__", node), args, node)


@CALLS.handles(Anything)
def call_anything(m: Machine, item: Anything, args: Args, node: ast.AST, surely: bool) -> Value:
    return m.unknown(f"calls {called(node)}, which cannot be analyzed", node, just(item), *args.all())


@CALLS.handles(ValueOf, Given, Super)
def call_value(m: Machine, item: Item, args: Args, node: ast.AST, surely: bool) -> Value:
    return NOTHING  # not callable: raises an exception

"""Handlers for individual functions of Python."""

from __future__ import annotations

import ast
import logging
import operator
import random
import re
from collections.abc import Sequence
from typing import Any

from thalweg.analysis.program import live_objects
from thalweg.analysis.program.abstract_values import (
    BOOL,
    INT,
    NONE,
    NOTHING,
    PLAIN,
    PLAINS,
    SCALARS,
    STR,
    TREE,
    Bound,
    InputTuple,
    Item,
    Known,
    New,
    Value,
    classes_of,
    join,
    just,
    literal,
    types_of,
)
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.callbacks import call_often
from thalweg.analysis.program.changes import alias_changed, mutate
from thalweg.analysis.program.contents import is_plain, is_plain_data, length, look_into
from thalweg.analysis.program.known_functions import (
    EFFECTFUL,
    PURE,
    effect_of,
    module_of,
    pure_result,
    standard_streams,
)
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.memory import ELEMENTS
from thalweg.analysis.program.python_types import SETS
from thalweg.analysis.program.stdlib.container_methods import order_by
from thalweg.analysis.program.stdlib.function_table import FUNCTIONS, argument
from thalweg.analysis.program.stdlib.iterators import is_known_type
from thalweg.analysis.program.stdlib.plain_functions import call_plain
from thalweg.analysis.program.stdlib.scalar_methods import write_log
from thalweg.ir.facts import HASH_ORDER, IO, RANDOMNESS
from thalweg.ir.logic import waking_time

# Text.


@FUNCTIONS.handles(print)
def print_text(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    m.effect(IO, "prints", node)
    as_text(m, Args(args.positional, more=args.more), node)
    for item in join((args.named.get("file", NOTHING), args.more_named or NOTHING)):
        streams = (None, *standard_streams())
        if not isinstance(item, Known) or not any(item.value is stream for stream in streams):
            m.unknown("prints to a file that cannot be analyzed", node, just(item))
    return NONE


@FUNCTIONS.handles(str)
def make_text(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    if len(args.all()) == 1 and shows_itself(m, args.at(0), ("__str__", "__repr__"), node):
        return STR
    return as_text(m, args, node)


@FUNCTIONS.handles(repr, format)
def show(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    return as_text(m, args, node)


def as_text(m: Machine, args: Args, node: ast.AST) -> Value:
    """Convert the arguments to text. This may run their code, and shows the order of sets."""
    for item in m.memory.reach(args.all()):
        if any(kind in SETS for kind in types_of(item) or ()):
            m.effect(HASH_ORDER, "converts a set to text", node)
    call_plain(m, PLAIN, "conversion to text", args, node)
    return STR


def shows_itself(m: Machine, value: Value, names: Sequence[str], node: ast.AST) -> bool:
    """Whether the classes of all these objects define their conversion to text in Python; that code is followed."""
    methods: list[Bound] = []
    for item in value:
        held = [live_objects.own_code(cls, name) for cls in classes_of(item) for name in names]
        own = next((one for one in held if one is not None), None)
        if own is None:
            return False
        methods.append(Bound(own, item))
    for method in methods:
        m.call(just(method), Args([STR] if method.function.__name__ == "__format__" else []), node)
    return bool(methods)


@FUNCTIONS.handles(input)
def read_input(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    return m.unknown("calls input(), whose data is shared by all calls", node)


# Folds over elements.


@FUNCTIONS.handles(sorted)
def make_sorted(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    count = length(m, args.at(0))
    held = m.elements(args.at(0), node, ordered="key" in args.named)
    order_by(m, args.named.get("key", just(Known(None))), held, node)
    return m.made(list, node, held, tag="sorted", length=count)


@FUNCTIONS.handles(min, max)
def least(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    if len(args.positional) == 1 and args.more is None:
        held = m.elements(args.at(0), node, ordered="key" in args.named)
    else:
        held = join((*args.positional, args.more or NOTHING))
    order_by(m, args.named.get("key", just(Known(None))), held, node)
    return join((held, args.named.get("default", NOTHING)))


@FUNCTIONS.handles(sum)
def total(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    held = m.elements(args.at(0), node)
    items = held | args.at(1, "start")
    if all(set(types_of(i) or (object,)) <= {*SCALARS, PLAIN} for i in items):
        return PLAINS
    if is_plain(m, items):
        return join((PLAINS, m.made(list, node, m.memory.contents_of(items), tag="sum")))
    return m.unknown("sum runs code of the elements", node, held)


@FUNCTIONS.handles(any, all)
def whether(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    held = m.elements(args.at(0), node, ordered=False)
    if not is_plain(m, held):
        m.unknown("tests the truth of objects with user-defined special methods", node, held)
    return BOOL


# Attributes, elements and classes.


@FUNCTIONS.handles(getattr)
def get_attribute(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    name = literal(args.at(1))
    if name is None or not isinstance(name.value, str):
        return m.unknown("uses getattr() with a name that is not constant", node, *args.all())
    found = m.attribute_if_there if len(args.positional) == 3 else m.attribute
    return join((found(args.at(0), name.value, node), args.at(2)))


@FUNCTIONS.handles(setattr)
def set_attribute(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    mutate(m, args.at(0), f"writes an attribute of {argument(node)}", node)
    return m.unknown("uses setattr()", node, *args.all())


@FUNCTIONS.handles(hasattr)
def has_attribute(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    name = literal(args.at(1))
    for item in args.at(0):
        if isinstance(item, InputTuple) and name is not None:
            m.notes.read(item.port, [str(name.value)])
        if name is None and not is_plain_data(m, just(item)):
            m.unknown("uses hasattr() with a name that is not constant", node, just(item))
        elif name is not None and not is_known_type(item) and not _has_none(m, item, str(name.value), node):
            m.attribute(just(item), str(name.value), node)  # a property runs
    return BOOL


def _has_none(m: Machine, item: Item, name: str, node: ast.AST) -> bool:
    """Whether an object has no such attribute, or only a data attribute: looking it up runs no code."""
    if not isinstance(item, Known):
        return False
    m.look_at(item, node)
    cls = type(item.value)
    return live_objects.class_attribute(cls, name) is live_objects.NOT_THERE and not live_objects.looks_up_itself(cls)


@FUNCTIONS.handles(operator.getitem)
def get_item(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    return m.subscript(args.at(0), args.at(1), node)


@FUNCTIONS.handles(operator.setitem, operator.delitem)
def set_item(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    for item in args.at(0):
        alias_changed(m, item)
    mutate(m, args.at(0), f"changes {argument(node)}", node)
    for item in args.at(0):
        m.put(item, ELEMENTS, args.at(2))
        if isinstance(item, New) and m.store is not None:
            m.store.forget(item)
    return NONE


@FUNCTIONS.handles(type)
def type_of(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    if len(args.positional) != 1:
        return m.unknown("creates a class", node, *args.all())
    kinds = [t for item in args.at(0) for t in (types_of(item) or (object,))]
    if any(t in (object, PLAIN, TREE) for t in kinds):
        return m.unknown("uses type() of a value that cannot be analyzed", node) if args.at(0) else NOTHING
    return frozenset(Known(t) for t in kinds)


@FUNCTIONS.handles(waking_time)
def waking(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    """The argument of `sleep_until`, which is an int or an error."""
    return INT


@FUNCTIONS.handles(object.__new__)
def allocate(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    """Create an uninitialized object of a class."""
    classes = [i.value for i in args.at(0) if isinstance(i, Known) and isinstance(i.value, type)]
    if len(classes) != len(args.at(0)) or len(args.positional) != 1:
        return m.unknown("creates an object of a class that cannot be analyzed", node, *args.all())
    return join([m.made(cls, node, NOTHING, tag="object") for cls in classes])


@FUNCTIONS.handles(super)
def refuse_super(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    return m.unknown("uses super() with arguments", node, *args.all())


@FUNCTIONS.handles(exec, eval, compile, __import__, globals, locals, breakpoint, delattr, vars, dir)
def refuse(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    return m.unknown(f"uses {function.__name__}()", node, *args.all())


@FUNCTIONS.handles(isinstance, issubclass, callable)
def test_class(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    return BOOL  # functions of tuples do not use classes with their own __instancecheck__


# Functions of plain data, and those with effects.


@FUNCTIONS.handles(random.Random)
def make_random(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    if not args.all():
        m.effect(RANDOMNESS, "creates a random number generator without a seed", node)
    call_plain(m, PLAIN, "random.Random", args, node)
    return m.made(random.Random, node, NOTHING)


@FUNCTIONS.handles(hash, id)
def identify(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    m.effect(HASH_ORDER, f"{function.__name__}() differs between processes", node)
    return call_plain(m, int, function.__name__, args, node)


@FUNCTIONS.handles(re.sub, re.subn)
def substitute(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    if not is_plain(m, args.at(1)):
        call_often(m, args.at(1), Args([PLAINS]), node)
        return STR
    return call_plain(m, PLAIN, function.__name__, args, node)


@FUNCTIONS.handles(*(function for function in PURE if module_of(function) == "_operator"))
def operate(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    """The result may be an element of an argument, or a new container with its elements."""
    if not is_plain_data(m, *args.all()):
        return call_plain(m, PLAIN, function.__name__, args, node)
    held = join([m.memory.contents(item) for value in args.all() for item in value])
    look_into(m, args.all(), node)
    return join((PLAINS, held, m.made(TREE, node, held, tag="operator")))


@FUNCTIONS.handles(*(function for function in EFFECTFUL if module_of(function) != "logging"))
def have_effect(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    kind, shown = effect_of(function)
    m.effect(kind, f"calls {shown}", node)
    return call_plain(m, PLAIN, shown, args, node)


@FUNCTIONS.handles(*(function for function in EFFECTFUL if module_of(function) == "logging"))
def log(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    return write_log(m, logging.root, function.__name__, args, node)


@FUNCTIONS.handles(*(function for function in PURE if function not in FUNCTIONS))
def compute(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    return call_plain(m, pure_result(function), getattr(function, "__name__", "it"), args, node)

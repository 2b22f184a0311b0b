"""The results of container methods that change nothing."""

from __future__ import annotations

import ast
from collections.abc import Callable

from thalweg.analysis.program.abstract_values import (
    BOOL,
    BYTES,
    INT,
    NONE,
    NOTHING,
    STR,
    TREE,
    Item,
    Value,
    join,
    just,
)
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.callbacks import watch
from thalweg.analysis.program.contents import check_keys, is_plain, look_into, steady_length
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.python_types import HASHER, ITERATOR, SETS
from thalweg.analysis.program.registry import Registry
from thalweg.analysis.program.stdlib.containers import copied
from thalweg.analysis.program.stdlib.plain_functions import runs_code

_COMBINES = frozenset(("union", "intersection", "difference", "symmetric_difference", "copy", "fromkeys"))

# Methods of containers that change nothing, by name: machine, receiver, its type, the name, arguments, location.
Accessor = Callable[[Machine, Item, type, str, Args, ast.AST], Value]
ACCESSORS: Registry[str, Accessor] = Registry("accessors")


def call_accessor(m: Machine, receiver: Item, kind: type, name: str, args: Args, node: ast.AST) -> Value:
    if not is_plain(m, *args.all()):
        runs_code(m, name, args, node)
    if kind is HASHER:
        return {"hexdigest": STR, "digest": BYTES}.get(name, just(receiver))
    m.read_whole(args.at(0))
    if kind in SETS and name in _COMBINES:
        more = [m.elements(v, node, ordered=False) for v in args.all()]
        check_keys(m, join(more), node)
        return m.made(kind, node, join((m.memory.contents(receiver), *more)), tag=name)
    handler = ACCESSORS.get(name)
    if handler is not None:
        return handler(m, receiver, kind, name, args, node)
    if kind is TREE:
        look_into(m, [just(receiver)], node)
        return join((m.tree(node, name), m.memory.contents(receiver)))
    return m.unknown(f"calls {name} of a {kind.__name__}", node, just(receiver), *args.all())


@ACCESSORS.handles("get", "__getitem__")
def _get(m: Machine, receiver: Item, kind: type, name: str, args: Args, node: ast.AST) -> Value:
    given = args.all()
    return join((m.memory.contents(receiver), *given[1:], NOTHING if len(given) > 1 else NONE))


@ACCESSORS.handles("items")
def _items(m: Machine, receiver: Item, kind: type, name: str, args: Args, node: ast.AST) -> Value:
    held, keys = m.memory.contents(receiver), m.memory.keys(receiver)
    pair = m.made(tuple, node, held | keys, tag="pair", length=(2, 2), fields={0: keys, 1: held})
    watch(m, just(receiver))
    return m.made(ITERATOR, node, pair, tag=name, length=steady_length(m, just(receiver)))


@ACCESSORS.handles("values", "elements")
def _values(m: Machine, receiver: Item, kind: type, name: str, args: Args, node: ast.AST) -> Value:
    return m.made(ITERATOR, node, m.memory.contents(receiver) | m.memory.keys(receiver), tag=name)


@ACCESSORS.handles("keys")
def _keys(m: Machine, receiver: Item, kind: type, name: str, args: Args, node: ast.AST) -> Value:
    return m.made(ITERATOR, node, m.memory.keys(receiver), tag=name)


@ACCESSORS.handles("most_common")
def _most_common(m: Machine, receiver: Item, kind: type, name: str, args: Args, node: ast.AST) -> Value:
    pair = m.made(tuple, node, m.memory.contents(receiver) | m.memory.keys(receiver), tag="pair")
    return m.made(list, node, pair, tag=name)


@ACCESSORS.handles("copy", "__copy__")
def _copied(m: Machine, receiver: Item, kind: type, name: str, args: Args, node: ast.AST) -> Value:
    return copied(m, receiver, kind, node)


@ACCESSORS.handles("fromkeys")
def _from_keys(m: Machine, receiver: Item, kind: type, name: str, args: Args, node: ast.AST) -> Value:
    keys = m.elements(args.at(0), node)
    return m.made(dict, node, args.at(1) | NONE, tag=name, keys=keys)


@ACCESSORS.handles("count", "index", "__len__", "total")
def _number(m: Machine, receiver: Item, kind: type, name: str, args: Args, node: ast.AST) -> Value:
    return INT if is_plain(m, just(receiver)) else runs_code(m, name, args, node)


@ACCESSORS.handles("issubset", "issuperset", "isdisjoint", "__contains__")
def _whether(m: Machine, receiver: Item, kind: type, name: str, args: Args, node: ast.AST) -> Value:
    look_into(m, args.all(), node)
    return BOOL

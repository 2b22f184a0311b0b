"""Python's own functions, one by one."""

from __future__ import annotations

import ast
import builtins
import operator
import random
from collections.abc import Callable
from typing import Any

from thalweg.analysis.program import outside
from thalweg.analysis.program.frames import Args
from thalweg.analysis.program.machine import ELEMENTS
from thalweg.analysis.program.makers import Makers, among
from thalweg.analysis.program.store import ANY_NUMBER
from thalweg.analysis.program.tables import ITERATOR, SETS, STANDARD_STREAMS, is_built_in
from thalweg.analysis.program.values import (
    BOOL,
    INT,
    NONE,
    NOTHING,
    PLAIN,
    PLAINS,
    SCALARS,
    STR,
    TREE,
    Anything,
    Bound,
    Item,
    Known,
    New,
    Row,
    Value,
    join,
    literal,
    only,
    types_of,
)
from thalweg.ir.facts import HASH_ORDER, IO, RANDOMNESS

_LAZY = (map, filter, zip, enumerate, reversed, iter)


def _print(m: Makers, args: Args, node: ast.AST) -> Value:
    m.effect(IO, "prints", node)
    _text(m, Args(args.positional, more=args.more), node)
    for item in join((args.named.get("file", NOTHING), args.more_named or NOTHING)):
        if not isinstance(item, Known) or not among(item.value, (None, *STANDARD_STREAMS())):
            m.unknown("prints into something that cannot be read", node, frozenset((item,)))
    return NONE


def _text(m: Makers, args: Args, node: ast.AST) -> Value:
    """`str`, `repr`, `format`: they show objects, and the order of sets."""
    for item in m.reach(args.all()):
        if any(kind in SETS for kind in types_of(item) or ()):
            m.effect(HASH_ORDER, "shows a set as text", node)
    m.pure(PLAIN, "to show it as text", args, node)
    return STR


def _next(m: Makers, args: Args, node: ast.AST) -> Value:
    m.nexts += len(args.all()) == 1
    return join((*(_taken(m, item, node) for item in args.at(0)), args.at(1)))


def _taken(m: Makers, item: Item, node: ast.AST) -> Value:
    """One element of an iterator; with code of its own that is another than iterating over it runs."""
    value = frozenset((item,))
    kinds = types_of(item)
    if kinds is None or not all(is_built_in(kind) or kind in SCALARS for kind in kinds):
        native = isinstance(item, Known) and outside.is_iterator(item.value)
        method = NOTHING if isinstance(item, Anything) or native else m.get_attribute(value, "__next__", node)
        if method and all(isinstance(one, Bound) for one in method):
            return m.call(method, Args(), node)
    return m.elements(value, node)


def _lazy(kind: Callable[..., Any]) -> Callable[[Makers, Args, ast.AST], Value]:
    def handle(m: Makers, args: Args, node: ast.AST) -> Value:
        if kind is iter and len(args.positional) == 1 and all(_makes_itself(i) for i in args.at(0)):
            return args.at(0)
        sources = args.positional[1:] if kind in (map, filter) else args.positional
        if kind is iter and len(args.positional) == 2:
            return m.made(ITERATOR, node, _later(m, args.at(0), [], node), tag="iter")
        if kind is reversed and not all(map(_is_built_in, args.at(0))):
            m.unknown("reversed() runs code that cannot be read", node, args.at(0))
        single = len(sources) == 1 and args.more is None
        length = m.steady_length(sources[0]) if single and kind is not filter else ANY_NUMBER
        held = [m.elements(v, node) for v in sources[: 1 if kind is enumerate else None]]
        if args.more is not None:
            held.append(m.elements(args.more, node))
        for source in sources:
            m.watch(source)
        if kind is map:
            nexts = m.nexts
            made = _later(m, args.at(0), held, node)
            length = length if m.nexts == nexts else (0, length[1])  # an empty iterator in the function is the end
        elif kind is filter:
            _later(m, args.at(0), held, node, asked=True)
            made = join(held)
        elif kind in (zip, enumerate):
            fields = [INT, *held] if kind is enumerate else held
            pair = m.made(tuple, node, join(fields), tag="pair", length=(len(fields), len(fields)))
            item = only(pair)
            assert isinstance(item, New)
            m.set_fields(item, dict(enumerate(fields)) if args.more is None else None)
            made = pair
        else:
            made = join(held)
        return m.made(ITERATOR, node, made, tag=kind.__name__, length=length)

    return handle


def _later(m: Makers, function: Value, held: list[Value], node: ast.AST, *, asked: bool = False) -> Value:
    """A function that is called when somebody takes from an iterator; `asked`: whether its result is true."""

    def run() -> Value:
        found = join(held) if function == frozenset((Known(None),)) else m.call_often(function, Args(held), node)
        if asked:
            m.truth(found, node)
        return found

    return m.run_later(run) if m.store is not None else NOTHING


def _is_built_in(item: Item) -> bool:
    kinds = types_of(item)
    return kinds is not None and all(is_built_in(kind) for kind in kinds)


def _makes_itself(item: object) -> bool:
    return isinstance(item, New) and item.type is ITERATOR


def _sorted(m: Makers, args: Args, node: ast.AST) -> Value:
    length = m.length(args.at(0))
    held = m.elements(args.at(0), node, ordered="key" in args.named)
    m.order_by(args.named.get("key", frozenset((Known(None),))), held, node)
    return m.made(list, node, held, tag="sorted", length=length)


def _least(m: Makers, args: Args, node: ast.AST) -> Value:
    one = len(args.positional) == 1 and args.more is None
    held = (
        m.elements(args.at(0), node, ordered="key" in args.named)
        if one
        else join((*args.positional, args.more or NOTHING))
    )
    m.order_by(args.named.get("key", frozenset((Known(None),))), held, node)
    return join((held, args.named.get("default", NOTHING)))


def _sum(m: Makers, args: Args, node: ast.AST) -> Value:
    held = m.elements(args.at(0), node)
    if all(set(types_of(i) or (object,)) <= {*SCALARS, PLAIN} for i in held | args.at(1, "start")):
        return PLAINS
    if m.plain(held, args.at(1, "start")):
        inner = join(m.contents(item) for item in held | args.at(1, "start"))
        return join((PLAINS, m.made(list, node, inner, tag="sum")))
    return m.unknown("sum runs code of the elements", node, held)


def _whether(m: Makers, args: Args, node: ast.AST) -> Value:
    held = m.elements(args.at(0), node, ordered=False)
    if not m.plain(held):
        m.unknown("it asks objects with code of their own whether they are true", node, held)
    return BOOL


def _getattr(m: Makers, args: Args, node: ast.AST) -> Value:
    name = literal(args.at(1))
    if name is None or not isinstance(name.value, str):
        return m.unknown("getattr() of a name that is not constant", node, *args.all())
    return join((m.get_attribute(args.at(0), name.value, node), args.at(2)))


def _setattr(m: Makers, args: Args, node: ast.AST) -> Value:
    m.mutate(args.at(0), f"writes an attribute of {m.argument(node)}", node)
    return m.unknown("uses setattr()", node, *args.all())


def _type(m: Makers, args: Args, node: ast.AST) -> Value:
    if len(args.positional) != 1:
        return m.unknown("makes a class", node, *args.all())
    kinds = [t for item in args.at(0) for t in (types_of(item) or (object,))]
    if any(t in (object, PLAIN, TREE) for t in kinds):
        return m.unknown("uses type() of something that cannot be read", node) if m.reach([args.at(0)]) else NOTHING
    return frozenset(Known(t) for t in kinds)


def _random(m: Makers, args: Args, node: ast.AST) -> Value:
    if not args.all():
        m.effect(RANDOMNESS, "makes a generator without a seed", node)
    m.pure(PLAIN, "random.Random", args, node)
    return m.made(random.Random, node, NOTHING)


def _setitem(m: Makers, args: Args, node: ast.AST) -> Value:
    m.mutate(args.at(0), f"changes {m.argument(node)}", node)
    for item in args.at(0):
        m.put(item, ELEMENTS, args.at(2))
        if isinstance(item, New) and m.store is not None:
            m.store.forget(item)
    return NONE


def _allocate(m: Makers, args: Args, node: ast.AST) -> Value:
    """`object.__new__`: an object of a class, before anything is done to it."""
    classes = [i.value for i in args.at(0) if isinstance(i, Known) and isinstance(i.value, type)]
    if len(classes) != len(args.at(0)) or len(args.positional) != 1:
        return m.unknown("makes an object of something that cannot be read", node, *args.all())
    return join(m.made(cls, node, NOTHING, tag="object") for cls in classes)


def _hasattr(m: Makers, args: Args, node: ast.AST) -> Value:
    name = literal(args.at(1))
    for item in args.at(0):
        if isinstance(item, Row) and name is not None:
            m.notes.read(item.port, [str(name.value)])
        if name is None and not m.plain_data(frozenset((item,))):
            m.unknown("hasattr() of a name that is not constant", node, frozenset((item,)))
        elif name is not None and not _is_built_in(item) and not _has_none(m, item, str(name.value), node):
            m.get_attribute(frozenset((item,)), str(name.value), node)  # a property runs
    return BOOL


def _has_none(m: Makers, item: Item, name: str, node: ast.AST) -> bool:
    """Whether an object has no such attribute, or only data under it: asking for it runs no code."""
    if not isinstance(item, Known):
        return False
    m.place(item, node)
    cls = type(item.value)
    return outside.class_attribute(cls, name) is outside.NOT_THERE and not outside.looks_up_itself(cls)


def _no_super(m: Makers, args: Args, node: ast.AST) -> Value:
    return m.unknown("uses super() with arguments", node, *args.all())


HANDLERS: dict[int, Callable[[Makers, Args, ast.AST], Value]] = {
    id(builtins.print): _print,
    id(builtins.str): _text,
    id(builtins.repr): _text,
    id(builtins.format): _text,
    id(builtins.next): _next,
    id(builtins.sorted): _sorted,
    id(builtins.min): _least,
    id(builtins.max): _least,
    id(builtins.sum): _sum,
    id(builtins.any): _whether,
    id(builtins.all): _whether,
    id(object.__new__): _allocate,
    id(builtins.getattr): _getattr,
    id(builtins.setattr): _setattr,
    id(builtins.hasattr): _hasattr,
    id(builtins.type): _type,
    id(builtins.super): _no_super,
    id(builtins.input): lambda m, a, n: m.unknown("input() takes what other calls left", n),
    id(random.Random): _random,
    id(operator.setitem): _setitem,
    id(operator.delitem): _setitem,
    **{id(kind): _lazy(kind) for kind in _LAZY},
}

"""Calls of Python's own functions."""

from __future__ import annotations

import ast
import builtins
import collections
import copy
import functools
import itertools
import operator
import random
import re
from collections.abc import Callable, Iterable
from typing import Any

from thalweg.analysis.program.containers import Containers
from thalweg.analysis.program.machine import ELEMENTS, Args
from thalweg.analysis.program.store import ANY_NUMBER, Count
from thalweg.analysis.program.tables import (
    CONTAINERS,
    HASHER,
    HEAP_CHANGING,
    ITERATOR,
    MAPPINGS,
    SETS,
    SHARED_RANDOM,
    SORTED_CHANGING,
    THREADS,
    effect_of,
    is_outside,
    module_of,
    pure_result,
)
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
    Known,
    New,
    Row,
    Value,
    join,
    literal,
    only,
    types_of,
)
from thalweg.ir.facts import HASH_ORDER, IO, RANDOMNESS, UNKNOWN_CALL

_REFUSED = (exec, eval, compile, __import__, globals, locals, breakpoint, delattr, vars, dir)
_LAZY = (map, filter, zip, enumerate, reversed, iter)


class Builtins(Containers):
    """Functions of Python's own."""

    def call_built_in(self, function: Any, args: Args, node: ast.AST) -> Value | None:
        """What a function of Python's own gives; None: it is none that is known here."""
        handler = _HANDLERS.get(id(function))
        if handler is not None:
            return handler(self, args, node)
        if _among(function, CONTAINERS):
            return self._container(function, args, node)
        if _among(function, _REFUSED):
            return self.unknown(f"uses {function.__name__}()", node, *args.all())
        if _among(function, (*HEAP_CHANGING, *SORTED_CHANGING)):
            return self._heap(function, args, node)
        if (found := effect_of(function)) is not None:
            self.effect(found[0], f"calls {found[1]}", node)
            self.look_into(args.all(), node)
            return PLAINS
        if (result := pure_result(function)) is not None:
            return self._pure(function, result, args, node)
        return self._by_module(function, args, node)

    def _by_module(self, function: Any, args: Args, node: ast.AST) -> Value | None:
        name = f"{module_of(function)}.{getattr(function, '__qualname__', type(function).__name__)}"
        if getattr(function, "__self__", None) is SHARED_RANDOM:
            name = f"random.{function.__name__}()"
            self.effect(RANDOMNESS, f"calls {name}", node)
            self.effect(UNKNOWN_CALL, f"{name} draws from the generator that all calls share", node)
            return self._drawn(function.__name__, args, node)
        if function is open or is_outside(function):
            self.effect(IO, f"calls {name}", node)
            return self.unknown(f"{name} can see what other calls left outside the program", node, *args.all())
        if module_of(function).partition(".")[0] in THREADS:
            return self.unknown(f"{name} is for code that runs at the same time", node, *args.all())
        if module_of(function) == "_hashlib":
            self.pure(PLAIN, name, args, node)
            return self.made(HASHER, node, NOTHING)
        if module_of(function) == "itertools" or module_of(function) == "_functools":
            return self._itertools(function, args, node)
        return None

    def _pure(self, function: Any, result: type, args: Args, node: ast.AST) -> Value:
        if _among(function, (hash, id)):
            self.effect(HASH_ORDER, f"{function.__name__}() is another in each process", node)
        if _among(function, (isinstance, issubclass, callable)):
            return BOOL  # a class with its own __instancecheck__ is not a thing of functions of tuples
        if _among(function, (copy.copy, copy.deepcopy)) and len(args.all()) == 1:
            item = only(args.at(0))
            if isinstance(item, New) and item.type in CONTAINERS and function is copy.copy:
                return self.copied(item, item.type, node)
        if _among(function, (re.sub, re.subn)) and not self.plain(args.at(1)):
            self.call(args.at(1), Args([PLAINS]), node)
            return STR
        return self.pure(result, getattr(function, "__name__", "it"), args, node)

    def _container(self, kind: type, args: Args, node: ast.AST) -> Value:
        """`list(…)` and its like."""
        if kind in MAPPINGS:
            return self._dict(kind, args, node)
        given = args.positional[:1]
        length: Count = (0, 0) if not given else self.length(given[0]) if kind in (list, tuple) else ANY_NUMBER
        held = join(self.elements(v, node, ordered=kind not in SETS) for v in given)
        if kind in SETS and not self.plain(held):
            self.unknown("a set compares objects with code of their own", node, held)
        return self.made(kind, node, held, tag=kind.__name__, length=length)

    def _dict(self, kind: type, args: Args, node: ast.AST) -> Value:
        given = list(args.positional)
        factory = NOTHING
        if kind is collections.defaultdict and given:
            factory = given.pop(0)
        value = self.made(kind, node, join(args.named.values()), tag=kind.__name__, keys=STR if args.named else NOTHING)
        item = only(value)
        assert isinstance(item, New)
        self.put(item, "default_factory", factory)
        copied = only(given[0]) if given else None
        if self.store is not None and (copied is None or isinstance(copied, New)) and args.more_named is None:
            base = {} if copied is None else self.store.fields(copied)
            self.set_fields(item, None if base is None or given[1:] else {**base, **args.named})
        for source in given:
            self.absorb(item, source, node)
        return value

    def absorb(self, item: New, source: Value, node: ast.AST) -> None:
        """A dict gets all entries of another, or of pairs, or counts elements."""
        for one in source:
            kinds = types_of(one) or ()
            if any(kind in MAPPINGS or kind is TREE for kind in kinds):
                self.put(item, ELEMENTS, self.contents(one))
                self.put(item, "{}", self.keys(one))
                if isinstance(one, Known):
                    self.place(one, node)
            else:
                inner = self.elements(frozenset((one,)), node)
                pairs = join(self.contents(i) for i in inner)
                self.put(item, ELEMENTS, join((pairs, INT)))
                self.put(item, "{}", join((inner, pairs)))

    def _heap(self, function: Any, args: Args, node: ast.AST) -> Value:
        heap = args.at(0)
        self.mutate(heap, f"changes {self._argument(node)} with {function.__name__}()", node)
        for item in heap:
            self.put(item, ELEMENTS, args.at(1))
            if isinstance(item, New) and self.store is not None:
                self.store.set_length(item, ANY_NUMBER, surely=False)
        if not self.plain(heap, args.at(1)):
            self.unknown(f"{function.__name__} compares objects with code of their own", node, heap, args.at(1))
        return join((*(self.contents(item) for item in heap), args.at(1), NONE))

    def _argument(self, node: ast.AST) -> str:
        return ast.unparse(node.args[0]) if isinstance(node, ast.Call) and node.args else "an argument"

    def _itertools(self, function: Any, args: Args, node: ast.AST) -> Value | None:
        name = getattr(function, "__name__", "")
        if function is functools.reduce:
            held = self.elements(args.at(1), node)
            start = args.at(2)
            first = self.call(args.at(0), Args([join((held, start)), held]), node)
            return join((start, held, self.call(args.at(0), Args([join((held, start, first)), held]), node)))
        if name not in dir(itertools):
            return None
        callables = [v for v in args.all() if any(self.is_callable(i) for i in v)]
        data = [self.elements(v, node) for v in args.all() if v not in callables and v != NONE and not _is_number(v)]
        held = join((*data, INT if name == "count" else NOTHING))
        for f in callables:
            held = join((held, self.call(f, Args([held or PLAINS] * _arity(name)), node)))
        if name in ("count", "repeat"):
            held = join((held, *args.all(), PLAINS))
        nested = name in (
            "product",
            "permutations",
            "combinations",
            "zip_longest",
            "pairwise",
            "groupby",
            "tee",
            "batched",
        )
        nested = nested or name == "combinations_with_replacement"
        if nested:
            inner = self.made(tuple, node, join((held, NONE)), tag="inner")
            held = join((inner, self.made(ITERATOR, node, held, tag="group"))) if name in ("groupby", "tee") else inner
            if name == "groupby":
                held = self.made(tuple, node, held | PLAINS, tag="pair")
        return self.made(ITERATOR, node, held, tag=name)

    def is_callable(self, item: Any) -> bool:
        if isinstance(item, Known):
            return callable(item.value)
        return type(item).__name__ in ("Func", "Bound", "Method", "Submit")


def _among(function: object, table: Iterable[object]) -> bool:
    """By identity: comparing a user's object could run its code."""
    return any(function is one for one in table)


def _is_number(value: Value) -> bool:
    return bool(value) and all(set(types_of(item) or (object,)) <= {int, float, type(None)} for item in value)


def _arity(name: str) -> int:
    return 2 if name == "accumulate" else 1


def _print(m: Builtins, args: Args, node: ast.AST) -> Value:
    m.effect(IO, "prints", node)
    _text(m, Args(args.positional), node)
    return NONE


def _text(m: Builtins, args: Args, node: ast.AST) -> Value:
    """`str`, `repr`, `format`: they show objects, and the order of sets."""
    for item in m.reach(args.all()):
        if any(kind in SETS for kind in types_of(item) or ()):
            m.effect(HASH_ORDER, "shows a set as text", node)
    m.pure(PLAIN, "to show it as text", args, node)
    return STR


def _next(m: Builtins, args: Args, node: ast.AST) -> Value:
    value = args.at(0)
    known = frozenset(i for i in value if isinstance(i, Known))
    taken = m.elements(value, node)
    if known and not any(isinstance(i, Known) and hasattr(type(i.value), "__next__") for i in known):
        return NOTHING
    return join((taken, args.at(1)))


def _lazy(kind: Callable[..., Any]) -> Callable[[Builtins, Args, ast.AST], Value]:
    def handle(m: Builtins, args: Args, node: ast.AST) -> Value:
        if kind is iter and len(args.positional) == 1 and all(_makes_itself(i) for i in args.at(0)):
            return args.at(0)
        sources = args.positional[1:] if kind in (map, filter) else args.positional
        length = _steady(m, sources[0]) if len(sources) == 1 and kind is not filter else ANY_NUMBER
        held = [m.elements(v, node) for v in sources[: 1 if kind is enumerate else None]]
        if args.more is not None:
            held.append(m.elements(args.more, node))
        if kind is iter and len(args.positional) == 2:
            return m.made(ITERATOR, node, m.call(args.at(0), Args(), node), tag="iter")
        if kind is map:
            made = m.call(args.at(0), Args(held), node)
        elif kind is filter:
            if args.at(0) != frozenset((Known(None),)):
                m.call(args.at(0), Args(held), node)
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


def _makes_itself(item: object) -> bool:
    return isinstance(item, New) and item.type is ITERATOR


def _steady(m: Builtins, value: Value) -> Count:
    """The length of what cannot get another one before it is used."""
    steady = all(isinstance(i, Known) or (isinstance(i, New) and i.type in (tuple, ITERATOR)) for i in value)
    return m.length(value) if steady else ANY_NUMBER


def _sorted(m: Builtins, args: Args, node: ast.AST) -> Value:
    length = m.length(args.at(0))
    held = m.elements(args.at(0), node, ordered="key" in args.named)
    if "key" in args.named:
        m.call(args.named["key"], Args([held]), node)
    elif not m.plain(held):
        m.unknown("sorted compares objects with code of their own", node, held)
    return m.made(list, node, held, tag="sorted", length=length)


def _least(m: Builtins, args: Args, node: ast.AST) -> Value:
    one = len(args.positional) == 1 and args.more is None
    held = (
        m.elements(args.at(0), node, ordered="key" in args.named)
        if one
        else join((*args.positional, args.more or NOTHING))
    )
    if "key" in args.named:
        m.call(args.named["key"], Args([held]), node)
    elif not m.plain(held):
        m.unknown("min and max compare objects with code of their own", node, held)
    return join((held, args.named.get("default", NOTHING)))


def _sum(m: Builtins, args: Args, node: ast.AST) -> Value:
    held = m.elements(args.at(0), node)
    if all(set(types_of(i) or (object,)) <= {*SCALARS, PLAIN} for i in held | args.at(1, "start")):
        return PLAINS
    if m.plain(held, args.at(1, "start")):
        return m.tree(node, "sum")
    return m.unknown("sum runs code of the elements", node, held)


def _whether(m: Builtins, args: Args, node: ast.AST) -> Value:
    held = m.elements(args.at(0), node, ordered=False)
    if not m.plain(held):
        m.unknown("it asks objects with code of their own whether they are true", node, held)
    return BOOL


def _getattr(m: Builtins, args: Args, node: ast.AST) -> Value:
    name = literal(args.at(1))
    if name is None or not isinstance(name.value, str):
        return m.unknown("getattr() of a name that is not constant", node, *args.all())
    return join((m.get_attribute(args.at(0), name.value, node), args.at(2)))


def _setattr(m: Builtins, args: Args, node: ast.AST) -> Value:
    m.mutate(args.at(0), f"writes an attribute of {m._argument(node)}", node)
    return m.unknown("uses setattr()", node, *args.all())


def _type(m: Builtins, args: Args, node: ast.AST) -> Value:
    if len(args.positional) != 1:
        return m.unknown("makes a class", node, *args.all())
    kinds = [t for item in args.at(0) for t in (types_of(item) or (object,))]
    if any(t in (object, PLAIN, TREE) for t in kinds):
        return m.unknown("uses type() of something that cannot be read", node) if m.reach([args.at(0)]) else NOTHING
    return frozenset(Known(t) for t in kinds)


def _random(m: Builtins, args: Args, node: ast.AST) -> Value:
    if not args.all():
        m.effect(RANDOMNESS, "makes a generator without a seed", node)
    m.pure(PLAIN, "random.Random", args, node)
    return m.made(random.Random, node, NOTHING)


def _setitem(m: Builtins, args: Args, node: ast.AST) -> Value:
    m.mutate(args.at(0), f"changes {m._argument(node)}", node)
    for item in args.at(0):
        m.put(item, ELEMENTS, args.at(2))
        if isinstance(item, New) and m.store is not None:
            m.store.forget(item)
    return NONE


def _hasattr(m: Builtins, args: Args, node: ast.AST) -> Value:
    name = literal(args.at(1))
    for item in args.at(0):
        if isinstance(item, Row) and name is not None:
            m.notes.read(item.port, [str(name.value)])
    return BOOL


def _no_super(m: Builtins, args: Args, node: ast.AST) -> Value:
    return m.unknown("uses super() with arguments", node, *args.all())


_HANDLERS: dict[int, Callable[[Builtins, Args, ast.AST], Value]] = {
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

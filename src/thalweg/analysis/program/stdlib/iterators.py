"""Iterators that functions of Python create: `map`, `zip`, `itertools` and the like."""

from __future__ import annotations

import ast
import functools
import itertools
from typing import Any

from thalweg.analysis.program import live_objects
from thalweg.analysis.program.abstract_values import (
    INT,
    NONE,
    NOTHING,
    PLAINS,
    SCALARS,
    Anything,
    Bound,
    Func,
    Item,
    Known,
    Method,
    New,
    Submit,
    Value,
    join,
    just,
    types_of,
)
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.callbacks import call_often, run_later, watch
from thalweg.analysis.program.contents import is_plain, steady_length
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.memory import ELEMENTS
from thalweg.analysis.program.python_types import ITERATOR, is_built_in
from thalweg.analysis.program.stdlib.function_table import FUNCTIONS
from thalweg.analysis.program.store import ANY_NUMBER
from thalweg.analysis.program.truth import truth

_NESTED = frozenset(("product", "permutations", "combinations", "combinations_with_replacement", "zip_longest")) | {
    "pairwise",
    "groupby",
    "tee",
    "batched",
}


def is_known_type(item: Item) -> bool:
    """Whether all code of an item is part of Python."""
    kinds = types_of(item)
    return kinds is not None and all(map(is_built_in, kinds))


@FUNCTIONS.handles(next)
def take_next(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    m.nexts += len(args.all()) == 1
    return join((*(_taken(m, item, node) for item in args.at(0)), args.at(1)))


def _taken(m: Machine, item: Item, node: ast.AST) -> Value:
    """Take one element of an iterator. If it defines `__next__`, this runs different code than iterating over it."""
    kinds = types_of(item)
    if kinds is None or not all(is_built_in(kind) or kind in SCALARS for kind in kinds):
        native = isinstance(item, Known) and live_objects.is_iterator(item.value)
        method = NOTHING if isinstance(item, Anything) or native else m.attribute(just(item), "__next__", node)
        if method and all(isinstance(one, Bound) for one in method):
            return m.call(method, Args(), node)
    return m.elements(just(item), node)


@FUNCTIONS.handles(iter)
def make_iterator(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    if len(args.positional) == 1 and all(isinstance(i, New) and i.type is ITERATOR for i in args.at(0)):
        return args.at(0)
    if len(args.positional) == 2:
        return m.made(ITERATOR, node, _called_later(m, args.at(0), [], node), tag="iter")
    length = _length(m, args.positional, args)
    return m.made(ITERATOR, node, join(_held(m, args.positional, args, node)), tag="iter", length=length)


@FUNCTIONS.handles(reversed)
def reverse(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    if not all(map(is_known_type, args.at(0))):
        m.unknown("reversed() runs code that cannot be analyzed", node, args.at(0))
    length = _length(m, args.positional, args)
    return m.made(ITERATOR, node, join(_held(m, args.positional, args, node)), tag="reversed", length=length)


@FUNCTIONS.handles(map)
def map_each(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    sources = args.positional[1:]
    length = _length(m, sources, args)
    held = _held(m, sources, args, node)
    nexts = m.nexts
    made = _called_later(m, args.at(0), held, node)
    if m.nexts != nexts:  # an empty iterator in the function ends the iteration
        length = (0, length[1])
    return m.made(ITERATOR, node, made, tag="map", length=length)


@FUNCTIONS.handles(filter)
def filter_each(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    held = _held(m, args.positional[1:], args, node)
    _called_later(m, args.at(0), held, node, tested=True)
    return m.made(ITERATOR, node, join(held), tag="filter")


@FUNCTIONS.handles(zip, enumerate)
def pair_each(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    length = _length(m, args.positional, args)
    if function is enumerate:
        fields = [INT, *_held(m, args.positional, args, node, most=1)]
    else:
        fields = _held(m, args.positional, args, node)
    known = dict(enumerate(fields)) if args.more is None else None
    pair = m.make(tuple, node, "pair", (len(fields), len(fields)))
    m.put(pair, ELEMENTS, join(fields))
    m.set_fields(pair, known)
    return m.made(ITERATOR, node, just(pair), tag=function.__name__, length=length)


def _length(m: Machine, sources: list[Value], args: Args) -> Any:
    return steady_length(m, sources[0]) if len(sources) == 1 and args.more is None else ANY_NUMBER


def _held(m: Machine, sources: list[Value], args: Args, node: ast.AST, *, most: int | None = None) -> list[Value]:
    """The elements of each source; sources are read again when elements are taken."""
    held = [m.elements(v, node) for v in sources[:most]]
    if args.more is not None:
        held.append(m.elements(args.more, node))
    for source in sources:
        watch(m, source)
    return held


def _called_later(m: Machine, function: Value, held: list[Value], node: ast.AST, *, tested: bool = False) -> Value:
    """Call a function when elements are taken from an iterator; `tested`: whether the truth of its result is tested."""

    def run() -> Value:
        found = join(held) if function == just(Known(None)) else call_often(m, function, Args(held), node)
        if tested:
            truth(m, found, node)
        return found

    return run_later(m, run) if m.store is not None else NOTHING


@FUNCTIONS.handles(functools.reduce)
def reduce(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    held = m.elements(args.at(1), node)
    return _folded(m, args.at(0), join((held, args.at(2))), [held], node)


def iterate(m: Machine, function: Any, args: Args, node: ast.AST) -> Value | None:
    """Call a function of itertools; None if it is not one."""
    name = getattr(function, "__name__", "")
    if name not in dir(itertools):
        return None
    if args.more_named is not None:
        return m.unknown(f"calls {name} with arguments that cannot be analyzed", node, *args.all())
    kept = [args.named[n] for n in ("initial", "fillvalue") if n in args.named]
    callables = [v for v in args.all() if any(map(_is_callable, v)) and v not in kept]
    sources = [v for v in args.all() if v not in callables and v not in kept and v != NONE and not _is_number(v)]
    held = join((*(m.elements(v, node) for v in sources), *kept, INT if name == "count" else NOTHING))
    for source in sources:
        watch(m, source)
    if m.store is not None:
        held = run_later(m, functools.partial(_called_for, m, name, callables, held, node))
    if name in ("count", "repeat"):
        held = join((held, *args.all(), PLAINS))
    if name in _NESTED:
        inner = m.made(tuple, node, join((held, NONE)), tag="inner")
        held = join((inner, m.made(ITERATOR, node, held, tag="group"))) if name in ("groupby", "tee") else inner
    if name == "groupby":
        held = m.made(tuple, node, held | PLAINS, tag="pair")
    return m.made(ITERATOR, node, held, tag=name)


def _called_for(m: Machine, name: str, callables: list[Value], held: Value, node: ast.AST) -> Value:
    """Call the functions that an iterator of itertools calls when elements are taken from it."""
    found = held
    for f in callables:
        found = _folded(m, f, found or PLAINS, [found or PLAINS] if name == "accumulate" else [], node)
    if name in ("takewhile", "dropwhile", "filterfalse", "compress"):
        truth(m, found, node)
    elif name in ("groupby", "accumulate") and not is_plain(m, found):
        m.unknown(f"{name} runs code of its elements", node, found)
    return found


def _folded(m: Machine, function: Value, start: Value, others: list[Value], node: ast.AST) -> Value:
    """Call a function with its own results until it returns nothing new."""
    found = start
    for _ in range(m.limits.folds):
        more = join((found, call_often(m, function, Args([found, *others]), node)))
        if more == found:
            return found
        found = more
    return m.unknown("has a fold that is too complex to analyze", node, found)


def _is_callable(item: Item) -> bool:
    return callable(item.value) if isinstance(item, Known) else isinstance(item, Func | Bound | Method | Submit)


def _is_number(value: Value) -> bool:
    return bool(value) and all(set(types_of(item) or (object,)) <= {int, float, type(None)} for item in value)

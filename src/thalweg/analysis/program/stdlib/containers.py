"""Containers: creating them by calls of their classes, copying and filling them."""

from __future__ import annotations

import ast
import collections
import copy
from typing import Any

from thalweg.analysis.program.abstract_values import (
    INT,
    NONE,
    NOTHING,
    PLAIN,
    SCALARS,
    STR,
    TREE,
    Item,
    Known,
    New,
    Value,
    join,
    just,
    only,
    types_of,
)
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.changes import mutate
from thalweg.analysis.program.contents import check_keys, is_plain, length
from thalweg.analysis.program.known_functions import HEAP_CHANGING, SORTED_CHANGING
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.memory import ELEMENTS, KEYS
from thalweg.analysis.program.python_types import CONTAINERS, MAPPINGS, SETS
from thalweg.analysis.program.stdlib.function_table import FUNCTIONS, argument
from thalweg.analysis.program.store import ANY_NUMBER, Count, overlaid


@FUNCTIONS.handles(*(kind for kind in CONTAINERS if kind not in MAPPINGS))
def make_sequence(m: Machine, kind: type, args: Args, node: ast.AST) -> Value:
    """`list(…)`, `set(…)` and the like."""
    given = args.positional[:1]
    count: Count = (0, 0) if not given else length(m, given[0]) if kind in (list, tuple) else ANY_NUMBER
    held = join([m.elements(v, node, ordered=kind not in SETS) for v in given])
    if kind in SETS:
        check_keys(m, held, node)
    return m.made(kind, node, held, tag=kind.__name__, length=count)


@FUNCTIONS.handles(*MAPPINGS)
def make_mapping(m: Machine, kind: type, args: Args, node: ast.AST) -> Value:
    """`dict(…)` and the like."""
    given = list(args.positional)
    factory = NOTHING
    if kind is collections.defaultdict:
        factory = given.pop(0) if given else just(Known(None))
    item = m.make(kind, node, kind.__name__)
    m.put(item, ELEMENTS, join(args.named.values()))
    m.put(item, KEYS, STR if args.named else NOTHING)
    m.put(item, "default_factory", factory)
    copied = only(given[0]) if given else None
    mapping = isinstance(copied, New) and copied.type in MAPPINGS
    if m.store is not None and (not given or mapping) and args.more is None and args.more_named is None:
        base = {} if not given else overlaid({}, m.store.fields(copied), m.store.optional(copied))
        counts = kind is collections.Counter and given  # counts of the same key are added
        m.set_fields(item, None if given[1:] or counts else overlaid(base, args.named))
    for source in given:
        absorb(m, item, source, node)
    return just(item)


def absorb(m: Machine, item: New, source: Value, node: ast.AST) -> None:
    """Add all entries of another dict, or of pairs, to a dict; a Counter counts elements."""
    for one in source:
        if any(kind in MAPPINGS or kind is TREE for kind in types_of(one) or ()):
            m.put(item, ELEMENTS, m.memory.contents(one))
            m.put(item, KEYS, m.memory.keys(one))
            m.look_at(one, node)
        else:
            inner = m.elements(just(one), node)
            pairs = m.memory.contents_of(inner)
            check_keys(m, inner if item.type is collections.Counter else pairs, node)
            m.put(item, ELEMENTS, join((pairs, INT)))
            m.put(item, KEYS, join((inner, pairs)))


@FUNCTIONS.handles(*HEAP_CHANGING, *SORTED_CHANGING)
def change_heap(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    heap = args.at(0)
    mutate(m, heap, f"changes {argument(node)} with {function.__name__}()", node)
    for item in heap:
        m.put(item, ELEMENTS, args.at(1))
        if isinstance(item, New) and m.store is not None:
            m.store.set_length(item, ANY_NUMBER, surely=False)
    m.read_whole(heap, args.at(1))
    if not is_plain(m, heap, args.at(1)):
        m.unknown(f"{function.__name__} compares objects with user-defined special methods", node, heap, args.at(1))
    return join((*map(m.memory.contents, heap), args.at(1), NONE))


@FUNCTIONS.handles(copy.copy)
def copy_each(m: Machine, function: Any, args: Args, node: ast.AST) -> Value:
    return join([_copy(m, item, node) for item in args.at(0)])


def _copy(m: Machine, item: Item, node: ast.AST) -> Value:
    kinds = types_of(item) or (object,)
    if all(kind in SCALARS or kind is PLAIN for kind in kinds):
        return just(item)
    m.look_at(item, node)
    if all(kind in CONTAINERS for kind in kinds):
        return copied(m, item, kinds[0], node)
    return m.unknown("copies a value that cannot be analyzed", node, just(item))


def copied(m: Machine, receiver: Item, kind: type, node: ast.AST) -> Value:
    """A shallow copy."""
    made = m.make(kind, node, "copy")
    m.put(made, ELEMENTS, m.memory.contents(receiver))
    m.put(made, KEYS, m.memory.keys(receiver))
    if isinstance(receiver, New) and m.store is not None:
        m.store.set_length(made, m.store.length(receiver), surely=True)
        m.set_fields(made, None if m.store.optional(receiver) else m.store.fields(receiver))
    if kind is collections.defaultdict:
        m.put(made, "default_factory", factory_of(m, receiver))
    return just(made)


def factory_of(m: Machine, receiver: Item) -> Value:
    """The factory that creates missing elements of a defaultdict."""
    if isinstance(receiver, Known):
        return just(Known(getattr(receiver.value, "default_factory", None), receiver.root))
    return m.memory.get(receiver, "default_factory")

"""Methods of built-in types: what they change, what they return, and the resulting lengths."""

from __future__ import annotations

import ast
import collections
import random
import string
from typing import Any

from thalweg.analysis.program.abstract_values import (
    NONE,
    NOTHING,
    PLAIN,
    PLAINS,
    SCALARS,
    STR,
    TREE,
    Given,
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
from thalweg.analysis.program.callbacks import call_often
from thalweg.analysis.program.changes import mutate
from thalweg.analysis.program.contents import check_keys, is_plain, is_plain_data, length
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.memory import ELEMENTS, KEYS
from thalweg.analysis.program.python_types import HASHER, ITERATOR, MAPPINGS, MUTATORS, SETS, is_built_in, methods_of
from thalweg.analysis.program.stdlib.accessors import call_accessor
from thalweg.analysis.program.stdlib.containers import factory_of
from thalweg.analysis.program.stdlib.plain_functions import runs_code
from thalweg.analysis.program.stdlib.scalar_methods import known_method, scalar_method
from thalweg.analysis.program.store import ANY_NUMBER, Count, Fields, less_one, meet, overlaid, plus
from thalweg.ir.facts import HASH_ORDER

_ADDS_ONE = frozenset(("append", "appendleft", "insert"))
_TAKES_ONE = frozenset(("pop", "popleft", "popitem", "remove"))
_GIVES_ELEMENT = frozenset(
    ("pop", "popleft", "get", "setdefault", "__getitem__", "most_common", "popitem", "__missing__")
)
_KEEPS_LENGTH = frozenset(("sort", "reverse", "rotate", "move_to_end"))


def call_method(m: Machine, receiver: Item, name: str, args: Args, node: ast.AST, *, surely: bool = True) -> Value:
    """`surely`: whether the receiver is surely this object."""
    kinds = types_of(receiver)
    if isinstance(receiver, Known):
        special = known_method(m, receiver, name, args, node)
        if special is not None:
            return special
    if kinds is None or not all(map(is_built_in, kinds)):
        return m.unknown(f"calls {name} of a value that cannot be analyzed", node, just(receiver), *args.all())
    return join([_method(m, receiver, kind, name, args, node, surely) for kind in kinds if name in methods_of(kind)])


def _method(m: Machine, receiver: Item, kind: type, name: str, args: Args, node: ast.AST, surely: bool) -> Value:
    m.look_at(receiver, node)
    if name in ("format", "format_map"):
        _formats(m, receiver, name, args, node)
    if kind in SCALARS or kind is PLAIN or kind is tuple:
        return scalar_method(m, receiver, kind, name, args, node)
    if kind is ITERATOR:
        if name == "__next__":
            return m.elements(just(receiver), node)
        return m.unknown(f"calls {name} of an iterator", node, just(receiver), *args.all())
    if name in MUTATORS.get(kind, ()):
        return _mutator(m, receiver, kind, name, args, node, surely)
    return call_accessor(m, receiver, kind, name, args, node)


# String formatting.


def _formats(m: Machine, receiver: Item, name: str, args: Args, node: ast.AST) -> None:
    """A format string that looks up its fields: in a dict, or with `{x.name}` and `{x[0]}` in objects."""
    if name == "format_map":
        look_up(m, args.at(0), node)
    if _looks_inside(receiver) and not (
        is_plain_data(m, *args.all()) and not any(map(_makes_missing, m.memory.reach(args.all())))
    ):
        m.unknown("uses a format string that looks into objects", node, *args.all())


def look_up(m: Machine, value: Value, node: ast.AST) -> None:
    """Look up names in these values: a defaultdict creates missing elements."""
    for item in value:
        if _makes_missing(item):
            call_method(m, item, "__missing__", Args([STR]), node, surely=False)


def _makes_missing(item: Item) -> bool:
    return collections.defaultdict in (types_of(item) or ())


def _looks_inside(text: Item) -> bool:
    """Whether a format string may look into its arguments."""
    if not isinstance(text, Known) or not isinstance(text.value, str):
        return True
    try:
        parts = list(string.Formatter().parse(text.value))
    except ValueError:
        return False  # raises an exception
    return any("." in (name or "") or "[" in (name or "") or "{" in (spec or "") for _, name, spec, _ in parts)


# Methods that change their object.


def _mutator(m: Machine, receiver: Item, kind: type, name: str, args: Args, node: ast.AST, surely: bool) -> Value:
    if isinstance(receiver, Given):
        return NOTHING  # the list of a tuple cannot be changed: raises an exception
    how = "" if name.startswith("__") else f" with {name}()"
    mutate(m, just(receiver), f"changes {changed(node)}{how}", node)
    given = args.all()
    lengths = [length(m, v) for v in given]
    if kind is random.Random:
        return draw(m, name, args, node)
    if kind is HASHER:
        return NONE
    # It may now contain the arguments, or their elements, or the elements of those (`update` takes pairs).
    inner = [m.elements(v, node, ordered=kind not in SETS) for v in given] if _takes_several(name) else []
    pairs = [m.elements(_containers(v), node) for v in inner] if name in ("update", "subtract") else []
    held = [m.memory.contents(item) for v in given for item in v] if name in ("update", "__ior__") else []
    if name not in ("__getitem__", "__missing__", "sort"):
        stored = given[1:] if name in ("setdefault", "insert", "__setitem__") else given
        named = [*args.named.values(), *([args.more_named] if args.more_named is not None else [])]
        stored = named if _takes_several(name) else stored
        m.put(receiver, ELEMENTS, join((*stored, *inner, *pairs, *held)))
    if kind in MAPPINGS or kind is TREE:
        m.put(receiver, KEYS, join((*given, *inner, *pairs)))
    if kind in (*SETS, *MAPPINGS) or (kind is TREE and name in MUTATORS[dict] | MUTATORS[set]):
        check_keys(m, join((*inner, *pairs)) if _takes_several(name) else join(given[:1]), node)
    if name in ("sort", "remove") and "key" not in args.named:
        m.read_whole(m.memory.contents(receiver), *given)
    if "key" in args.named:
        order_by(m, args.named["key"], m.memory.contents(receiver), node)
    elif name in ("sort", "remove") and not is_plain(m, just(receiver)):
        return runs_code(m, name, Args([just(receiver)]), node)
    if name == "pop" and kind in SETS:
        m.effect(HASH_ORDER, "takes an arbitrary element of a set", node)
    if kind is collections.defaultdict and name in ("__getitem__", "__missing__"):
        _default(m, receiver, node)
    _resize(m, receiver, kind, name, args, lengths, surely)
    if name not in _GIVES_ELEMENT:
        return NONE
    found = m.memory.contents(receiver)
    return join((found, m.memory.keys(receiver), *given)) if name == "popitem" else join((found, *given[1:]))


def changed(node: ast.AST) -> str:
    """The object that a call or an assignment changes, as written in the user's code."""
    target: ast.AST = node
    if isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute):
        target = target.func.value
    elif isinstance(target, ast.AugAssign):
        target = target.target
    text = ast.unparse(target)
    return text if len(text) <= 40 else f"{text[:37]}…"


def _takes_several(name: str) -> bool:
    return name.startswith(("extend", "update", "__i")) or name.endswith("update") or name == "subtract"


def _containers(value: Value) -> Value:
    """The value without numbers, which have no elements."""
    return frozenset(item for item in value if not isinstance(item, Known) or not isinstance(item.value, int | float))


def order_by(m: Machine, key: Value, held: Value, node: ast.AST) -> None:
    """Order elements by the results of a key function; the results are compared."""
    found = held if key == just(Known(None)) else call_often(m, key, Args([held]), node)
    if not is_plain(m, found):
        m.unknown("compares objects with user-defined special methods", node, found)
    m.read_whole(found)


def _default(m: Machine, receiver: Item, node: ast.AST) -> None:
    """The factory of a defaultdict creates an element if it is missing."""
    factory = factory_of(m, receiver)
    made = frozenset(i for i in factory if not (isinstance(i, Known) and i.value is None))
    before = m.store
    if not factory:
        m.unknown("reads a defaultdict that cannot be analyzed", node, just(receiver))
    elif made and before is not None:
        m.store = before.copy()
        m.put(receiver, ELEMENTS, m.call(made, Args(), node))
        m.store = meet((before, m.store))


def draw(m: Machine, name: str, args: Args, node: ast.AST) -> Value:
    """A method of a random number generator."""
    if name in ("choice", "choices", "sample"):
        found = m.elements(args.at(0, "population"), node)
        return found if name == "choice" else m.made(list, node, found)
    if name == "shuffle":
        mutate(m, args.at(0), f"changes {changed(node)} with shuffle()", node)
    return PLAINS


def _resize(m: Machine, receiver: Item, kind: type, name: str, args: Args, lengths: list[Count], surely: bool) -> None:
    if not isinstance(receiver, New) or m.store is None or name in _KEEPS_LENGTH:
        return
    m.store.set_length(receiver, _resized(m.store.length(receiver), kind, name, lengths), surely=surely)
    if kind in MAPPINGS and name not in ("get",):
        m.store.replace_fields(receiver, _updated(m, receiver, name, args, surely))
    m.touch()


def _resized(old: Count, kind: type, name: str, lengths: list[Count]) -> Count:
    if kind is collections.deque:
        return ANY_NUMBER  # it may have a maximum length
    if name in _ADDS_ONE:
        return plus(old, (1, 1))
    if name in ("extend", "__iadd__"):
        return plus(old, lengths[0]) if len(lengths) == 1 else ANY_NUMBER
    if name in _TAKES_ONE and kind is list:
        return less_one(old)
    if name == "clear":
        return 0, 0
    return ANY_NUMBER


def _updated(m: Machine, receiver: New, name: str, args: Args, surely: bool) -> Fields | None:
    """The fields of a dict after `update` with known fields."""
    assert m.store is not None
    fields = m.store.fields(receiver)
    more: dict[Any, Value] = dict(args.named)
    optional: frozenset[Any] = frozenset()
    for value in args.positional:
        other = only(value)
        if not isinstance(other, New) or other.type not in MAPPINGS or m.store.fields(other) is None:
            return None
        optional |= m.store.optional(other) - more.keys()
        more = {**(m.store.fields(other) or {}), **more}
    known = name == "update" and receiver.type is not collections.Counter  # whose update adds
    if not known or args.more is not None or args.more_named is not None:
        return None
    if receiver in m.store.shared or not surely:
        optional = frozenset(more)
    if m.store.optional(receiver) - (more.keys() - optional):
        return None  # a field may still be missing
    return overlaid(fields, more, optional)

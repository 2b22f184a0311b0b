"""Methods of containers: what they change, what they give, and how long that is."""

from __future__ import annotations

import ast
import collections
import random
import string
from typing import Any

from thalweg.analysis.program.frames import Args
from thalweg.analysis.program.machine import ELEMENTS, KEYS
from thalweg.analysis.program.scalars import Scalars
from thalweg.analysis.program.store import ANY_NUMBER, Count, Fields, less_one, meet, overlaid, plus
from thalweg.analysis.program.tables import HASHER, ITERATOR, MAPPINGS, MUTATORS, SETS, is_built_in, methods_of
from thalweg.analysis.program.values import (
    BOOL,
    BYTES,
    INT,
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
    only,
    types_of,
)
from thalweg.ir.facts import HASH_ORDER

_ADDS_ONE = frozenset(("append", "appendleft", "insert"))
_TAKES_ONE = frozenset(("pop", "popleft", "popitem", "remove"))
_GIVES_ELEMENT = frozenset(
    ("pop", "popleft", "get", "setdefault", "__getitem__", "most_common", "popitem", "__missing__")
)
_COMBINES = frozenset(("union", "intersection", "difference", "symmetric_difference", "copy", "fromkeys"))
_KEEPS_LENGTH = frozenset(("sort", "reverse", "rotate", "move_to_end"))


class Containers(Scalars):
    """Calls of methods of built-in types."""

    def call_method(self, receiver: Item, name: str, args: Args, node: ast.AST, *, surely: bool = True) -> Value:
        """`surely`: whether the call is of this object, not only perhaps."""
        kinds = types_of(receiver)
        if isinstance(receiver, Known):
            special = self._known_method(receiver, name, args, node)
            if special is not None:
                return special
        if kinds is None or not all(is_built_in(kind) for kind in kinds):
            return self.unknown(
                f"calls {name} of something that cannot be read", node, frozenset((receiver,)), *args.all()
            )
        found = [self._method(receiver, kind, name, args, node, surely) for kind in kinds if name in methods_of(kind)]
        return join(found)

    def _method(self, receiver: Item, kind: type, name: str, args: Args, node: ast.AST, surely: bool) -> Value:
        if isinstance(receiver, Known):
            self.place(receiver, node)
        if name in ("format", "format_map"):
            self._formats(receiver, name, args, node)
        if kind in SCALARS or kind is PLAIN or kind is tuple:
            return self._scalar_method(receiver, kind, name, args, node)
        if kind is ITERATOR:
            return self._from_iterator(receiver, name, args, node)
        if name in MUTATORS.get(kind, ()):
            return self._mutator(receiver, kind, name, args, node, surely)
        return self._accessor(receiver, kind, name, args, node)

    def _formats(self, receiver: Item, name: str, args: Args, node: ast.AST) -> None:
        """Text that looks its parts up: in a dict, or with `{x.name}` and `{x[0]}` in objects."""
        if name == "format_map":
            self.look_up(args.at(0), node)
        if _looks_inside(receiver) and not (
            self.plain_data(*args.all()) and not any(map(_makes_missing, self.reach(args.all())))
        ):
            self.unknown("a text looks into objects", node, *args.all())

    def look_up(self, value: Value, node: ast.AST) -> None:
        """Names are looked up in these: a defaultdict makes those that are not there."""
        for item in value:
            if _makes_missing(item):
                self.call_method(item, "__missing__", Args([STR]), node, surely=False)

    def _from_iterator(self, receiver: Item, name: str, args: Args, node: ast.AST) -> Value:
        if name == "__next__":
            return self.elements(frozenset((receiver,)), node)
        return self.unknown(f"calls {name} of an iterator", node, frozenset((receiver,)), *args.all())

    def _mutator(self, receiver: Item, kind: type, name: str, args: Args, node: ast.AST, surely: bool) -> Value:
        if isinstance(receiver, Given):
            return NOTHING  # the list of a tuple refuses to change: an exception
        how = "" if name.startswith("__") else f" with {name}()"
        self.mutate(frozenset((receiver,)), f"changes {self.shown(node)}{how}", node)
        given = args.all()
        lengths = [self.length(v) for v in given]
        if kind is random.Random:
            return self._drawn(name, args, node)
        if kind is HASHER:
            return NONE
        # Whatever is given may be in it now, or the elements of it, or theirs (`update` takes pairs).
        inner = [self.elements(v, node, ordered=kind not in SETS) for v in given] if self._takes_several(name) else []
        pairs = [self.elements(_containers(v), node) for v in inner] if name in ("update", "subtract") else []
        held = [self.contents(item) for v in given for item in v] if name in ("update", "__ior__") else []
        if name not in ("__getitem__", "__missing__", "sort"):
            stored = given[1:] if name in ("setdefault", "insert", "__setitem__") else given
            named = [*args.named.values(), *([args.more_named] if args.more_named is not None else [])]
            stored = named if self._takes_several(name) else stored
            self.put(receiver, ELEMENTS, join((*stored, *inner, *pairs, *held)))
        if kind in MAPPINGS or kind is TREE:
            self.put(receiver, KEYS, join((*given, *inner, *pairs)))
        self._hashes(kind, name, given, join((*inner, *pairs)), node)
        if name in ("sort", "remove") and "key" not in args.named:
            self.note_rows(self.contents(receiver), *given)
        if "key" in args.named:
            self.order_by(args.named["key"], self.contents(receiver), node)
        elif name in ("sort", "remove") and not self.plain(frozenset((receiver,))):
            return self._operators(name, Args([frozenset((receiver,))]), node)
        if name == "pop" and kind in SETS:
            self.effect(HASH_ORDER, "takes any element of a set", node)
        if kind is collections.defaultdict and name in ("__getitem__", "__missing__"):
            self._default(receiver, node)
        self._resize(receiver, kind, name, args, lengths, surely)
        if name not in _GIVES_ELEMENT:
            return NONE
        found = self.contents(receiver)
        return join((found, self.keys(receiver), *given)) if name == "popitem" else join((found, *given[1:]))

    def _hashes(self, kind: type, name: str, given: list[Value], inner: Value, node: ast.AST) -> None:
        """A set or a dict asks for hashes of its elements or keys, and compares them."""
        if kind in (*SETS, *MAPPINGS) or (kind is TREE and name in MUTATORS[dict] | MUTATORS[set]):
            self.check_keys(inner if self._takes_several(name) else join(given[:1]), node)

    def _takes_several(self, name: str) -> bool:
        return name.startswith(("extend", "update", "__i")) or name.endswith("update") or name == "subtract"

    def order_by(self, key: Value, held: Value, node: ast.AST) -> None:
        """A function that says how elements are ordered; what it gives is compared."""
        found = held if key == frozenset((Known(None),)) else self.call_often(key, Args([held]), node)
        if not self.plain(found):
            self.unknown("it compares objects with code of their own", node, found)
        self.note_rows(found)

    def _factory(self, receiver: Item) -> Value:
        """What makes the elements of a defaultdict that are not there."""
        if isinstance(receiver, Known):
            return frozenset((Known(getattr(receiver.value, "default_factory", None), receiver.root),))
        return self.get(receiver, "default_factory")

    def _default(self, receiver: Item, node: ast.AST) -> None:
        """The factory of a defaultdict makes an element, unless it is there."""
        factory = self._factory(receiver)
        made = frozenset(i for i in factory if not (isinstance(i, Known) and i.value is None))
        before = self.store
        if not factory:
            self.unknown("takes from a defaultdict that cannot be read", node, frozenset((receiver,)))
        elif made and before is not None:
            self.store = before.copy()
            self.put(receiver, ELEMENTS, self.call(made, Args(), node))
            self.store = meet((before, self.store))

    def _drawn(self, name: str, args: Args, node: ast.AST) -> Value:
        if name in ("choice", "choices", "sample"):
            found = self.elements(args.at(0, "population"), node)
            return found if name == "choice" else self.made(list, node, found)
        if name == "shuffle":
            self.mutate(args.at(0), f"changes {self.shown(node)} with shuffle()", node)
        return PLAINS

    def _resize(self, receiver: Item, kind: type, name: str, args: Args, lengths: list[Count], surely: bool) -> None:
        if not isinstance(receiver, New) or self.store is None or name in _KEEPS_LENGTH:
            return
        old = self.store.length(receiver)
        self.store.set_length(receiver, self._resized(old, kind, name, lengths), surely=surely)
        if kind in MAPPINGS and name not in ("get",):
            self.store.replace_fields(receiver, self._updated(receiver, name, args, surely))
        self.touch()

    def _resized(self, old: Count, kind: type, name: str, lengths: list[Count]) -> Count:
        if kind is collections.deque:
            return ANY_NUMBER  # it may have a greatest length
        if name in _ADDS_ONE:
            return plus(old, (1, 1))
        if name in ("extend", "__iadd__"):
            return plus(old, lengths[0]) if len(lengths) == 1 else ANY_NUMBER
        if name in _TAKES_ONE and kind is list:
            return less_one(old)
        if name == "clear":
            return 0, 0
        return ANY_NUMBER

    def _updated(self, receiver: New, name: str, args: Args, surely: bool) -> Fields | None:
        """The fields of a dict behind `update` with fields that are known."""
        assert self.store is not None
        fields = self.store.fields(receiver)
        more: dict[Any, Value] = dict(args.named)
        optional: frozenset[Any] = frozenset()
        for value in args.positional:
            other = only(value)
            if not isinstance(other, New) or other.type not in MAPPINGS or self.store.fields(other) is None:
                return None
            optional |= self.store.optional(other) - more.keys()
            more = {**(self.store.fields(other) or {}), **more}
        known = name == "update" and receiver.type is not collections.Counter  # which adds
        if not known or args.more is not None or args.more_named is not None:
            return None
        if receiver in self.store.shared or not surely:
            optional = frozenset(more)
        if self.store.optional(receiver) - (more.keys() - optional):
            return None  # it may still be without one
        return overlaid(fields, more, optional)

    def _accessor(self, receiver: Item, kind: type, name: str, args: Args, node: ast.AST) -> Value:
        held = self.contents(receiver)
        itself = frozenset((receiver,))
        if not self.plain(*args.all()):
            self._operators(name, args, node)
        if kind is HASHER:
            return {"hexdigest": STR, "digest": BYTES}.get(name, frozenset((receiver,)))
        self.note_rows(args.at(0))
        if kind in SETS and name in _COMBINES:
            more = [self.elements(v, node, ordered=False) for v in args.all()]
            self.check_keys(join(more), node)
            return self.made(kind, node, join((held, *more)), tag=name)
        match name:
            case "get" | "__getitem__":
                return join((held, *args.all()[1:], NOTHING if len(args.all()) > 1 else NONE))
            case "items":
                pair = self.made(tuple, node, held | self.keys(receiver), tag="pair", length=(2, 2))
                one = only(pair)
                assert isinstance(one, New)
                self.set_fields(one, {0: self.keys(receiver), 1: held})
                self.watch(itself)
                return self.made(ITERATOR, node, pair, tag=name, length=self.steady_length(itself))
            case "values" | "elements":
                return self.made(ITERATOR, node, held | self.keys(receiver), tag=name)
            case "keys":
                return self.made(ITERATOR, node, self.keys(receiver), tag=name)
            case "most_common":
                return self.made(list, node, self.made(tuple, node, held | self.keys(receiver), tag="pair"), tag=name)
            case "copy" | "__copy__":
                return self.copied(receiver, kind, node)
            case "fromkeys":
                keys = self.elements(args.at(0), node)
                return self.made(dict, node, args.at(1) | NONE, tag=name, keys=keys)
            case "count" | "index" | "__len__" | "total":
                return INT if self.plain(itself) else self._operators(name, args, node)
            case "issubset" | "issuperset" | "isdisjoint" | "__contains__":
                self.look_into(args.all(), node)
                return BOOL
        if kind is TREE:
            self.look_into([itself], node)
            return join((self.tree(node, name), held))
        return self.unknown(f"calls {name} of a {kind.__name__}", node, itself, *args.all())

    def copied(self, receiver: Item, kind: type, node: ast.AST) -> Value:
        """A shallow copy."""
        value = self.made(kind, node, self.contents(receiver), tag="copy", keys=self.keys(receiver))
        made = only(value)
        if isinstance(made, New) and isinstance(receiver, New) and self.store is not None:
            self.store.set_length(made, self.store.length(receiver), surely=True)
            self.set_fields(made, None if self.store.optional(receiver) else self.store.fields(receiver))
        if isinstance(made, New) and kind is collections.defaultdict:
            self.put(made, "default_factory", self._factory(receiver))
        return value

    def shown(self, node: ast.AST) -> str:
        """What a call changes, in the user's words."""
        target: ast.AST = node
        if isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute):
            target = target.func.value
        elif isinstance(target, ast.AugAssign):
            target = target.target
        text = ast.unparse(target)
        return text if len(text) <= 40 else f"{text[:37]}…"


def _makes_missing(item: Item) -> bool:
    return collections.defaultdict in (types_of(item) or ())


def _looks_inside(text: Item) -> bool:
    """Whether a text to be formatted may look into what it is given."""
    if not isinstance(text, Known) or not isinstance(text.value, str):
        return True
    try:
        parts = list(string.Formatter().parse(text.value))
    except ValueError:
        return False  # an exception
    return any("." in (name or "") or "[" in (name or "") or "{" in (spec or "") for _, name, spec, _ in parts)


def _containers(value: Value) -> Value:
    """Without what has no elements of interest."""
    return frozenset(item for item in value if not isinstance(item, Known) or not isinstance(item.value, int | float))

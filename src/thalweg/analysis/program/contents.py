"""What is in things: elements, keys, lengths; and whether they are plain data."""

from __future__ import annotations

import ast
import collections
import enum
from collections.abc import Iterator
from typing import Any

from thalweg.analysis.program import outside
from thalweg.analysis.program.frames import Args
from thalweg.analysis.program.later import Later
from thalweg.analysis.program.machine import ELEMENTS, KEYS
from thalweg.analysis.program.store import ANY_NUMBER, Count, either
from thalweg.analysis.program.tables import CONTAINERS, ITERATOR, MAPPINGS, SETS, is_built_in
from thalweg.analysis.program.values import (
    INT,
    NOTHING,
    PLAINS,
    SCALARS,
    STR,
    TREE,
    UNKNOWN,
    Anything,
    Bound,
    Func,
    Given,
    Item,
    Known,
    Method,
    New,
    Of,
    Part,
    Row,
    Submit,
    Super,
    Value,
    join,
    types_of,
)
from thalweg.ir.facts import HASH_ORDER
from thalweg.ir.types import AttributeType


class Contents(Later):
    """Looks into things."""

    def plain(self, *values: Value) -> bool:
        """Whether these are built-in data through and through."""
        return all(self._plain(item) for item in self.reach(values))

    def _plain(self, item: Item) -> bool:
        match item:
            case Of():
                return True
            case Given(given):
                return all(cls is None or not outside.own_operators(cls) for cls in _classes(given))
            case New(_, kind) | Part(_, kind):
                return is_built_in(kind) or self.without_operators(kind)
            case Known(value=value):
                return outside.is_plain(value) or isinstance(value, type) or self.without_operators(type(value))
            case Row(kind):
                return kind.python is None or not outside.own_operators(kind.python)
        return False

    def plain_data(self, *values: Value) -> bool:
        """Whether there are no objects of classes among them either: what is made of them shares nothing with them."""
        return self.plain(*values) and not any(self._is_object(item) for item in self.reach(values))

    def _is_object(self, item: Item) -> bool:
        match item:
            case New(_, kind) | Part(_, kind):
                return not is_built_in(kind)
            case Known(value=value):
                return not outside.is_plain(value)
        return isinstance(item, Row)

    def without_operators(self, cls: type) -> bool:
        """Whether a class of the user's has no operators of its own: Python compares and shows its objects itself."""
        return outside.is_python_class(cls) and not outside.own_operators(cls)

    def check_keys(self, keys: Value, node: ast.AST) -> None:
        """These become keys of a dict, or elements of a set: they are compared, and their hashes are asked for."""
        if not self.plain(keys):
            self.unknown("a dict or a set compares objects with code of their own", node, keys)
        self.note_rows(keys)

    def note_rows(self, *values: Value) -> None:
        """Input tuples among these are read as a whole."""
        for item in self.reach(values):
            if isinstance(item, Row):
                self.notes.read(item.port, None)

    def contents(self, item: Item) -> Value:
        """The elements of a container, the values of a dict."""
        match item:
            case New(_, kind) if kind is TREE:
                return frozenset((item, *PLAINS)) | self.get(item, ELEMENTS)
            case New(_, kind) | Part(_, kind) if kind is collections.Counter:
                return self.get(item, ELEMENTS) | PLAINS  # it adds what it is given
            case Part(root, _, None):
                return frozenset((Part(root, TREE), *PLAINS)) | self.get(item, ELEMENTS)
            case Known(value=value, root=root) if type(value) in MAPPINGS:
                return outside.summary(list(value.values()), root) | self.get(item, ELEMENTS)  # type: ignore[attr-defined]
            case Known(value=value, root=root) if type(value) in CONTAINERS:
                return outside.summary(list(value), root) | self.get(item, ELEMENTS)  # type: ignore[call-overload]
        return self.get(item, ELEMENTS)

    def keys(self, item: Item) -> Value:
        match item:
            case New(_, kind) if kind is TREE:
                return PLAINS
            case Part(_, _, None):
                return PLAINS
            case Known(value=value, root=root) if type(value) in MAPPINGS:
                return outside.summary(list(value), root) | self.get(item, KEYS)  # type: ignore[call-overload]
        return self.get(item, KEYS)

    def elements(self, value: Value, node: ast.AST, *, ordered: bool = True) -> Value:
        """What iterating over a value gives. `ordered`: whether the order is seen."""
        return join(self._elements(item, node, ordered) for item in value)

    def _elements(self, item: Item, node: ast.AST, ordered: bool) -> Value:
        kinds = types_of(item)
        if ordered and kinds is not None and any(kind in SETS for kind in kinds):
            self.effect(HASH_ORDER, "iterates over a set", node)
        match item:
            case Given(kind) if kind.required.item is not None:
                return frozenset((Given(kind.required.item),))
            case Given() | Of() if kinds is not None:
                return STR if kinds[0] is str else INT if kinds[0] in (bytes, range) else PLAINS
            case New(_, kind) if is_built_in(kind):
                if kind is ITERATOR:
                    self.take_from(item)
                return self.keys(item) if kind in MAPPINGS else self.contents(item)
            case Part(root, kind) if is_built_in(kind):
                if kind is ITERATOR:
                    self.mutate(frozenset((item,)), f"takes from {root}", node)
                return self.keys(item) if kind in MAPPINGS else self.contents(item)
            case Known(value=held):
                return self._known_elements(item, held, node)
            case Super() | Func() | Method() | Submit() | Bound():
                return NOTHING
        return self._iterated(item, node)

    def _known_elements(self, item: Known, held: Any, node: ast.AST) -> Value:
        self.place(item, node)
        if type(held) in MAPPINGS:
            return self.keys(item)
        if type(held) in CONTAINERS:
            return self.contents(item)
        if isinstance(held, str | bytes | range):
            return STR if isinstance(held, str) else INT
        if type(held) in SCALARS:
            return NOTHING  # an exception
        if isinstance(held, enum.EnumMeta):
            return outside.summary(list(held), item.root)
        if outside.is_iterator(held) and outside.class_attribute(type(held), "__next__") is not outside.NOT_THERE:
            self.mutate(frozenset((item,)), f"takes from {item.root or 'an iterator'}", node)
            return UNKNOWN if not isinstance(held, ITERATOR) else PLAINS | UNKNOWN
        return self._iterated(item, node)

    def _iterated(self, item: Item, node: ast.AST) -> Value:
        """An object with code of its own."""
        value = frozenset((item,))
        method = self.get_attribute(value, "__iter__", node) if not isinstance(item, Anything) else NOTHING
        if method and all(isinstance(m, Bound) for m in method):
            made = self.call(method, Args(), node)
            found = self.elements(made - value, node)
            if item in made:  # it is its own iterator
                take = self.get_attribute(value, "__next__", node)
                found = join((found, self.run_later(lambda: self.call_often(take, Args(), node))))
            return found
        return self.unknown("iterates over something that cannot be read", node, value)

    def steady_length(self, value: Value) -> Count:
        """How many elements a value has when it is used later, or while other code runs."""
        changing = [item for item in value if isinstance(item, New) and item in self.altered]
        if all(item.type is ITERATOR for item in changing):  # it gets no longer by that
            least, most = self.length(value)
            return 0 if changing else least, most
        return ANY_NUMBER

    def length(self, value: Value) -> Count:
        """How many elements a value has."""
        found: Count | None = None
        for item in value:
            one = self._length(item)
            found = one if found is None else either(found, one)
        return ANY_NUMBER if found is None else found

    def _length(self, item: Item) -> Count:
        match item:
            case New() if self.store is not None:
                return self.store.length(item)
            case Known(value=value) if type(value) in (tuple, str, bytes):
                return len(value), len(value)  # type: ignore[arg-type]
            case Known(value=None):
                return 0, 0
        return ANY_NUMBER


def _classes(kind: AttributeType) -> Iterator[type | None]:
    """The user's classes of the tuples in a value."""
    while kind.item is not None:
        kind = kind.item
    if kind.fields is not None:
        yield from kind.fields.classes()

"""Subscripts: elements that are taken and put."""

from __future__ import annotations

import ast
import collections
import types

from thalweg.analysis.program import outside
from thalweg.analysis.program.frames import Args
from thalweg.analysis.program.machine import ELEMENTS, KEYS
from thalweg.analysis.program.operators import Operators
from thalweg.analysis.program.store import ANY_NUMBER
from thalweg.analysis.program.tables import MAPPINGS, is_built_in
from thalweg.analysis.program.values import (
    INT,
    NOTHING,
    PLAIN,
    PLAINS,
    STR,
    TREE,
    Bound,
    Given,
    Item,
    Known,
    New,
    Of,
    Part,
    Value,
    join,
    literal,
    types_of,
)


class Subscripts(Operators):
    """Takes and puts elements."""

    def subscript(self, owner: Value, index: Value, node: ast.AST) -> Value:
        if not owner or not index:
            return self.lose("takes an element of something that cannot be read", node)
        counts = any(collections.Counter in (types_of(item) or ()) for item in owner)  # what is not there is 0
        return join((*(self._subscript(item, index, node) for item in owner), INT if counts else NOTHING))

    def _subscript(self, item: Item, index: Value, node: ast.AST) -> Value:
        at = literal(index)
        sliced = any(_may_be_slice(i) for i in index)
        surely = sliced and all(isinstance(i, Known) for i in index)
        self.note_rows(index)
        if not self.plain(index):
            self.unknown("an index runs code that cannot be read", node, index)
        match item:
            case Given(kind) if kind.required.item is not None:
                inner: Value = frozenset((Given(kind.required.item, "", -1),))
                return self._sliced(list, inner, node, surely=surely) if sliced else inner
            case Given() | Of():
                kinds = types_of(item)
                return STR if kinds == (str,) else INT if kinds == (bytes,) and not sliced else PLAINS
            case Known(value=value):
                self.place(item, node)
                if type(value) is collections.defaultdict:
                    return self.call_method(item, "__getitem__", Args([index]), node)
                if type(value) in (str, bytes):
                    return STR if isinstance(value, str) else PLAINS
                if at is not None and type(value) in (list, tuple, *MAPPINGS) and not sliced:
                    return self._peek(item, at)
            case New(_, kind) if kind is tuple and at is not None and self.store is not None:
                fields = self.store.fields(item)
                if fields is not None and isinstance(at.value, int):
                    size = sum(isinstance(n, int) for n in fields)
                    return fields.get(at.value if at.value >= 0 else size + at.value, NOTHING)
            case New(_, kind) if kind in MAPPINGS and at is not None and self.store is not None:
                fields = self.store.fields(item)
                if fields is not None and at.value in fields:
                    return fields[at.value]
                if kind is collections.defaultdict:
                    return self.call_method(item, "__getitem__", Args([index]), node)
            case New(_, kind) | Part(_, kind) if kind is collections.defaultdict:
                return self.call_method(item, "__getitem__", Args([index]), node)
        kinds = types_of(item)
        if kinds is None or not all(is_built_in(kind) for kind in kinds):
            return self._own_subscript(item, index, node)
        held = self.contents(item)
        if sliced and any(kind in (list, tuple, TREE, collections.deque) for kind in kinds):
            return self._sliced(kinds[0], held, node, surely=surely and TREE not in kinds)
        return held

    def _sliced(self, kind: type, held: Value, node: ast.AST, *, surely: bool) -> Value:
        made = self.made(kind, node, held, tag="slice")
        return made if surely else join((held, made))

    def _peek(self, item: Known, at: Known) -> Value:
        """The element that is there now; what the program changes, it must not be run in parallel with."""
        try:
            found = item.value[at.value]  # type: ignore[index]
        except (LookupError, TypeError):
            return self.get(item, ELEMENTS)
        return join((frozenset((outside.rooted(found, item.root),)), self.get(item, ELEMENTS)))

    def _is_data(self, value: Value) -> bool:
        """Whether it is known what these containers hold."""
        return all(all(is_built_in(kind) for kind in types_of(item) or (object,)) for item in value)

    def _own_subscript(self, item: Item, index: Value, node: ast.AST) -> Value:
        for cls in self.classes_of(item):
            method = outside.class_attribute(cls, "__getitem__")
            if isinstance(method, types.FunctionType):
                return self.call(frozenset((Bound(method, item),)), Args([index]), node)
        return self.unknown("takes an element of something that cannot be read", node, frozenset((item,)), index)

    def set_subscript(self, owner: Value, index: Value, value: Value, node: ast.AST, shown: str) -> None:
        if not owner:
            self.lose(f"writes {shown}, of which nothing is known", node)
        at = literal(index)
        key = at.value if at is not None and isinstance(at.value, str) else None
        self.mutate(owner, f"writes {shown}", node, key)
        self.note_rows(index)
        if not self.plain(index):
            self.unknown("an index runs code that cannot be read", node, index)
        for item in owner:
            if isinstance(item, Given):
                continue  # the list of a tuple refuses: an exception
            kinds = types_of(item)
            if kinds is None or not all(is_built_in(kind) for kind in kinds):
                self.unknown("writes an element of something that cannot be read", node, frozenset((item,)), value)
            sliced = bool(index) and all(isinstance(i, Known) and isinstance(i.value, slice) for i in index)
            inner = [self.contents(i) for i in value if at is None]
            self.put(item, ELEMENTS, join(inner if sliced and self._is_data(value) else (value, *inner)))
            self.put(item, KEYS, index)
            if key is not None:
                self.put(item, f"key {key}", value)
            self.alias_changed(item)
            if isinstance(item, New) and self.store is not None:
                surely = len(owner) == 1
                if at is not None and item.type in MAPPINGS:
                    self.store.set_field(item, at.value, value, surely=surely)
                elif item.type in MAPPINGS:
                    self.store.replace_fields(item, None)
                if item.type not in (list,) or not (at is not None and isinstance(at.value, int)):
                    self.store.set_length(item, ANY_NUMBER, surely=False)
        self.touch()


def _may_be_slice(item: Item) -> bool:
    kinds = types_of(item)
    return kinds is None or any(kind in (PLAIN, TREE, slice) for kind in kinds)

"""Displays and comprehensions; and what the tuples in them are copies of."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from thalweg.analysis.program.machine import ELEMENTS, KEYS, TURNS
from thalweg.analysis.program.names import Names
from thalweg.analysis.program.notes import Copied, both
from thalweg.analysis.program.store import ANY_NUMBER, Count, Fields, meet, overlaid, plus, widened
from thalweg.analysis.program.tables import ITERATOR, MAPPINGS
from thalweg.analysis.program.values import NOTHING, Given, Known, New, Row, Value, join, literal, only

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_KINDS: dict[type[ast.AST], type] = {
    ast.ListComp: list,
    ast.SetComp: set,
    ast.GeneratorExp: ITERATOR,
    ast.DictComp: dict,
}


class Displays(Names):
    """Containers that are written down."""

    def assign(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        raise NotImplementedError

    def display(self, node: ast.List | ast.Tuple | ast.Set, elts: Sequence[ast.expr]) -> Value:
        kind = {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)]
        length: Count = (0, 0)
        values: list[Value] = []
        fixed = True
        for part in elts:
            if isinstance(part, ast.Starred):
                whole = self.expr(part.value)
                length, fixed = plus(length, self.length(whole)), False
                values.append(self.elements(whole, part, ordered=kind is not set))
            else:
                values.append(self.expr(part))
                length = plus(length, (1, 1))
        if kind is set:
            self.check_keys(join(values), node)
        found = self.made(kind, node, join(values), length=length if kind is not set else ANY_NUMBER)
        if kind is tuple and fixed:
            item = only(found)
            assert isinstance(item, New)
            self.set_fields(item, dict(enumerate(values)))
        return found

    def dict_display(self, node: ast.Dict, keys: Sequence[ast.expr | None], values: Sequence[ast.expr]) -> Value:
        item = self.make(dict, node)
        fields: Fields | None = {}
        for key, value in zip(keys, values, strict=True):
            if key is None:
                source = self.expr(value)
                fields = overlaid(fields, *self._entries(source))
                self.absorb(item, source, node)
                continue
            known, held = self.expr(key), self.expr(value)
            self.check_keys(known, node)
            self.put(item, KEYS, known)
            self.put(item, ELEMENTS, held)
            name = literal(known)
            fields = None if fields is None or name is None else {**fields, name.value: held}
        self.set_fields(item, fields)
        return frozenset((item,))

    def _entries(self, value: Value) -> tuple[Fields | None, frozenset[Any]]:
        """The fields of a dict, and which of them it may not have."""
        item = only(value)
        if not isinstance(item, New) or item.type not in MAPPINGS or self.store is None:
            return None, frozenset()
        return self.store.fields(item), self.store.optional(item)

    def fields_of(self, value: Value) -> dict[Any, Value] | None:
        """The fields of a tuple or a dict that has them all."""
        item = only(value)
        if not isinstance(item, New) or item.type not in (tuple, *MAPPINGS) or self.store is None:
            return None
        fields = self.store.fields(item)
        return None if fields is None or self.store.optional(item) else dict(fields)

    def comprehension(self, node: Comprehension) -> Value:
        """A loop in a scope of its own. What a generator expression does happens when somebody takes from it."""
        kind = _KINDS[type(node)]
        item = New((self.frame.key, id(node), ""), kind)
        scopes = self.frame.scopes
        self.frame.scopes = [*scopes, {}]
        source = self._source(node, 0)  # of the first `for`: at once, whatever the rest
        if self.store is None:
            length: Count = (0, 0)
        elif isinstance(node, ast.GeneratorExp):
            length = self.run_later(lambda: self._generate(node, 0, item, source))
        else:
            length = self._generate(node, 0, item, source)
        self.frame.scopes = scopes
        if self.store is None:
            return NOTHING
        self.store.make(item, length if kind in (list, ITERATOR) else ANY_NUMBER)
        return frozenset((item,))

    def _source(self, node: Comprehension, index: int) -> tuple[Count, Value]:
        """Over what one `for` goes: how many there are, and what each is."""
        generator = node.generators[index]
        if generator.is_async:
            self.unknown("is a coroutine", node)
        source = self.expr(generator.iter)
        taken = self.steady_length(source)
        each = self.elements(source, generator.iter, ordered=not isinstance(node, ast.SetComp))
        self.watch(source)  # what is in it may change while the comprehension runs
        return taken, each

    def _generate(self, node: Comprehension, index: int, item: New, source: tuple[Count, Value]) -> Count:
        """One `for` of a comprehension, and those inside it; gives the number of elements."""
        generator = node.generators[index]
        taken, each = source
        names = {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        scope = self.frame.scopes[-1]
        scope.update({name: (self.frame.key, id(node)) for name in names})
        head = self.store
        inner: Count = ANY_NUMBER
        for turn in range(TURNS):
            if head is None:
                break
            self.store = head.copy()
            self.assign(generator.target, each, generator.iter)
            for test in generator.ifs:
                self.truth(self.expr(test), test)
            inner = self._inner(node, index + 1, item)
            after = meet((head, self.store))
            if after is None or after.same(head):
                break
            head = widened(head, after) if turn else after
        else:
            self.unknown("has a loop that cannot be followed to its end", node)
        self.store = head
        if generator.ifs:
            inner = (0, inner[1])
        return taken[0] * inner[0], None if taken[1] is None or inner[1] is None else taken[1] * inner[1]

    def _inner(self, node: Comprehension, index: int, item: New) -> Count:
        if index < len(node.generators):
            return self._generate(node, index, item, self._source(node, index))
        self._element(node, item)
        return 1, 1

    def _element(self, node: Comprehension, item: New) -> None:
        if isinstance(node, ast.DictComp):
            key = self.expr(node.key)
            self.check_keys(key, node)
            self.put(item, KEYS, key)
            self.put(item, ELEMENTS, self.expr(node.value))
            return
        found = self.expr(node.elt)
        self.put(item, ELEMENTS, found)
        copied = self.copied_of(found)
        if isinstance(node, ast.GeneratorExp):
            self.yielded[item] = both(self.yielded.get(item), copied)
            self.touch()
            self.suspend()
        elif isinstance(node, ast.SetComp):
            self.check_keys(found, node)

    def copied_of(self, value: Value) -> Copied | None:
        """Of every tuple that a value may be: its attributes that are copies of attributes of the input tuple."""
        found: Copied | None = None
        for item in value:
            if isinstance(item, Known) and item.value is None:
                continue  # no tuple: it is refused
            one: Copied = {}
            fields = self.store.fields(item) if self.store is not None else None
            if isinstance(item, Row) and item.port >= 0:
                one = {name: (item.port, name) for name in item.type.names}
            elif fields is not None:
                # One that a dict may not have, too: without it the tuple would be refused.
                one = {str(name): origin for name, v in fields.items() if (origin := _origin(v)) is not None}
            if isinstance(item, New) and item.type not in (list, tuple, ITERATOR):  # a tuple inside another
                self.note_rows(frozenset((item,)))
            found = both(found, one)
        return found

    def copied_of_elements(self, value: Value) -> Copied | None:
        """The same of the elements of a value. Only of containers of this call it is known what they hold."""
        found: Copied | None = None
        for item in value:
            if isinstance(item, Known) and item.value is None:
                continue  # no tuples: it is refused
            one: Copied | None = {}
            if isinstance(item, New) and item in self.yielded:
                one = self.yielded[item]
            elif isinstance(item, New) and item.type in (list, tuple, ITERATOR):
                one = self.copied_of(self.contents(item))
            found = both(found, one)
        return found


def _origin(value: Value) -> tuple[int, str] | None:
    item = only(value)
    return (item.port, item.name) if isinstance(item, Given) and item.name and item.port >= 0 else None

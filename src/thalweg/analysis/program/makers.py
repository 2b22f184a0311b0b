"""Containers and iterators that Python's own functions make."""

from __future__ import annotations

import ast
import collections
import functools
import itertools
from collections.abc import Iterable
from typing import Any

from thalweg.analysis.program.containers import Containers
from thalweg.analysis.program.frames import Args
from thalweg.analysis.program.machine import ELEMENTS
from thalweg.analysis.program.store import ANY_NUMBER, Count, overlaid
from thalweg.analysis.program.tables import ITERATOR, MAPPINGS, SETS
from thalweg.analysis.program.values import (
    INT,
    NONE,
    NOTHING,
    PLAINS,
    STR,
    TREE,
    Known,
    New,
    Value,
    join,
    only,
    types_of,
)

MOST = 8  # calls of a fold until it is given up


class Makers(Containers):
    """Makes containers and iterators."""

    def make_container(self, kind: type, args: Args, node: ast.AST) -> Value:
        """`list(…)` and its like."""
        if kind in MAPPINGS:
            return self._dict(kind, args, node)
        given = args.positional[:1]
        length: Count = (0, 0) if not given else self.length(given[0]) if kind in (list, tuple) else ANY_NUMBER
        held = join(self.elements(v, node, ordered=kind not in SETS) for v in given)
        if kind in SETS:
            self.check_keys(held, node)
        return self.made(kind, node, held, tag=kind.__name__, length=length)

    def _dict(self, kind: type, args: Args, node: ast.AST) -> Value:
        given = list(args.positional)
        factory = NOTHING
        if kind is collections.defaultdict:
            factory = given.pop(0) if given else frozenset((Known(None),))
        value = self.made(kind, node, join(args.named.values()), tag=kind.__name__, keys=STR if args.named else NOTHING)
        item = only(value)
        assert isinstance(item, New)
        self.put(item, "default_factory", factory)
        copied = only(given[0]) if given else None
        mapping = isinstance(copied, New) and copied.type in MAPPINGS
        if self.store is not None and (not given or mapping) and args.more is None and args.more_named is None:
            base = {} if not given else overlaid({}, self.store.fields(copied), self.store.optional(copied))
            counts = kind is collections.Counter and given  # what is in both is added
            self.set_fields(item, None if given[1:] or counts else overlaid(base, args.named))
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
                self.check_keys(inner if item.type is collections.Counter else pairs, node)
                self.put(item, ELEMENTS, join((pairs, INT)))
                self.put(item, "{}", join((inner, pairs)))

    def change_heap(self, function: Any, args: Args, node: ast.AST) -> Value:
        heap = args.at(0)
        self.mutate(heap, f"changes {self.argument(node)} with {function.__name__}()", node)
        for item in heap:
            self.put(item, ELEMENTS, args.at(1))
            if isinstance(item, New) and self.store is not None:
                self.store.set_length(item, ANY_NUMBER, surely=False)
        self.note_rows(heap, args.at(1))
        if not self.plain(heap, args.at(1)):
            self.unknown(f"{function.__name__} compares objects with code of their own", node, heap, args.at(1))
        return join((*(self.contents(item) for item in heap), args.at(1), NONE))

    def argument(self, node: ast.AST) -> str:
        return ast.unparse(node.args[0]) if isinstance(node, ast.Call) and node.args else "an argument"

    def iterate(self, function: Any, args: Args, node: ast.AST) -> Value | None:
        name = getattr(function, "__name__", "")
        if function is functools.reduce:
            held = self.elements(args.at(1), node)
            return self._folded(args.at(0), join((held, args.at(2))), [held], node)
        if name not in dir(itertools):
            return None
        if args.more_named is not None:
            return self.unknown(f"calls {name} with arguments that cannot be read", node, *args.all())
        kept = [args.named[n] for n in ("initial", "fillvalue") if n in args.named]
        callables = [v for v in args.all() if any(self.is_callable(i) for i in v) and v not in kept]
        sources = [v for v in args.all() if v not in callables and v not in kept and v != NONE and not _is_number(v)]
        held = join((*(self.elements(v, node) for v in sources), *kept, INT if name == "count" else NOTHING))
        for source in sources:
            self.watch(source)
        if self.store is not None:
            held = self.run_later(functools.partial(self._called_for, name, callables, held, node))
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

    def _called_for(self, name: str, callables: list[Value], held: Value, node: ast.AST) -> Value:
        """What an iterator of itertools does when somebody takes from it."""
        found = held
        for f in callables:
            found = self._folded(f, found or PLAINS, [found or PLAINS] if name == "accumulate" else [], node)
        if name in ("takewhile", "dropwhile", "filterfalse", "compress"):
            self.truth(found, node)
        elif name in ("groupby", "accumulate") and not self.plain(found):
            self.unknown(f"{name} runs code of its elements", node, found)
        return found

    def _folded(self, function: Value, start: Value, others: list[Value], node: ast.AST) -> Value:
        """A function that is called with its own results, until it gives nothing new."""
        found = start
        for _ in range(MOST):
            more = join((found, self.call_often(function, Args([found, *others]), node)))
            if more == found:
                return found
            found = more
        return self.unknown("has a fold that cannot be followed to its end", node, found)

    def is_callable(self, item: Any) -> bool:
        if isinstance(item, Known):
            return callable(item.value)
        return type(item).__name__ in ("Func", "Bound", "Method", "Submit")


def among(function: object, table: Iterable[object]) -> bool:
    """By identity: comparing a user's object could run its code."""
    return any(function is one for one in table)


def _is_number(value: Value) -> bool:
    return bool(value) and all(set(types_of(item) or (object,)) <= {int, float, type(None)} for item in value)

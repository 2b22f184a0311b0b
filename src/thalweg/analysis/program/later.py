"""Code that runs as often as others like, or later than it is written: callbacks, generators, lazy iterators."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from thalweg.analysis.program.frames import Args
from thalweg.analysis.program.machine import TURNS, Machine
from thalweg.analysis.program.store import Store, meet, widened
from thalweg.analysis.program.values import (
    NOTHING,
    UNKNOWN,
    New,
    Value,
    join,
)

T = TypeVar("T")


class Later(Machine):
    """What such code sees and changes."""

    def call_often(self, callee: Value, args: Args, node: ast.AST) -> Value:
        """A function that one of Python's own calls as often as it likes, perhaps not at all: a loop."""
        head, found = self.store, NOTHING
        for turn in range(TURNS):
            if head is None:
                return NOTHING
            self.store = head.copy()
            found = join((found, self.call(callee, args, node)))
            after = meet((head, self.store))
            assert after is not None
            if after.same(head):
                break
            head = widened(head, after) if turn else after
        else:
            self.store = head
            self.unknown("has a loop that cannot be followed to its end", node, callee, *args.all())
            return UNKNOWN
        self.store = head
        return found

    def run_later(self, run: Callable[[], T]) -> T:
        """Code that runs later, bit by bit, perhaps not at all. Until then other code may change what it looks at; and
        what it changes may change at any time."""
        before = self.store
        assert before is not None
        collected: list[Store] = []
        collectors, self.collectors = self.collectors, [collected]
        skipped = before.copy()
        skipped.made = frozenset()
        self.store = skipped.copy()
        self.suspend()
        self.delayed.append(set())
        found = run()
        changed = self.delayed.pop()
        self.collectors = collectors
        after = meet((skipped, self.store, *collected))
        assert after is not None
        after.take_back(before, changed)
        after.seen |= after.objects.keys()
        self.store = after
        for item in changed:
            self._unsettle(item)
        self.touch()
        return found

    def suspend(self) -> None:
        """From here other code may run until this goes on."""
        if self.store is not None:
            self.store.seen |= self.store.objects.keys()
            for item in self.altered.keys() & self.store.objects.keys():
                self._unsettle(item)

    def watch(self, value: Value) -> None:
        """These are looked at again later."""
        if self.store is not None:
            self.store.seen |= {item for item in value if isinstance(item, New)}

    def take_from(self, item: New) -> None:
        """An iterator is used, perhaps up."""
        self._alter(item)
        if self.store is not None:
            self.store.set_length(item, (0, self.store.length(item)[1]), surely=True)

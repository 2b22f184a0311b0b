"""Code that runs repeatedly, or later than it is written: callbacks, generators, lazy iterators."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.changes import unsettle
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.store import Store, meet, widened
from thalweg.analysis.program.values import NOTHING, UNKNOWN, New, Value, join

T = TypeVar("T")


def call_often(m: Machine, callee: Value, args: Args, node: ast.AST) -> Value:
    """A function that one of Python's own calls any number of times, perhaps not at all: a loop."""
    head, found = m.store, NOTHING
    for turn in range(m.limits.turns):
        if head is None:
            return NOTHING
        m.store = head.copy()
        found = join((found, m.call(callee, args, node)))
        after = meet((head, m.store))
        assert after is not None
        if after.same(head):
            break
        head = widened(head, after) if turn else after
    else:
        m.store = head
        m.unknown("has a loop that cannot be followed to its end", node, callee, *args.all())
        return UNKNOWN
    m.store = head
    return found


def run_later(m: Machine, run: Callable[[], T]) -> T:
    """Code that runs later, bit by bit, perhaps not at all. Until then other code may change what it looks at; and
    what it changes may change at any time."""
    before = m.store
    assert before is not None
    collected: list[Store] = []
    collectors, m.collectors = m.collectors, [collected]
    skipped = before.copy()
    skipped.made = frozenset()
    m.store = skipped.copy()
    suspend(m)
    m.delayed.append(set())
    found = run()
    changed = m.delayed.pop()
    m.collectors = collectors
    after = meet((skipped, m.store, *collected))
    assert after is not None
    after.take_back(before, changed)
    after.seen |= after.objects.keys()
    m.store = after
    for item in changed:
        unsettle(m, item)
    m.touch()
    return found


def suspend(m: Machine) -> None:
    """From here other code may run until this code resumes."""
    if m.store is not None:
        m.store.seen |= m.store.objects.keys()
        for item in m.memory.altered.keys() & m.store.objects.keys():
            unsettle(m, item)


def watch(m: Machine, value: Value) -> None:
    """These are looked at again later."""
    if m.store is not None:
        m.store.seen |= {item for item in value if isinstance(item, New)}


def take_from(m: Machine, item: New) -> None:
    """An iterator is used, perhaps to its end."""
    m.alter(item)
    if m.store is not None:
        m.store.set_length(item, (0, m.store.length(item)[1]), surely=True)

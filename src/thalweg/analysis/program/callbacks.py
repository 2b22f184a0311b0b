"""Code that runs repeatedly, or is deferred: callbacks, generators, lazy iterators."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from thalweg.analysis.program.abstract_values import NOTHING, UNKNOWN, New, Value, join
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.changes import unsettle
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.store import Store, meet, widened

T = TypeVar("T")


def call_often(m: Machine, callee: Value, args: Args, node: ast.AST) -> Value:
    """Call a function as Python calls a callback: any number of times, possibly never. This is a loop."""
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
        m.unknown("has a loop that is too complex to analyze", node, callee, *args.all())
        return UNKNOWN
    m.store = head
    return found


def run_later(m: Machine, run: Callable[[], T]) -> T:
    """Follow code that runs later, step by step, possibly never. Until then other code may change the objects that it
    reads, and the objects that it changes may change at any time."""
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
    """Other code may run from here until this code resumes."""
    if m.store is not None:
        m.store.seen |= m.store.objects.keys()
        for item in m.memory.altered.keys() & m.store.objects.keys():
            unsettle(m, item)


def watch(m: Machine, value: Value) -> None:
    """Record that these objects are read again later."""
    if m.store is not None:
        m.store.seen |= {item for item in value if isinstance(item, New)}


def take_from(m: Machine, item: New) -> None:
    """Consume an iterator, possibly completely."""
    m.alter(item)
    if m.store is not None:
        m.store.set_length(item, (0, m.store.length(item)[1]), surely=True)

"""`for` and `while`: a loop is followed until its iterations find nothing new."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from thalweg.analysis.program.abstract_values import Item, Known, New, join, just
from thalweg.analysis.program.contents import length
from thalweg.analysis.program.machine import STATEMENTS, Machine
from thalweg.analysis.program.python_types import CONTAINERS
from thalweg.analysis.program.store import Store, meet, widened
from thalweg.analysis.program.truth import truth


@STATEMENTS.handles(ast.For)
def for_each(m: Machine, node: ast.For) -> None:
    source = m.evaluate(node.iter)
    if not source:
        m.lose("iterates over a value that cannot be analyzed", node)
    each = m.elements(source, node.iter)
    head = m.store
    breaks: list[Store] = []
    if not each and source and all(_is_empty(m, item) for item in source):
        _after(m, head, node.orelse, breaks)
        return
    for turn in range(m.limits.turns):
        if head is None:
            return
        m.store = head.copy()
        m.assign(node.target, each, node)
        breaks, continues = _turn(m, node.body)
        after = meet((head, m.store, *continues))
        assert after is not None
        if after.same(head):
            break
        head = widened(head, after) if turn else after
        each = join((each, m.elements(source, node.iter)))
    else:
        m.unknown("has a loop that is too complex to analyze", node)
    _after(m, head, node.orelse, breaks)


def _is_empty(m: Machine, item: Item) -> bool:
    """Whether an item is a container that is never filled."""
    if isinstance(item, Known):
        return type(item.value) in CONTAINERS and not item.value
    return isinstance(item, New) and item.type in (list, tuple) and length(m, just(item)) == (0, 0)


@STATEMENTS.handles(ast.While)
def while_true(m: Machine, node: ast.While) -> None:
    head = m.store
    forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
    end: Store | None = None
    breaks: list[Store] = []
    for turn in range(m.limits.turns):
        if head is None:
            return
        m.store = head.copy()
        truth(m, m.evaluate(node.test), node.test)
        end = None if forever or m.store is None else m.store.copy()
        breaks, continues = _turn(m, node.body)
        after = meet((head, m.store, *continues))
        assert after is not None
        if after.same(head):
            break
        head = widened(head, after) if turn else after
    else:
        m.unknown("has a loop that is too complex to analyze", node)
    _after(m, end, node.orelse, breaks)


def _turn(m: Machine, body: Sequence[ast.stmt]) -> tuple[list[Store], list[Store]]:
    """Follow one iteration of a loop; return the stores at `break` and at `continue`."""
    m.frame.loops.append(([], []))
    m.run(body)
    return m.frame.loops.pop()


def _after(m: Machine, end: Store | None, orelse: Sequence[ast.stmt], breaks: list[Store]) -> None:
    m.store = end
    if orelse and m.store is not None:
        m.run(orelse)
    m.store = meet((m.store, *breaks))


@STATEMENTS.handles(ast.Break, ast.Continue)
def leave(m: Machine, node: ast.Break | ast.Continue) -> None:
    if m.frame.loops and m.store is not None:
        m.frame.loops[-1][isinstance(node, ast.Continue)].append(m.store)
    m.store = None

"""`try` and `with`: any statement in them may be the last one that runs."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable

from thalweg.analysis.program.abstract_values import BOOL, NOTHING, UNKNOWN, Known, Value, ValueOf, join, just, literal
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.items.names import assign_name
from thalweg.analysis.program.machine import STATEMENTS, Machine
from thalweg.analysis.program.memory import ELEMENTS, EXCEPTIONS
from thalweg.analysis.program.store import Store, meet

# The arguments of `__exit__`.
_NO_ERROR: list[Value] = [just(Known(None))] * 3
_ERROR: list[Value] = [UNKNOWN] * 3
_PLAIN = (contextlib.suppress, contextlib.nullcontext)  # they run no code on entry and exit


class _Exits:
    """The exits of a block that are found from here on: returns, breaks, continues."""

    def __init__(self, m: Machine) -> None:
        self.m = m
        self.returned = len(m.frame.returns)
        self.marks = [(len(breaks), len(continues)) for breaks, continues in m.frame.loops]

    def run_on_each(self, run: Callable[[], object]) -> None:
        """Run code on each exit."""
        m, frame = self.m, self.m.frame
        returns, frame.returns[self.returned :] = frame.returns[self.returned :], []
        jumps: list[tuple[list[Store], list[Store]]] = []
        for lists, marks in zip(frame.loops, self.marks, strict=True):
            for target, mark in zip(lists, marks, strict=True):
                jumps.append((target, target[mark:]))
                del target[mark:]
        for value, store in returns:
            m.store = store
            run()
            if m.store is not None:
                frame.returns.append((value, m.store))
        for target, stores in jumps:
            for store in stores:
                m.store = store
                run()
                if m.store is not None:
                    target.append(m.store)


@STATEMENTS.handles(ast.Try, ast.TryStar)
def try_except(m: Machine, node: ast.Try | ast.TryStar) -> None:
    if not node.finalbody:
        m.store = _body_and_handlers(m, node)
        return
    exits = _Exits(m)
    unfinished: list[Store] = []
    m.collectors.append(unfinished)
    end = _body_and_handlers(m, node)
    m.collectors.pop()
    exits.run_on_each(lambda: m.run(node.finalbody))
    if unfinished:
        m.store = meet(unfinished)
        m.run(node.finalbody)  # then the exception is raised again
    m.store = end
    m.run(node.finalbody)


def _body_and_handlers(m: Machine, node: ast.Try | ast.TryStar) -> Store | None:
    collected: list[Store] = []
    m.collectors.append(collected)
    m.touch()
    m.run(node.body)
    m.collectors.pop()
    m.run(node.orelse)
    ends: list[Store | None] = [m.store]
    for handler in node.handlers:
        m.store = meet(collected)
        if m.store is None:
            continue
        if handler.type is not None:
            m.evaluate(handler.type)
        if handler.name is not None:
            own = m.memory.get(EXCEPTIONS, ELEMENTS)
            assign_name(m, handler.name, join((just(ValueOf(Exception)), own)), handler)
        m.run(handler.body)
        ends.append(m.store)
    return meet(ends)


@STATEMENTS.handles(ast.With)
def with_managers(m: Machine, node: ast.With) -> None:
    _manage(m, node, 0)


def _manage(m: Machine, node: ast.With, index: int) -> None:
    if index == len(node.items):
        m.run(node.body)
        return
    item = node.items[index]
    manager = m.evaluate(item.context_expr)
    leave = _enter(m, manager, item, node)
    exits = _Exits(m)
    collected: list[Store] = []
    m.collectors.append(collected)
    m.touch()
    _manage(m, node, index + 1)
    m.collectors.pop()
    end = m.store
    exits.run_on_each(lambda: leave(_NO_ERROR))
    m.store = end
    if m.store is not None:
        leave(_NO_ERROR)
    after = m.store
    m.store = meet(collected)
    if m.store is not None:
        ended = literal(leave(_ERROR))
        if ended is not None and not ended.value:
            m.store = None  # the exception is raised again
    m.store = meet((after, m.store))


def _enter(m: Machine, manager: Value, item: ast.withitem, node: ast.With) -> Callable[[list[Value]], Value]:
    """Call `__enter__`; return a function that calls `__exit__`."""
    called = m.evaluate(item.context_expr.func) if isinstance(item.context_expr, ast.Call) else NOTHING
    if called and all(isinstance(i, Known) and any(i.value is cls for cls in _PLAIN) for i in called):
        if item.optional_vars is not None:
            m.assign(item.optional_vars, UNKNOWN, node)
        return lambda given: BOOL
    entered = m.call(m.attribute(manager, "__enter__", node), Args(), node)
    if item.optional_vars is not None:
        m.assign(item.optional_vars, entered, node)
    return lambda given: m.call(m.attribute(manager, "__exit__", node), Args(given), node)

"""`try` and `with`: any statement may be the last one."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable

from thalweg.analysis.program.assignments import Assignments
from thalweg.analysis.program.frames import Args
from thalweg.analysis.program.machine import ELEMENTS, EXCEPTIONS
from thalweg.analysis.program.store import Store, meet
from thalweg.analysis.program.values import BOOL, NOTHING, UNKNOWN, Known, Of, Value, join, literal

# What `__exit__` gets.
_NO_ERROR: list[Value] = [frozenset((Known(None),))] * 3
_ERROR: list[Value] = [UNKNOWN] * 3
_PLAIN = (contextlib.suppress, contextlib.nullcontext)  # they run no code when they are entered and left


class Attempts(Assignments):
    """Follows what may be cut short."""

    def attempt(self, node: ast.Try | ast.TryStar) -> None:
        returned = len(self.frame.returns)
        marks = [(len(b), len(c)) for b, c in self.loops]
        unfinished: list[Store] = []
        if node.finalbody:
            self.collectors.append(unfinished)
        ends = self._body_and_handlers(node)
        if node.finalbody:
            self.collectors.pop()
        self.store = ends
        if node.finalbody:
            self._finally(lambda: self.run_body(node.finalbody), returned, marks, unfinished)

    def _body_and_handlers(self, node: ast.Try | ast.TryStar) -> Store | None:
        collected: list[Store] = []
        self.collectors.append(collected)
        self.touch()
        self.run_body(node.body)
        self.collectors.pop()
        if self.store is not None and node.orelse:
            self.run_body(node.orelse)
        ends: list[Store | None] = [self.store]
        for handler in node.handlers:
            self.store = meet(collected)
            if self.store is None:
                continue
            if handler.type is not None:
                self.expr(handler.type)
            if handler.name is not None:
                own = self.get(EXCEPTIONS, ELEMENTS)
                self.assign_name(handler.name, join((frozenset((Of(Exception),)), own)), handler)
            self.run_body(handler.body)
            ends.append(self.store)
        return meet(ends)

    def _finally(
        self, run: Callable[[], object], returned: int, marks: list[tuple[int, int]], unfinished: list[Store]
    ) -> None:
        """`finally` stands behind every way out: the end, returns, breaks, exceptions."""
        normal = self.store
        returns, self.frame.returns[returned:] = self.frame.returns[returned:], []
        jumps = [
            (lists[which], lists[which][mark[which] :])
            for lists, mark in zip(self.loops, marks, strict=True)
            for which in (0, 1)
        ]
        for lists, mark in zip(self.loops, marks, strict=True):
            del lists[0][mark[0] :]
            del lists[1][mark[1] :]
        for value, store in returns:
            self.store = store
            run()
            if self.store is not None:
                self.frame.returns.append((value, self.store))
        for target, stores in jumps:
            for one in stores:
                self.store = one
                run()
                if self.store is not None:
                    target.append(self.store)
        if unfinished:
            self.store = meet(unfinished)
            run()  # then the exception goes on
        self.store = normal
        if self.store is not None:
            run()

    def manage(self, node: ast.With, index: int) -> None:
        if index == len(node.items):
            self.run_body(node.body)
            return
        item = node.items[index]
        manager = self.expr(item.context_expr)
        leave = self._enters(manager, item, node)
        returned = len(self.frame.returns)
        marks = [(len(b), len(c)) for b, c in self.loops]
        collected: list[Store] = []
        self.collectors.append(collected)
        self.touch()
        self.manage(node, index + 1)
        self.collectors.pop()
        self._finally(lambda: leave(_NO_ERROR), returned, marks, [])
        after = self.store
        self.store = meet(collected)
        if self.store is not None:
            ended = literal(leave(_ERROR))
            if ended is not None and not ended.value:
                self.store = None  # the exception goes on
        self.store = meet((after, self.store))

    def _enters(self, manager: Value, item: ast.withitem, node: ast.With) -> Callable[[list[Value]], Value]:
        """`__enter__`; gives what calls `__exit__`."""
        called = self.expr(item.context_expr.func) if isinstance(item.context_expr, ast.Call) else NOTHING
        if called and all(isinstance(i, Known) and any(i.value is cls for cls in _PLAIN) for i in called):
            if item.optional_vars is not None:
                self.assign(item.optional_vars, UNKNOWN, node)
            return lambda given: BOOL
        entered = self.call(self.get_attribute(manager, "__enter__", node), Args(), node)
        if item.optional_vars is not None:
            self.assign(item.optional_vars, entered, node)
        return lambda given: self.call(self.get_attribute(manager, "__exit__", node), Args(given), node)

"""`try` and `with`: any statement may be the last one."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Sequence

from thalweg.analysis.program.assignments import Assignments
from thalweg.analysis.program.frames import Args
from thalweg.analysis.program.store import Store, meet
from thalweg.analysis.program.values import UNKNOWN, Known, Of, Value


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
            self._finally(node.finalbody, returned, marks, unfinished)

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
                self.assign_name(handler.name, frozenset((Of(Exception),)), handler)
            self.run_body(handler.body)
            ends.append(self.store)
        return meet(ends)

    def _finally(
        self, body: Sequence[ast.stmt], returned: int, marks: list[tuple[int, int]], unfinished: list[Store]
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
            self.run_body(body)
            if self.store is not None:
                self.frame.returns.append((value, self.store))
        for target, stores in jumps:
            for one in stores:
                self.store = one
                self.run_body(body)
                if self.store is not None:
                    target.append(self.store)
        if unfinished:
            self.store = meet(unfinished)
            self.run_body(body)  # then the exception goes on
        self.store = normal
        if self.store is not None:
            self.run_body(body)

    def manage(self, node: ast.With, index: int) -> None:
        if index == len(node.items):
            self.run_body(node.body)
            return
        item = node.items[index]
        manager = self.expr(item.context_expr)
        swallows = self._enters(manager, item, node)
        collected: list[Store] = []
        if swallows:
            self.collectors.append(collected)
            self.touch()
        self.manage(node, index + 1)
        if swallows:
            self.collectors.pop()
            self.store = meet((self.store, *collected))

    def _enters(self, manager: Value, item: ast.withitem, node: ast.With) -> bool:
        """`__enter__` and `__exit__`; gives whether an exception may end there."""
        suppress = isinstance(item.context_expr, ast.Call) and any(
            isinstance(i, Known) and i.value in (contextlib.suppress, contextlib.nullcontext)
            for i in self.expr(item.context_expr.func)
            if isinstance(i, Known) and isinstance(i.value, type)
        )
        if suppress:
            if item.optional_vars is not None:
                self.assign(item.optional_vars, UNKNOWN, node)
            return True
        entered = self.call(self.get_attribute(manager, "__enter__", node), Args(), node)
        if item.optional_vars is not None:
            self.assign(item.optional_vars, entered, node)
        nothing: list[Value] = [frozenset((Known(None),))] * 3
        self.call(self.get_attribute(manager, "__exit__", node), Args(nothing), node)
        return True

"""Statements: paths part and meet, loops are followed until nothing new is found."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from thalweg.analysis.program.attempts import Attempts
from thalweg.analysis.program.frames import Args
from thalweg.analysis.program.machine import TURNS
from thalweg.analysis.program.store import Store, meet, widened
from thalweg.analysis.program.tables import CONTAINERS
from thalweg.analysis.program.values import NOTHING, Known, New, Value, join, literal


class Statements(Attempts):
    """Follows statements. `self.store` is None where no path leads."""

    def run_body(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.store is None:
                return
            self.step()
            self.touch()
            self._statement(statement)
            self.touch()

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass() | ast.Global() | ast.Nonlocal():
                return
            case ast.Expr(value=value):
                self.expr(value)
            case ast.Return(value=value):
                found = frozenset[Any]((Known(None),)) if value is None else self.expr(value)
                if not found:
                    self.lose("returns something that cannot be read", node)
                if self.store is not None:
                    self.frame.returns.append((found, self.store))
                self.store = None
            case ast.Assign(targets=targets, value=value):
                found = self.expr(value)
                for one in targets:
                    self.assign(one, found, node)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.assign(target, self.expr(value), node)
                else:  # all but the last step of the target is evaluated
                    self._parts(target)
            case ast.AugAssign():
                self.augmented(node)
            case ast.If(test=test, body=body, orelse=orelse):
                self._if(test, body, orelse)
            case ast.For():
                self._for(node)
            case ast.While():
                self._while(node)
            case ast.Break():
                self._leave(0)
            case ast.Continue():
                self._leave(1)
            case ast.Try() | ast.TryStar():
                self.attempt(node)
            case ast.With():
                self.manage(node, 0)
            case ast.Raise(exc=exc, cause=cause):
                for part in (exc, cause):
                    found = NOTHING if part is None else self.expr(part)
                    classes = [i for i in found if isinstance(i, Known) and isinstance(i.value, type)]
                    if classes:
                        self.call(frozenset(classes), Args(), node)
                self.touch()
                self.store = None
            case ast.Assert(test=test, msg=msg):
                self._assert(test, msg)
            case ast.Delete(targets=targets):
                for deleted in targets:
                    self.delete(deleted)
            case ast.FunctionDef():
                self.define(node)
            case ast.Import() | ast.ImportFrom():
                self.bring_in(node)
            case ast.Match():
                self.match(node)
            case _:
                self._not_followed(node)

    def _parts(self, target: ast.expr) -> None:
        if isinstance(target, ast.Attribute | ast.Subscript):
            self.expr(target.value)
        if isinstance(target, ast.Subscript):
            self.expr(target.slice)

    def _not_followed(self, node: ast.stmt) -> None:
        """`class`, `async def`: their code is not followed; it may use all that it names."""
        used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & self.frame.locals
        given = [self.name(name, node) for name in used]
        made = self.unknown(f"uses `{ast.unparse(node).splitlines()[0][:40]}`", node, *given)
        if isinstance(node, ast.ClassDef | ast.AsyncFunctionDef):
            self.assign_name(node.name, made, node)

    def _if(self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        condition = literal(self.truth(self.expr(test), test))
        before = self.store
        if before is None:
            return
        if condition is not None:
            self.run_body(body if condition.value else orelse)
            return
        self.store = before.copy()
        self.run_body(body)
        after = self.store
        self.store = before
        self.run_body(orelse)
        self.store = meet((after, self.store))

    def _assert(self, test: ast.expr, msg: ast.expr | None) -> None:
        self.truth(self.expr(test), test)
        before = self.store
        if msg is not None and before is not None:
            self.store = before.copy()
            self.expr(msg)
        self.store = before

    def _leave(self, which: int) -> None:
        if self.loops and self.store is not None:
            self.loops[-1][which].append(self.store)
        self.store = None

    def _for(self, node: ast.For) -> None:
        source = self.expr(node.iter)
        if not source:
            self.lose("iterates over something that cannot be read", node)
        each = self.elements(source, node.iter)
        head = self.store
        breaks: list[Store] = []
        if not each and self._is_empty(source):
            self._behind(head, node.orelse, breaks)
            return
        for turn in range(TURNS):
            if head is None:
                return
            self.store = head.copy()
            self.assign(node.target, each, node)
            breaks, continues = self._turn(node.body)
            after = meet((head, self.store, *continues))
            assert after is not None
            if after.same(head):
                break
            head = widened(head, after) if turn else after
            each = join((each, self.elements(source, node.iter)))
        else:
            self.unknown("has a loop that cannot be followed to its end", node)
        self._behind(head, node.orelse, breaks)

    def _is_empty(self, source: Value) -> bool:
        """Whether these are lists that nobody fills."""
        return bool(source) and all(
            (isinstance(i, Known) and type(i.value) in CONTAINERS and not i.value)
            or (isinstance(i, New) and i.type in (list, tuple) and self.length(frozenset((i,))) == (0, 0))
            for i in source
        )

    def _while(self, node: ast.While) -> None:
        head = self.store
        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        exits: list[Store | None] = []
        breaks: list[Store] = []
        for turn in range(TURNS):
            if head is None:
                return
            self.store = head.copy()
            self.truth(self.expr(node.test), node.test)
            exits = [None if forever or self.store is None else self.store.copy()]
            breaks, continues = self._turn(node.body)
            after = meet((head, self.store, *continues))
            assert after is not None
            if after.same(head):
                break
            head = widened(head, after) if turn else after
        else:
            self.unknown("has a loop that cannot be followed to its end", node)
        self._behind(meet(exits), node.orelse, breaks)

    def _turn(self, body: Sequence[ast.stmt]) -> tuple[list[Store], list[Store]]:
        self.loops.append(([], []))
        self.run_body(body)
        return self.loops.pop()

    def _behind(self, ended: Store | None, orelse: Sequence[ast.stmt], breaks: list[Store]) -> None:
        self.store = ended
        if orelse and self.store is not None:
            self.run_body(orelse)
        self.store = meet((self.store, *breaks))

"""Statements: paths part and meet, loops are followed until nothing new is found."""

from __future__ import annotations

import ast
import contextlib
import importlib
import sys
from collections.abc import Sequence
from typing import Any

from thalweg.analysis.program.machine import Args
from thalweg.analysis.program.patterns import Patterns
from thalweg.analysis.program.store import Store, meet, widened
from thalweg.analysis.program.values import NOTHING, UNKNOWN, Known, New, Of, Value, join, literal, only

TURNS = 12  # of a loop until it is given up


class Statements(Patterns):
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
            case ast.AugAssign():
                self._augmented(node)
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
                self._try(node)
            case ast.With():
                self._with(node, 0)
            case ast.Raise(exc=exc, cause=cause):
                for part in (exc, cause):
                    if part is not None:
                        self.expr(part)
                self.touch()
                self.store = None
            case ast.Assert(test=test, msg=msg):
                self._assert(test, msg)
            case ast.Delete(targets=targets):
                for deleted in targets:
                    self._delete(deleted)
            case ast.FunctionDef():
                self._define(node)
            case ast.Import() | ast.ImportFrom():
                self._import(node)
            case ast.Match():
                self.match(node)
            case _:
                self.unknown(f"uses `{ast.unparse(node).splitlines()[0][:40]}`", node)

    # Assignments.

    def assign(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        match target:
            case ast.Name(id=name):
                self.assign_name(name, value, node)
            case ast.Attribute(value=owner, attr=attr):
                self.set_attribute(self.expr(owner), attr, value, target, ast.unparse(target))
            case ast.Subscript(value=owner, slice=index):
                shown = f"{ast.unparse(owner)}[{ast.unparse(index)}]"
                self.set_subscript(self.expr(owner), self.expr(index), value, target, shown[:60])
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                self._unpack(parts, value, node)
            case ast.Starred(value=inner):
                self.assign(inner, value, node)
            case _:
                self.unknown(f"assigns to `{ast.unparse(target)[:40]}`", node, value)

    def _unpack(self, parts: Sequence[ast.expr], value: Value, node: ast.AST) -> None:
        item = only(value)
        fields = self.store.fields(item) if self.store is not None else None
        starred = any(isinstance(part, ast.Starred) for part in parts)
        if fields is not None and not starred and all(i in fields for i in range(len(parts))):
            for index, part in enumerate(parts):
                self.assign(part, fields[index], node)
            return
        each = self.elements(value, node)
        for part in parts:
            if isinstance(part, ast.Starred):
                self.assign(part.value, self.made(list, part, each, tag="rest"), node)
            else:
                self.assign(part, each, node)

    def _augmented(self, node: ast.AugAssign) -> None:
        match node.target:
            case ast.Name(id=name):
                old = self.name(name, node)
                self.assign_name(name, self.in_place(node.op, old, self.expr(node.value), node), node)
            case ast.Attribute(value=owner, attr=attr):
                objects = self.expr(owner)
                old = self.get_attribute(objects, attr, node)
                new = self.in_place(node.op, old, self.expr(node.value), node)
                self.set_attribute(objects, attr, new, node, ast.unparse(node.target))
            case ast.Subscript(value=owner, slice=index):
                objects, at = self.expr(owner), self.expr(index)
                old = self.subscript(objects, at, node)
                new = self.in_place(node.op, old, self.expr(node.value), node)
                self.set_subscript(objects, at, new, node, ast.unparse(node.target)[:60])

    def _delete(self, target: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                self.assign_name(name, NOTHING, target)
            case ast.Attribute(value=owner):
                objects = self.expr(owner)
                self.mutate(objects, f"deletes {ast.unparse(target)}", target)
            case ast.Subscript(value=owner, slice=index):
                self.expr(index)
                objects = self.expr(owner)
                self.mutate(objects, f"deletes {ast.unparse(target)[:60]}", target)
                for item in objects:
                    if isinstance(item, New) and self.store is not None:
                        self.store.forget(item)
            case ast.Tuple(elts=parts):
                for part in parts:
                    self._delete(part)

    def _define(self, node: ast.FunctionDef) -> None:
        value = self.function(node)
        for decorator in reversed(node.decorator_list):
            value = self.call(self.expr(decorator), Args([value]), node)
        self.assign_name(node.name, value, node)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.ImportFrom) and (node.level or node.module is None):
            self.unknown("imports a module while it runs", node)
            for alias in node.names:
                self.assign_name(alias.asname or alias.name, UNKNOWN, node)
            return
        for alias in node.names:
            wanted = node.module if isinstance(node, ast.ImportFrom) else alias.name
            assert wanted is not None
            module = sys.modules.get(wanted)
            if module is None and wanted.partition(".")[0] in sys.stdlib_module_names:
                module = importlib.import_module(wanted)
            if module is None:
                self.unknown(f"imports {wanted} while it runs", node)
                self.assign_name((alias.asname or alias.name).partition(".")[0], UNKNOWN, node)
                continue
            if isinstance(node, ast.ImportFrom):
                value = self.module_attribute(vars(module), alias.name, f"{wanted}.{alias.name}", node)
                self.assign_name(alias.asname or alias.name, value, node)
            else:
                held = module if alias.asname else sys.modules[wanted.partition(".")[0]]
                self.assign_name(alias.asname or wanted.partition(".")[0], frozenset((Known(held),)), node)

    # Paths.

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
        each = self.elements(source, node.iter)
        head = self.store
        breaks: list[Store] = []
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

    # Exceptions: any statement of a `try` may be the last one.

    def _try(self, node: ast.Try | ast.TryStar) -> None:
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

    def _with(self, node: ast.With, index: int) -> None:
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
        self._with(node, index + 1)
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

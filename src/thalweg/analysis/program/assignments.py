"""Assignments, and statements that are like them: del, def, import."""

from __future__ import annotations

import ast
import importlib
import sys
import types
from collections.abc import Sequence

from thalweg.analysis.program.frames import Args, mangled
from thalweg.analysis.program.outside import class_attribute
from thalweg.analysis.program.patterns import Patterns
from thalweg.analysis.program.tables import is_built_in
from thalweg.analysis.program.values import NOTHING, UNKNOWN, Bound, Item, Known, New, Value, only


class Assignments(Patterns):
    """Follows assignments."""

    def assign(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        match target:
            case ast.Name(id=name):
                self.assign_name(name, value, node)
            case ast.Attribute(value=owner, attr=attr):
                self.set_attribute(self.expr(owner), mangled(attr, self.frame), value, target, ast.unparse(target))
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
        is_tuple = isinstance(item, New) and item.type is tuple
        fields = self.store.fields(item) if self.store is not None and is_tuple else None
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

    def augmented(self, node: ast.AugAssign) -> None:
        match node.target:
            case ast.Name(id=name):
                old = self.name(name, node)
                self.assign_name(name, self.in_place(node.op, old, self.expr(node.value), node), node)
            case ast.Attribute(value=owner, attr=attr):
                objects, name = self.expr(owner), mangled(attr, self.frame)
                old = self.get_attribute(objects, name, node)
                new = self.in_place(node.op, old, self.expr(node.value), node)
                self.set_attribute(objects, name, new, node, ast.unparse(node.target))
            case ast.Subscript(value=owner, slice=index):
                objects, at = self.expr(owner), self.expr(index)
                old = self.subscript(objects, at, node)
                new = self.in_place(node.op, old, self.expr(node.value), node)
                self.set_subscript(objects, at, new, node, ast.unparse(node.target)[:60])

    def delete(self, target: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                self.assign_name(name, NOTHING, target)
            case ast.Attribute(value=owner):
                objects = self.expr(owner)
                self.mutate(objects, f"deletes {ast.unparse(target)}", target)
                for item in objects:  # the class may have a default under the name
                    self._forget(item)
                classes = [cls for item in objects for cls in self.classes_of(item)]
                if any(class_attribute(cls, "__delattr__") is not vars(object)["__delattr__"] for cls in classes):
                    self.unknown("deletes an attribute with code of its own", target, objects)
            case ast.Subscript(value=owner, slice=index):
                at = self.expr(index)
                objects = self.expr(owner)
                if not objects:
                    self.lose(f"deletes {ast.unparse(target)[:60]}, of which nothing is known", target)
                self.mutate(objects, f"deletes {ast.unparse(target)[:60]}", target)
                for item in objects:
                    self._delete_item(item, at, target)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self.delete(part)
            case _:
                self.unknown(f"deletes `{ast.unparse(target)[:40]}`", target)

    def _forget(self, item: Item) -> None:
        if isinstance(item, New) and self.store is not None:
            self.store.forget(item)
        self.alias_changed(item)

    def _delete_item(self, item: Item, at: Value, node: ast.AST) -> None:
        self._forget(item)
        for cls in self.classes_of(item):
            held = class_attribute(cls, "__delitem__")
            if isinstance(held, types.FunctionType):
                self.call(frozenset((Bound(held, item),)), Args([at]), node)
            elif not is_built_in(cls):
                self.unknown("deletes an element of something that cannot be read", node, frozenset((item,)), at)

    def define(self, node: ast.FunctionDef) -> None:
        value = self.function(node)
        for decorator in reversed(node.decorator_list):
            value = self.call(self.expr(decorator), Args([value]), node)
        self.assign_name(node.name, value, node)

    def bring_in(self, node: ast.Import | ast.ImportFrom) -> None:
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

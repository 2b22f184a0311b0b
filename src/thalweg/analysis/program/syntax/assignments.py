"""Assignments and `del`, by their targets."""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence

from thalweg.analysis.program.abstract_values import NOTHING, Bound, Item, New, Value, classes_of, just, only
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.changes import alias_changed, mutate
from thalweg.analysis.program.items.attributes import set_attribute
from thalweg.analysis.program.items.names import assign_name, read_name
from thalweg.analysis.program.items.operations import in_place
from thalweg.analysis.program.items.subscripts import set_subscript
from thalweg.analysis.program.live_objects import class_attribute
from thalweg.analysis.program.machine import STATEMENTS, TARGETS, Machine
from thalweg.analysis.program.python_types import is_built_in


@STATEMENTS.handles(ast.Assign)
def assign_all(m: Machine, node: ast.Assign) -> None:
    found = m.evaluate(node.value)
    for target in node.targets:
        m.assign(target, found, node)


@STATEMENTS.handles(ast.AnnAssign)
def assign_annotated(m: Machine, node: ast.AnnAssign) -> None:
    target = node.target
    if node.value is not None:
        m.assign(target, m.evaluate(node.value), node)
        return
    if isinstance(target, ast.Attribute | ast.Subscript):  # the target is evaluated except for its last step
        m.evaluate(target.value)
    if isinstance(target, ast.Subscript):
        m.evaluate(target.slice)


@TARGETS.handles(ast.Name)
def to_name(m: Machine, target: ast.Name, value: Value, node: ast.AST) -> None:
    assign_name(m, target.id, value, node)


@TARGETS.handles(ast.Attribute)
def to_attribute(m: Machine, target: ast.Attribute, value: Value, node: ast.AST) -> None:
    owner = m.evaluate(target.value)
    set_attribute(m, owner, m.frame.mangled(target.attr), value, target, ast.unparse(target))


@TARGETS.handles(ast.Subscript)
def to_subscript(m: Machine, target: ast.Subscript, value: Value, node: ast.AST) -> None:
    shown = f"{ast.unparse(target.value)}[{ast.unparse(target.slice)}]"
    set_subscript(m, m.evaluate(target.value), m.evaluate(target.slice), value, target, shown[:60])


@TARGETS.handles(ast.Starred)
def to_starred(m: Machine, target: ast.Starred, value: Value, node: ast.AST) -> None:
    m.assign(target.value, value, node)


@TARGETS.handles(ast.Tuple, ast.List)
def to_parts(m: Machine, target: ast.Tuple | ast.List, value: Value, node: ast.AST) -> None:
    parts: Sequence[ast.expr] = target.elts
    item = only(value)
    is_tuple = isinstance(item, New) and item.type is tuple
    fields = m.store.fields(item) if m.store is not None and is_tuple else None
    starred = any(isinstance(part, ast.Starred) for part in parts)
    if fields is not None and not starred and all(i in fields for i in range(len(parts))):
        for index, part in enumerate(parts):
            m.assign(part, fields[index], node)
        return
    each = m.elements(value, node)
    for part in parts:
        if isinstance(part, ast.Starred):
            m.assign(part.value, m.made(list, part, each, tag="rest"), node)
        else:
            m.assign(part, each, node)


@STATEMENTS.handles(ast.AugAssign)
def assign_augmented(m: Machine, node: ast.AugAssign) -> None:
    match node.target:
        case ast.Name(id=name):
            old = read_name(m, name, node)
            assign_name(m, name, in_place(m, node.op, old, m.evaluate(node.value), node), node)
        case ast.Attribute(value=owner, attr=attr):
            objects, name = m.evaluate(owner), m.frame.mangled(attr)
            old = m.attribute(objects, name, node)
            new = in_place(m, node.op, old, m.evaluate(node.value), node)
            set_attribute(m, objects, name, new, node, ast.unparse(node.target))
        case ast.Subscript(value=owner, slice=index):
            objects, at = m.evaluate(owner), m.evaluate(index)
            old = m.subscript(objects, at, node)
            new = in_place(m, node.op, old, m.evaluate(node.value), node)
            set_subscript(m, objects, at, new, node, ast.unparse(node.target)[:60])


@STATEMENTS.handles(ast.Delete)
def delete_all(m: Machine, node: ast.Delete) -> None:
    for target in node.targets:
        _delete(m, target)


def _delete(m: Machine, target: ast.expr) -> None:
    match target:
        case ast.Name(id=name):
            assign_name(m, name, NOTHING, target)
        case ast.Attribute(value=owner):
            _delete_attribute(m, m.evaluate(owner), target)
        case ast.Subscript(value=owner, slice=index):
            at = m.evaluate(index)
            _delete_element(m, m.evaluate(owner), at, target)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                _delete(m, part)


def _delete_attribute(m: Machine, objects: Value, target: ast.Attribute) -> None:
    mutate(m, objects, f"deletes {ast.unparse(target)}", target)
    for item in objects:  # the class may have a default of the same name
        _forget(m, item)
    classes = [cls for item in objects for cls in classes_of(item)]
    if any(class_attribute(cls, "__delattr__") is not vars(object)["__delattr__"] for cls in classes):
        m.unknown("deletes an attribute of a class that defines __delattr__", target, objects)


def _delete_element(m: Machine, objects: Value, at: Value, target: ast.Subscript) -> None:
    shown = ast.unparse(target)[:60]
    if not objects:
        m.lose(f"deletes {shown}, an element of an unknown object", target)
    mutate(m, objects, f"deletes {shown}", target)
    for item in objects:
        _forget(m, item)
        for cls in classes_of(item):
            held = class_attribute(cls, "__delitem__")
            if isinstance(held, types.FunctionType):
                m.call(just(Bound(held, item)), Args([at]), target)
            elif not is_built_in(cls):
                m.unknown("deletes an element of a value that cannot be analyzed", target, just(item), at)


def _forget(m: Machine, item: Item) -> None:
    if isinstance(item, New) and m.store is not None:
        m.store.forget(item)
    alias_changed(m, item)

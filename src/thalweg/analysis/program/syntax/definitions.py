"""`def`, `lambda` and `import`."""

from __future__ import annotations
import __future__

import ast
import importlib
import sys

from thalweg.analysis.program.abstract_values import UNKNOWN, Func, Known, Value, just
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.items.known_attributes import of_module
from thalweg.analysis.program.items.names import assign_name
from thalweg.analysis.program.machine import EXPRESSIONS, STATEMENTS, Machine


@STATEMENTS.handles(ast.FunctionDef)
def define(m: Machine, node: ast.FunctionDef) -> None:
    value = function(m, node)
    for decorator in reversed(node.decorator_list):
        value = m.call(m.evaluate(decorator), Args([value]), node)
    assign_name(m, node.name, value, node)


@EXPRESSIONS.handles(ast.Lambda)
def function(m: Machine, node: ast.Lambda | ast.FunctionDef) -> Value:
    scopes = tuple(tuple(scope.items()) for scope in m.frame.scopes)
    item = Func((m.frame.key, id(node)), node, m.frame, scopes)
    a = node.args
    names = [x.arg for x in (*a.posonlyargs, *a.args)]
    for name, default in [
        *zip(names[len(names) - len(a.defaults) :], a.defaults, strict=True),
        *((x.arg, d) for x, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)),
    ]:
        if default is not None:
            m.put(item, f"default {name}", m.evaluate(default))
    _annotations(m, node)
    return just(item)


def _annotations(m: Machine, node: ast.Lambda | ast.FunctionDef) -> None:
    """Annotations are evaluated when a function is defined, before Python 3.14 and unless its module defers that."""
    if sys.version_info >= (3, 14) or m.frame.module.get("annotations") is __future__.annotations:
        return
    a = node.args
    parameters = [one for one in (*a.posonlyargs, *a.args, a.vararg, *a.kwonlyargs, a.kwarg) if one is not None]
    for annotation in (
        *(p.annotation for p in parameters),
        node.returns if isinstance(node, ast.FunctionDef) else None,
    ):
        if annotation is not None:
            m.evaluate(annotation)


@STATEMENTS.handles(ast.Import, ast.ImportFrom)
def import_modules(m: Machine, node: ast.Import | ast.ImportFrom) -> None:
    if isinstance(node, ast.ImportFrom) and (node.level or node.module is None):
        m.unknown("imports a module at run time", node)
        for alias in node.names:
            assign_name(m, alias.asname or alias.name, UNKNOWN, node)
        return
    for alias in node.names:
        _import(m, node, alias)


def _import(m: Machine, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> None:
    wanted = node.module if isinstance(node, ast.ImportFrom) else alias.name
    assert wanted is not None
    module = sys.modules.get(wanted)
    package = wanted.partition(".")[0]
    if module is None and package in sys.stdlib_module_names:
        module = importlib.import_module(wanted)
    if module is None:
        m.unknown(f"imports {wanted} at run time", node)
        assign_name(m, (alias.asname or alias.name).partition(".")[0], UNKNOWN, node)
    elif isinstance(node, ast.ImportFrom):
        value = of_module(m, vars(module), alias.name, f"{wanted}.{alias.name}", node)
        assign_name(m, alias.asname or alias.name, value, node)
    else:
        assign_name(m, alias.asname or package, just(Known(module if alias.asname else sys.modules[package])), node)

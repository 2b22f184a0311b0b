"""Statements, except loops, `try`, `with`, `match`, assignments and definitions."""

from __future__ import annotations

import ast

from thalweg.analysis.program.abstract_values import NOTHING, Known, just, literal
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.items.names import assign_name, read_name
from thalweg.analysis.program.machine import STATEMENTS, Machine
from thalweg.analysis.program.store import meet
from thalweg.analysis.program.truth import truth


@STATEMENTS.handles(ast.Pass, ast.Global, ast.Nonlocal)
def do_nothing(m: Machine, node: ast.stmt) -> None:
    return


@STATEMENTS.handles(ast.Expr)
def expression(m: Machine, node: ast.Expr) -> None:
    m.evaluate(node.value)


@STATEMENTS.handles(ast.Return)
def return_value(m: Machine, node: ast.Return) -> None:
    found = just(Known(None)) if node.value is None else m.evaluate(node.value)
    if not found:
        m.lose("returns a value that cannot be analyzed", node)
    if m.store is not None:
        m.frame.returns.append((found, m.store))
    m.store = None


@STATEMENTS.handles(ast.If)
def if_else(m: Machine, node: ast.If) -> None:
    """Two paths, unless the condition is a constant."""
    condition = literal(truth(m, m.evaluate(node.test), node.test))
    before = m.store
    if before is None:
        return
    if condition is not None:
        m.run(node.body if condition.value else node.orelse)
        return
    m.store = before.copy()
    m.run(node.body)
    after = m.store
    m.store = before
    m.run(node.orelse)
    m.store = meet((after, m.store))


@STATEMENTS.handles(ast.Assert)
def assertion(m: Machine, node: ast.Assert) -> None:
    truth(m, m.evaluate(node.test), node.test)
    before = m.store
    if node.msg is not None and before is not None:
        m.store = before.copy()
        m.evaluate(node.msg)
    m.store = before


@STATEMENTS.handles(ast.Raise)
def raise_exception(m: Machine, node: ast.Raise) -> None:
    for part in (node.exc, node.cause):
        found = NOTHING if part is None else m.evaluate(part)
        classes = [i for i in found if isinstance(i, Known) and isinstance(i.value, type)]
        if classes:
            m.call(frozenset(classes), Args(), node)
    m.raises()


# Not understood. The names are those of later Python versions.
_LATER = [getattr(ast, name) for name in ("TypeAlias",) if hasattr(ast, name)]


@STATEMENTS.handles(ast.ClassDef, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, *_LATER)
def not_understood(m: Machine, node: ast.stmt) -> None:
    """The code is not followed; it may use every name in it."""
    used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & m.frame.names.local
    given = [read_name(m, name, node) for name in used]
    made = m.unknown(f"uses `{ast.unparse(node).splitlines()[0][:40]}`", node, *given)
    if isinstance(node, ast.ClassDef | ast.AsyncFunctionDef):
        assign_name(m, node.name, made, node)

"""Functions of plain data, and what they return. They run no code of the user's unless their arguments have some."""

from __future__ import annotations

import ast

from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.contents import is_plain, is_plain_data, look_into
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.python_types import is_built_in
from thalweg.analysis.program.values import PLAIN, PLAINS, TREE, Known, Value, of


def call_plain(m: Machine, result: type, name: str, args: Args, node: ast.AST) -> Value:
    """A function of plain data with a result of this type."""
    classes = [i.value for v in args.named.values() for i in v if isinstance(i, Known) and isinstance(i.value, type)]
    if not all(map(is_built_in, classes)):  # `cls=…`: it makes objects of it
        return m.unknown(f"{name} runs code of a class", node, *args.all())
    if not (is_plain_data(m, *args.all()) if result is TREE else is_plain(m, *args.all())):
        return runs_code(m, name, args, node)
    look_into(m, args.all(), node)
    if result is TREE:
        return m.tree(node, name)
    return PLAINS if result is PLAIN else of(result)


def runs_code(m: Machine, name: str, args: Args, node: ast.AST) -> Value:
    return m.unknown(f"{name} runs code of its arguments that cannot be read", node, *args.all())

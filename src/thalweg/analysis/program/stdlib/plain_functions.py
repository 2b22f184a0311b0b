"""Functions of plain data, and their results. They run no user code unless their arguments contain some."""

from __future__ import annotations

import ast

from thalweg.analysis.program.abstract_values import PLAIN, PLAINS, TREE, Known, Value, of
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.contents import is_plain, is_plain_data, look_into
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.python_types import is_built_in


def call_plain(m: Machine, result: type, name: str, args: Args, node: ast.AST) -> Value:
    """Call a function of plain data with a result of this type."""
    classes = [i.value for v in args.named.values() for i in v if isinstance(i, Known) and isinstance(i.value, type)]
    if not all(map(is_built_in, classes)):  # `cls=…`: it creates objects of the class
        return m.unknown(f"{name} runs code of a class", node, *args.all())
    if not (is_plain_data(m, *args.all()) if result is TREE else is_plain(m, *args.all())):
        return runs_code(m, name, args, node)
    look_into(m, args.all(), node)
    if result is TREE:
        return m.tree(node, name)
    return PLAINS if result is PLAIN else of(result)


def runs_code(m: Machine, name: str, args: Args, node: ast.AST) -> Value:
    return m.unknown(f"{name} runs code of its arguments that cannot be analyzed", node, *args.all())

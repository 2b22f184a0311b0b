"""The table of Python's own functions and classes that are known: a handler for each."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.registry import Registry
from thalweg.analysis.program.values import Value

# Machine, the function that is called, its arguments, place.
FunctionHandler = Callable[[Machine, Any, Args, ast.AST], Value]
FUNCTIONS: Registry[Any, FunctionHandler] = Registry("functions", by=id)


def argument(node: ast.AST) -> str:
    """The first argument of a call, in the user's words."""
    return ast.unparse(node.args[0]) if isinstance(node, ast.Call) and node.args else "an argument"

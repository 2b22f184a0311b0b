"""The table of known functions and classes of Python, with a handler for each."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from thalweg.analysis.program.abstract_values import Value
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.registry import Registry

# Machine, called function, its arguments, location.
FunctionHandler = Callable[[Machine, Any, Args, ast.AST], Value]
FUNCTIONS: Registry[Any, FunctionHandler] = Registry("functions", by=id)


def argument(node: ast.AST) -> str:
    """The first argument of a call, as written in the user's code."""
    return ast.unparse(node.args[0]) if isinstance(node, ast.Call) and node.args else "an argument"

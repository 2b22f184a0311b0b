"""Calls of functions of Python: by their handlers, or by their module."""

from __future__ import annotations

import ast
from typing import Any

from thalweg.analysis.program.abstract_values import NOTHING, PLAIN, Value
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.known_functions import SHARED_RANDOM, THREADS, is_outside, module_of
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.python_types import HASHER
from thalweg.analysis.program.stdlib import builtin_functions, containers  # noqa: F401  they register handlers
from thalweg.analysis.program.stdlib.container_methods import draw
from thalweg.analysis.program.stdlib.function_table import FUNCTIONS
from thalweg.analysis.program.stdlib.iterators import iterate
from thalweg.analysis.program.stdlib.plain_functions import call_plain
from thalweg.ir.facts import IO, RANDOMNESS, UNKNOWN_CALL


def call_library(m: Machine, function: Any, args: Args, node: ast.AST) -> Value | None:
    """The result of a function of Python; None if the function is not known."""
    handler = FUNCTIONS.get(function)
    if handler is not None:
        return handler(m, function, args, node)
    module = module_of(function)
    if getattr(function, "__self__", None) is SHARED_RANDOM:
        name = f"random.{function.__name__}()"
        m.effect(RANDOMNESS, f"calls {name}", node)
        m.effect(UNKNOWN_CALL, f"{name} draws from the generator that all calls share", node)
        return draw(m, function.__name__, args, node)
    if function is open or is_outside(module):
        m.effect(IO, f"calls {_name(function)}", node)
        return m.unknown(f"{_name(function)} can see data that other calls left outside the program", node, *args.all())
    if module.partition(".")[0] in THREADS:
        return m.unknown(f"uses {_name(function)}, which is for concurrent code", node, *args.all())
    if module == "_hashlib":
        call_plain(m, PLAIN, _name(function), args, node)
        return m.made(HASHER, node, NOTHING)
    if module in ("itertools", "_functools"):
        return iterate(m, function, args, node)
    return None


def _name(function: Any) -> str:
    return f"{module_of(function)}.{getattr(function, '__qualname__', type(function).__name__)}"

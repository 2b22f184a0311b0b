"""The execution of code: handlers by the type of a syntax node."""

from __future__ import annotations

import ast

from thalweg.analysis.program.machine import EXPRESSIONS, PATTERNS, STATEMENTS, TARGETS
from thalweg.analysis.program.syntax import (  # noqa: F401  they register handlers
    assignments,
    basic_expressions,
    call_expressions,
    comprehensions,
    definitions,
    displays,
    loops,
    patterns,
    statements,
    try_and_with,
)

EXPRESSIONS.require(ast.expr.__subclasses__())
STATEMENTS.require(ast.stmt.__subclasses__())
PATTERNS.require(ast.pattern.__subclasses__())
TARGETS.require((ast.Name, ast.Attribute, ast.Subscript, ast.Starred, ast.Tuple, ast.List))

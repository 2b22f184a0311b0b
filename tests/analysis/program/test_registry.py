"""Every syntax node and every kind of item has exactly one handler; otherwise the import fails."""

from __future__ import annotations

import ast
from typing import Any, get_args

import pytest

from tests.analysis.program.machines import machine
from thalweg.analysis.program.abstract_values import Item
from thalweg.analysis.program.known_functions import EFFECTFUL, PURE
from thalweg.analysis.program.machine import (
    ATTRIBUTES,
    CALLS,
    EXPRESSIONS,
    ITERATION,
    PATTERNS,
    STATEMENTS,
    SUBSCRIPTS,
)
from thalweg.analysis.program.registry import Registry
from thalweg.analysis.program.stdlib.function_table import FUNCTIONS
from thalweg.analysis.program.syntax import basic_expressions, statements

NOT_UNDERSTOOD = {"Await", "AsyncFor", "AsyncWith", "AsyncFunctionDef", "ClassDef"}
NOT_UNDERSTOOD_LATER = {"TypeAlias", "TemplateStr", "Interpolation"}  # of later versions of Python


def nodes(base: type[ast.AST]) -> list[type[ast.AST]]:
    """The node classes of the `ast` module that the parser makes; old names are derived from `ast.Constant`."""
    found = [one for one in vars(ast).values() if isinstance(one, type) and issubclass(one, base) and one is not base]
    return [one for one in found if one is ast.Constant or not issubclass(one, ast.Constant)]


@pytest.mark.parametrize(
    ("registry", "base", "least"), [(EXPRESSIONS, ast.expr, 27), (STATEMENTS, ast.stmt, 27), (PATTERNS, ast.pattern, 8)]
)
def test_every_syntax_node_is_handled_or_not_understood(
    registry: Registry[type[ast.AST], Any], base: type[ast.AST], least: int
) -> None:
    found = nodes(base)
    assert len(found) >= least
    assert {one.__name__ for one in found if one not in registry} == set()
    refused = {basic_expressions.not_understood, statements.not_understood}
    unknown = {one.__name__ for one in found if registry[one] in refused}
    expected = {one.__name__ for one in found} & (NOT_UNDERSTOOD | NOT_UNDERSTOOD_LATER)
    assert unknown == expected


@pytest.mark.parametrize("registry", [CALLS, ATTRIBUTES, ITERATION, SUBSCRIPTS], ids=lambda one: one.name)
def test_every_kind_of_item_is_handled(registry: Registry[type[Item], Any]) -> None:
    assert set(registry.handlers) == set(get_args(Item))


def test_every_known_function_is_handled() -> None:
    assert [f for f in (*PURE, *EFFECTFUL) if f not in FUNCTIONS] == []


def test_a_second_handler_is_refused() -> None:
    registry: Registry[type, Any] = Registry("expressions")
    registry.handles(ast.Add, ast.Sub)(machine)
    with pytest.raises(TypeError, match=r"two handlers for Add in expressions"):
        registry.handles(ast.Add)(machine)


def test_a_missing_handler_is_named() -> None:
    registry: Registry[type, Any] = Registry("statements")
    registry.handles(ast.If)(machine)
    with pytest.raises(TypeError, match=r"no handler for For, While in statements"):
        registry.require([ast.If, ast.While, ast.For])


def test_keys_by_identity_are_not_compared() -> None:
    class Odd:
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise AssertionError("a user's code was run")

    registry: Registry[object, Any] = Registry("functions", by=id)
    one, other = Odd(), Odd()
    registry.handles(one)(machine)
    assert one in registry
    assert other not in registry

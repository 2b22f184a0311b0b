"""Declarations: facts that the author of a function or operator class states. They override the code analysis."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from thalweg.errors import GraphError, Where, described
from thalweg.ir.facts import Reason
from thalweg.ir.logic import Logic

T = TypeVar("T")
ALL = "all"
_ATTRIBUTE = "__thalweg_declared__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """The declared facts; None: not declared.

    It decorates functions, lambdas, methods and classes. An operator class may also have it as its `model`, or a method
    `model` that returns it, depending on the operator's settings.
    """

    where: Where
    state: tuple[str, ...] | str | None = None  # STATELESS, UNKNOWN, or key attributes
    selectivity: tuple[tuple[int, int | None], ...] | None = None  # one for all output ports, or one for each
    forwards: Mapping[str, str] | str | None = None  # output attribute -> input attribute, or ALL
    reads: frozenset[str] | None = None
    effects: tuple[str, ...] | None = None

    def __call__(self, target: T) -> T:
        if isinstance(target, type) and issubclass(target, Logic):
            target.model = self
            return target
        try:
            # Stored with the code: functools.wraps copies attributes to functions without a declaration.
            setattr(target, _ATTRIBUTE, (self, getattr(target, "__code__", None)))
        except (AttributeError, TypeError):
            raise GraphError(
                "tw.declare: this object cannot have a declaration",
                where=self.where,
                expected="a function, a lambda or a class",
                found=described(target),
                hint="tw.declare(…)(lambda t: function(t))",
            ) from None
        return target

    @property
    def reason(self) -> Reason:
        return Reason("declared", self.where)


def declared_of_function(function: Any) -> Declaration | None:
    """The declaration of a function, of a callable object, or of the function of a `partial`."""
    while isinstance(function, functools.partial) and not hasattr(function, _ATTRIBUTE):
        function = function.func
    declared, code = getattr(function, _ATTRIBUTE, (None, None))
    return declared if getattr(function, "__code__", None) is code else None

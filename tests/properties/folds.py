"""Aggregates of `Base` tuples, made from the registry of folds: a new fold is drawn without a change here.

Folds that take more than one argument are listed by hand in `derived.py`; the test that all folds are reached finds one
that is not.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from tests.properties.functions import Base
from thalweg import agg
from thalweg.errors import Where
from thalweg.ir.types import BOOL, FLOAT, INT, STR, AttributeType
from thalweg.lang.aggregates import FoldTable
from thalweg.library.fold_spec import Definition, FoldSpec
from thalweg.library.folds import FOLDS

Argument = str | Callable[[Any], Any]

# Attributes that can be folded without a failure (`i` may be huge), and others for folds of positive numbers.
ATTRIBUTES = ("n", "x", "y", "s", "k", "b")
POSITIVE: Mapping[AttributeType, Mapping[str, Argument]] = {
    INT: {"positive_n": lambda t: abs(t.n) + 1},
    FLOAT: {"positive_x": lambda t: abs(t.x) + 0.5, "positive_y": lambda t: abs(t.y) + 0.5},
}
_ORDINARY: Mapping[AttributeType, tuple[Any, ...]] = {
    INT: (0, 3, -2),
    FLOAT: (0.0, 1.5, -0.25, float("nan"), float("inf")),
    STR: ("", "a"),
    BOOL: (False, True),
}


def takes(spec: FoldSpec, kind: AttributeType) -> bool:
    return spec.takes is None or kind in spec.takes


def can_fail(spec: FoldSpec, kind: AttributeType) -> bool:
    """Whether the fold fails at some ordinary values of a type."""
    assert isinstance(spec.definition, Definition)
    for value in _ORDINARY[kind]:
        try:
            spec.definition.take(value)
        except ValueError:
            return True
    return False


def type_of(aggregate: agg.AggregateExpr) -> AttributeType:
    return FoldTable(Base.tuple_type, Where(__file__, 1)).resolve(aggregate).type


def _made(result: AttributeType, *, failing: bool, kernel: bool) -> dict[str, agg.AggregateExpr]:
    """By name: the aggregates with such a result."""
    found: dict[str, agg.AggregateExpr] = {}
    for spec in FOLDS.values():
        if list(inspect.signature(spec.constructor).parameters) != ["argument"] or (kernel and spec.kernel is None):
            continue
        for name in ATTRIBUTES:
            kind = Base.tuple_type.kind(name)
            if not takes(spec, kind):
                continue
            fails = can_fail(spec, kind)
            arguments: Mapping[str, Argument] = POSITIVE[kind] if fails and not failing else {name: name}
            if fails >= failing:
                found |= {f"{spec.name}_{label}": spec.constructor(a) for label, a in arguments.items()}
    return {name: made for name, made in found.items() if type_of(made) == result}


def aggregates(result: AttributeType, *, kernel: bool = False) -> dict[str, agg.AggregateExpr]:
    """The aggregates that do not fail, with a result of this type."""
    return _made(result, failing=False, kernel=kernel)


def failing_aggregates(result: AttributeType) -> dict[str, agg.AggregateExpr]:
    """Aggregates that fail at some tuples."""
    return _made(result, failing=True, kernel=False)

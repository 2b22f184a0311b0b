"""The number of distinct values."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from thalweg.errors import GraphError
from thalweg.ir.folds import Fold
from thalweg.ir.times import instant
from thalweg.ir.types import INT, AttributeType
from thalweg.library.fold_spec import Definition, FoldCall, FoldSpec, WholeWindow, argument_type
from thalweg.library.fold_terms import AggregateExpr, Argument, FoldTerm


def distinct(argument: Argument) -> AggregateExpr:
    """The number of distinct values."""
    return FoldTerm("distinct", argument)


def _result(call: FoldCall) -> AttributeType:
    if argument_type(call).composite:
        raise GraphError(f"agg.distinct does not accept {call.argument}", expected="a scalar type")
    return INT


def _distinct(values: Sequence[Any], fold: Fold) -> int:
    """By Python's equality; all NaNs are one value, and a datetime with a time zone is its instant. A set distinguishes
    NaNs by identity, which depends on the plan."""
    return len({"nan" if _is_nan(v) else instant(v) for v in values})


def _is_nan(value: Any) -> bool:
    return (type(value) is float and value != value) or (type(value) is Decimal and value.is_qnan())


def _by_definition(values: list[Any], fold: Fold) -> int:
    numbers = [v for v in values if str(v) not in ("nan", "NaN", "-NaN") or isinstance(v, str)]
    return len(set(map(instant, numbers))) + (len(numbers) < len(values))


FOLDS = [
    FoldSpec(
        "distinct",
        constructor=distinct,
        takes=None,
        result=_result,
        ordered=False,
        forwards=False,
        scalar=WholeWindow(_distinct),
        by_arrival=None,
        kernel=None,
        definition=Definition(_by_definition),
    )
]

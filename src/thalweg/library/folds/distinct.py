"""How many different values there are."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from thalweg.errors import GraphError
from thalweg.ir.folds import Fold
from thalweg.ir.types import INT, AttributeType
from thalweg.library.fold_spec import Call, Definition, FoldSpec, Whole, argument_type
from thalweg.library.fold_terms import Aggregate, Argument, Of


def distinct(argument: Argument) -> Aggregate:
    """How many different values."""
    return Of("distinct", argument)


def _result(call: Call) -> AttributeType:
    if argument_type(call).composite:
        raise GraphError(f"agg.distinct of {call.argument}", expected="a type without parts")
    return INT


def _distinct(values: Sequence[Any], fold: Fold) -> int:
    """Python's equality; all NaNs are one value. A set tells NaNs apart by identity, which depends on the plan."""
    return len({"nan" if _is_nan(v) else v for v in values})


def _is_nan(value: Any) -> bool:
    return (type(value) is float and value != value) or (type(value) is Decimal and value.is_qnan())


def _by_definition(values: list[Any], fold: Fold) -> int:
    numbers = [v for v in values if str(v) not in ("nan", "NaN", "-NaN") or isinstance(v, str)]
    return len(set(numbers)) + (len(numbers) < len(values))


FOLDS = [
    FoldSpec(
        "distinct",
        constructor=distinct,
        takes=None,
        result=_result,
        ordered=False,
        forwards=False,
        scalar=Whole(_distinct),
        kernel=None,
        definition=Definition(_by_definition),
    )
]

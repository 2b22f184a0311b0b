"""The sum: a left fold, bit for bit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from thalweg.ir.type_groups import SUMMED
from thalweg.ir.types import INT64_MAX, INT64_MIN
from thalweg.library.decimals import DECIMALS
from thalweg.library.fold_spec import (
    AccumulateKernel,
    Definition,
    FoldSpec,
    Monoid,
    argument_type,
    folded_value,
    same_value,
)
from thalweg.library.fold_terms import AggregateExpr, Argument, FoldTerm


def sum(argument: Argument) -> AggregateExpr:
    """The sum. A running or tumbling window adds from the oldest tuple to the newest, a sliding one in two blocks or by
    panes: docs/operators.md, "Order and rounding"."""
    return FoldTerm("sum", argument)


def _add(older: Any, newer: Any) -> Any:
    """Decimals have 38 digits; an int must fit into 64 bits."""
    if type(older) is Decimal:
        return DECIMALS.add(older, newer)
    total = older + newer
    if type(total) is int and not INT64_MIN <= total <= INT64_MAX:
        raise OverflowError(f"a sum of {total} does not fit into a 64-bit int")
    return total


def _stays_in_64_bits(values: Any, carried: Any) -> bool:
    """Whether no partial sum can exceed 64 bits."""
    if values.dtype != "int64" or not values.size:
        return True
    return _greatest(values) * int(values.size) + (_greatest(carried) if carried.size else 0) <= INT64_MAX


def _greatest(values: Any) -> int:
    return max(abs(int(values.min())), abs(int(values.max())))


def _plus(older: Any, newer: Any) -> Any:
    total = DECIMALS.add(older, newer) if isinstance(older, Decimal) else older + newer
    if isinstance(total, int) and total != (total + 2**63) % 2**64 - 2**63:
        raise OverflowError(f"a sum of {total} does not fit into a 64-bit int")
    return total


FOLDS = [
    FoldSpec(
        "sum",
        constructor=sum,
        takes=SUMMED,
        result=argument_type,
        ordered=False,
        forwards=False,
        scalar=Monoid(same_value, _add, same_value),
        by_arrival=None,
        kernel=AccumulateKernel("add", _stays_in_64_bits),
        definition=Definition(folded_value, step=_plus),
    )
]

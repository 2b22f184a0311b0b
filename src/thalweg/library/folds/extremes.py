"""The smallest and the largest value, as determined by Python's `min` and `max`: of equal values the oldest."""

from __future__ import annotations

import builtins
import operator
from typing import Any

from thalweg.ir.type_groups import COMPARED
from thalweg.library.arrival import best
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


def min(argument: Argument) -> AggregateExpr:
    """The smallest value, as determined by Python's `min`."""
    return FoldTerm("min", argument)


def max(argument: Argument) -> AggregateExpr:
    """The largest value, as determined by Python's `max`."""
    return FoldTerm("max", argument)


def _lesser(older: Any, newer: Any) -> Any:
    return newer if newer < older else older


def _greater(older: Any, newer: Any) -> Any:
    return newer if newer > older else older


def _compare_alike(*arrays: Any) -> bool:
    """Python keeps the older value if one is NaN or both are zeros of different signs; numpy does not."""
    import numpy as np

    return not any(
        values.dtype == np.float64 and (np.isnan(values).any() or (np.signbit(values) & (values == 0)).any())
        for values in arrays
    )


FOLDS = [
    FoldSpec(
        "min",
        constructor=min,
        takes=COMPARED,
        result=argument_type,
        ordered=False,
        forwards=False,
        scalar=Monoid(same_value, _lesser, same_value),
        by_arrival=best(operator.lt, compared=same_value),
        kernel=AccumulateKernel("minimum", _compare_alike),
        definition=Definition(folded_value, step=lambda older, newer: builtins.min(older, newer)),
    ),
    FoldSpec(
        "max",
        constructor=max,
        takes=COMPARED,
        result=argument_type,
        ordered=False,
        forwards=False,
        scalar=Monoid(same_value, _greater, same_value),
        by_arrival=best(operator.gt, compared=same_value),
        kernel=AccumulateKernel("maximum", _compare_alike),
        definition=Definition(folded_value, step=lambda older, newer: builtins.max(older, newer)),
    ),
]

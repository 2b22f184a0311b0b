"""The smallest and the largest value, as determined by Python's `min` and `max`: of equal values the oldest, and NaN
only if it is the oldest value."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from thalweg.ir.times import instant
from thalweg.ir.type_groups import COMPARED
from thalweg.library.arrival import best
from thalweg.library.best_value import best_value
from thalweg.library.fold_spec import AccumulateKernel, Definition, FoldSpec, argument_type, same_value
from thalweg.library.fold_terms import AggregateExpr, Argument, FoldTerm


def min(argument: Argument) -> AggregateExpr:
    """The smallest value, as determined by Python's `min`."""
    return FoldTerm("min", argument)


def max(argument: Argument) -> AggregateExpr:
    """The largest value, as determined by Python's `max`."""
    return FoldTerm("max", argument)


def _compare_alike(*arrays: Any) -> bool:
    """Python keeps the older value if one is NaN or both are zeros of different signs; numpy does not."""
    import numpy as np

    return not any(
        values.dtype == np.float64 and (np.isnan(values).any() or (np.signbit(values) & (values == 0)).any())
        for values in arrays
    )


def by_comparison(
    best: Callable[[list[Any]], Any],
    compared: Callable[[Any], Any] = same_value,
    picked: Callable[[Any], Any] = same_value,
) -> Definition:
    """The definition of a fold that finds the `best` value: for parts of a window, their oldest value and the best one
    of those that are not NaN."""

    def is_number(value: Any) -> bool:
        return not (isinstance(compared(value), float) and math.isnan(compared(value)))

    def step(older: dict[str, Any], newer: dict[str, Any]) -> dict[str, Any]:
        found = [part["best"] for part in (older, newer)]
        return older | {"best": best([value for value in found if is_number(value)] or found)}

    def take(value: Any) -> dict[str, Any]:
        best([value, value])  # fails for a value that cannot be compared, a NaN of Decimal
        return {"oldest": value, "best": value}

    return Definition(
        lambda folded, fold: picked(folded["best" if is_number(folded["oldest"]) else "oldest"]), take, step
    )


FOLDS = [
    FoldSpec(
        "min",
        constructor=min,
        takes=COMPARED,
        result=argument_type,
        ordered=False,
        forwards=False,
        scalar=best_value(operator.lt, compared=instant),
        by_arrival=best(operator.lt, compared=instant),
        kernel=AccumulateKernel("minimum", _compare_alike),
        definition=by_comparison(partial(builtins.min, key=instant)),
    ),
    FoldSpec(
        "max",
        constructor=max,
        takes=COMPARED,
        result=argument_type,
        ordered=False,
        forwards=False,
        scalar=best_value(operator.gt, compared=instant),
        by_arrival=best(operator.gt, compared=instant),
        kernel=AccumulateKernel("maximum", _compare_alike),
        definition=by_comparison(partial(builtins.max, key=instant)),
    ),
]

"""Quantiles, and the median."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from thalweg.ir.arguments import Rule
from thalweg.ir.folds import Fold
from thalweg.ir.type_groups import NUMBERS
from thalweg.ir.types import FLOAT
from thalweg.library.fold_spec import Composed, Definition, FoldSpec, WholeWindow
from thalweg.library.fold_terms import AggregateExpr, Argument, FoldTerm


def quantile(
    argument: Argument, share: Annotated[float, Rule("0 to 1", lambda share: 0 <= share <= 1)]
) -> AggregateExpr:
    """The value below which a share (0 to 1) of the values is, interpolated between the two nearest values."""
    return FoldTerm("quantile", argument, parameter=share)


def median(argument: Argument) -> AggregateExpr:
    """The quantile for a share of 0.5."""
    return quantile(argument, 0.5)


def _interpolated(values: Sequence[Any], fold: Fold) -> float:
    """Interpolate between the two nearest values, like numpy's default."""
    assert fold.parameter is not None
    ordered = sorted(values)
    place = fold.parameter * (len(ordered) - 1)
    below = math.floor(place)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return float(low + (high - low) * (place - below))


def _by_definition(values: list[Any], fold: Fold) -> float:
    assert fold.parameter is not None
    ordered = sorted(values)
    at = fold.parameter * (len(values) - 1)
    low, high = [*ordered, ordered[-1]][int(at) : int(at) + 2]
    return float(low + (high - low) * (at - int(at)))


FOLDS = [
    FoldSpec(
        "quantile",
        constructor=quantile,
        takes=NUMBERS,
        result=lambda call: FLOAT,
        ordered=False,
        forwards=False,
        scalar=WholeWindow(_interpolated),
        by_arrival=None,
        kernel=None,
        definition=Definition(_by_definition),
    ),
    Composed("median", median),
]

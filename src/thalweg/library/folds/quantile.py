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
    return FoldTerm("quantile", argument, parameter=0.5, word="median")


def _interpolated(values: Sequence[Any], fold: Fold) -> float:
    """Interpolate between the two nearest values, like numpy's default. NaN if a value is NaN, which has no place in an
    order; the zero of a result is 0.0, whichever of the two zeros came first."""
    assert fold.parameter is not None
    if any(value != value for value in values):
        return math.nan
    ordered = sorted(values)
    place = fold.parameter * (len(ordered) - 1)
    below = math.floor(place)
    part = place - below
    if not part:
        return float(ordered[below] + 0.0)
    low, high = ordered[below], ordered[below + 1]
    distance = high - low
    if math.isfinite(distance):
        return float(low + distance * part)
    return float(low * (1 - part) + high * part)  # one is infinite, or their distance is


def _by_definition(values: list[Any], fold: Fold) -> float:
    assert fold.parameter is not None
    if any(map(math.isnan, values)):
        return math.nan
    at = fold.parameter * (len(values) - 1)
    low, high = (sorted(values)[place] for place in (math.floor(at), math.ceil(at)))
    if low == high:
        return float(low) + 0.0
    if math.inf in (-low, high):
        return float(low) + float(high)
    of_high = at - math.floor(at)
    return float(low + (high - low) * of_high if high - low < math.inf else low * (1 - of_high) + high * of_high)


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

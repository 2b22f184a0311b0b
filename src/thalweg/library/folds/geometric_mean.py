"""The geometric mean of positive numbers, as Python's `statistics` defines it.

The logarithms are summed exactly and the sum is rounded once, so the grouping of the values does not matter.
"""

from __future__ import annotations

import math
from typing import Any

from thalweg.ir.folds import Fold
from thalweg.ir.type_groups import NUMBERS
from thalweg.ir.types import FLOAT
from thalweg.library.fold_spec import Definition, Element, FoldSpec, Monoid
from thalweg.library.fold_terms import AggregateExpr, Argument, FoldTerm


def geometric_mean(argument: Argument) -> AggregateExpr:
    """The n-th root of the product of n positive numbers; a tuple with any other number fails."""
    return FoldTerm("geometric_mean", argument)


def _start(value: float) -> Element:
    """Count; the sum of the finite logarithms, in units of 2**-places; places; the sum of the others (inf and nan)."""
    if value <= 0:
        raise ValueError(f"agg.geometric_mean takes positive numbers, found {value!r}")
    logarithm = math.log(value)
    if not math.isfinite(logarithm):
        return 1, 0, 0, logarithm
    units, per_one = logarithm.as_integer_ratio()
    return 1, units, per_one.bit_length() - 1, 0.0


def _combine(older: Element, newer: Element) -> Element:
    (n, total, places, others), (m, more, more_places, more_others) = older, newer
    finest = max(places, more_places)
    total = (total << finest - places) + (more << finest - more_places)
    return n + m, total, finest, others + more_others


def _mean(element: Element) -> float:
    n, total, places, others = element
    return math.exp(total / (1 << places) / n) if others == 0 else float(others)


def _logarithm(value: Any) -> float:
    if not (value > 0 or value != value):
        raise ValueError(f"agg.geometric_mean takes positive numbers, found {value!r}")
    return math.log(value)


def _by_definition(logarithms: list[float], fold: Fold) -> float:
    return math.exp(math.fsum(logarithms) / len(logarithms))


FOLDS = [
    FoldSpec(
        "geometric_mean",
        constructor=geometric_mean,
        takes=NUMBERS,
        result=lambda call: FLOAT,
        ordered=False,
        forwards=False,
        scalar=Monoid(_start, _combine, _mean),
        by_arrival=None,
        kernel=None,
        definition=Definition(_by_definition, take=_logarithm),
    )
]

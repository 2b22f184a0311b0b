"""The variance of a sample: exact integer sums and one rounding, so the grouping of the values does not matter."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from thalweg.ir.folds import Fold
from thalweg.ir.type_groups import NUMBERS
from thalweg.ir.types import FLOAT
from thalweg.library.fold_spec import Definition, Element, FoldSpec, Monoid
from thalweg.library.fold_terms import AggregateExpr, Argument, FoldTerm


def variance(argument: Argument) -> AggregateExpr:
    """The variance of a sample (n - 1), rounded once; 0.0 for one value."""
    return FoldTerm("variance", argument)


def _start(value: float) -> Element:
    """Count; the sum in units of 2**-places; the sum of squares in units of 2**(-2 * places); places.

    Places is None if a value is not finite.
    """
    if not math.isfinite(value):
        return 1, 0, 0, None
    units, per_one = value.as_integer_ratio()
    return 1, units, units * units, per_one.bit_length() - 1


def _combine(older: Element, newer: Element) -> Element:
    (n, total, squares, places), (m, other, more, others_places) = older, newer
    if places is None or others_places is None:
        return n + m, 0, 0, None
    if places < others_places:
        total, squares, places = _finer(total, squares, places, others_places)
    elif others_places < places:
        other, more, _ = _finer(other, more, others_places, places)
    return n + m, total + other, squares + more, places


def _finer(total: int, squares: int, places: int, wanted: int) -> tuple[int, int, int]:
    by = wanted - places
    return total << by, squares << 2 * by, wanted


def _variance(element: Element) -> float:
    n, total, squares, places = element
    if n == 1:
        return 0.0
    if places is None:
        return math.nan
    try:
        return float((n * squares - total * total) / (n * (n - 1) << 2 * places))
    except OverflowError:
        return math.inf


def _powers(value: float) -> dict[str, Any]:
    exact = Fraction(value) if math.isfinite(value) else None
    return {"n": 1, "sum": exact, "squares": exact and exact**2}


def _both(older: dict[str, Any], newer: dict[str, Any]) -> dict[str, Any]:
    if older["sum"] is None or newer["sum"] is None:
        return {"n": older["n"] + newer["n"], "sum": None}
    return {name: older[name] + newer[name] for name in older}


def _by_definition(folded: dict[str, Any], fold: Fold) -> float:
    n, total = folded["n"], folded["sum"]
    if n == 1:
        return 0.0
    if total is None:
        return math.nan
    mean_square, mean = folded["squares"] / n, total / n
    try:
        return float((mean_square - mean**2) * n / (n - 1))
    except OverflowError:
        return math.inf


FOLDS = [
    FoldSpec(
        "variance",
        constructor=variance,
        takes=NUMBERS,
        result=lambda call: FLOAT,
        ordered=False,
        forwards=False,
        scalar=Monoid(_start, _combine, _variance),
        kernel=None,
        definition=Definition(_by_definition, take=_powers, step=_both),
    )
]

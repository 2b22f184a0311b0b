"""Variance and standard deviation of a sample: exact integer sums and one rounding, whatever the grouping of values."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable
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


def std(argument: Argument) -> AggregateExpr:
    """The standard deviation of a sample (n - 1), rounded once; 0.0 for one value."""
    return FoldTerm("std", argument)


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
    return _rounded(element, lambda squares, count: squares / count)


def _std(element: Element) -> float:
    return _rounded(element, _root)


def _rounded(element: Element, quotient: Callable[[int, int], float]) -> float:
    """A function of the exact variance, which is a fraction."""
    n, total, squares, places = element
    if n == 1:
        return 0.0
    if places is None:
        return math.nan
    try:
        return quotient(n * squares - total * total, n * (n - 1) << 2 * places)
    except OverflowError:
        return math.inf


_ROOT_BITS = 2 * (sys.float_info.mant_dig + 2)  # of a fraction whose integer root has two bits more than a float


def _root(numerator: int, denominator: int) -> float:
    """The square root of a fraction, correctly rounded: an integer root with more bits than a float, of which the last
    one is set if it is not exact, so that the division rounds as if it knew all bits."""
    by = (_ROOT_BITS - numerator.bit_length() + denominator.bit_length()) // 2 + 1
    if by > 0:
        numerator <<= 2 * by
    else:
        denominator <<= -2 * by
    root = math.isqrt(numerator // denominator)
    root |= root * root * denominator != numerator
    return root / (1 << by) if by > 0 else float(root << -by)


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


def _std_by_definition(values: list[Any], fold: Fold) -> float:
    if len(values) == 1:
        return 0.0
    if not all(map(math.isfinite, values)):
        return math.nan
    try:
        return float(statistics.stdev(values))
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
        by_arrival=None,
        kernel=None,
        definition=Definition(_by_definition, take=_powers, step=_both),
    ),
    FoldSpec(
        "std",
        constructor=std,
        takes=NUMBERS,
        result=lambda call: FLOAT,
        ordered=False,
        forwards=False,
        scalar=Monoid(_start, _combine, _std),
        by_arrival=None,
        kernel=None,
        definition=Definition(_std_by_definition),
    ),
]

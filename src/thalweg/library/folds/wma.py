"""The weighted moving average."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from thalweg.ir.folds import Fold
from thalweg.ir.type_groups import NUMBERS
from thalweg.ir.types import FLOAT
from thalweg.library.fold_spec import Definition, Element, FoldSpec, Monoid, WholeWindow
from thalweg.library.fold_terms import AggregateExpr, Argument, FoldTerm


def wma(argument: Argument) -> AggregateExpr:
    """The weighted moving average: of n values, the first to arrive has the weight 1 and the last the weight n."""
    return FoldTerm("wma", argument)


def _start(value: float) -> Element:
    return 1, float(value), float(value)


def _combine(older: Element, newer: Element) -> Element:
    """Count, sum, and sum of the values weighted by their rank (1 for the oldest)."""
    (n, total, weighted), (m, other, more) = older, newer
    return n + m, total + other, weighted + (more + n * other)


def _mean(element: Element) -> float:
    n, _, weighted = element
    return float(weighted / (n * (n + 1) / 2))


def _of_all(values: Sequence[Any], fold: Fold) -> float:
    return _mean(reduce(_combine, map(_start, values)))


def _step(older: Any, newer: Any) -> Any:
    """The formula is the definition: the bits of the result depend on each of its roundings."""
    return {
        "n": older["n"] + newer["n"],
        "sum": older["sum"] + newer["sum"],
        # The rank of each newer value grows by the number of older ones.
        "weighted": older["weighted"] + (newer["weighted"] + older["n"] * newer["sum"]),
    }


def _weights(n: int) -> float:
    return n * (n + 1) / 2


FOLDS = [
    FoldSpec(
        "wma",
        constructor=wma,
        takes=NUMBERS,
        result=lambda call: FLOAT,
        ordered=True,
        forwards=False,
        scalar=Monoid(_start, _combine, _mean),
        by_arrival=WholeWindow(_of_all),
        kernel=None,
        definition=Definition(
            lambda folded, fold: folded["weighted"] / _weights(folded["n"]),
            take=lambda value: {"n": 1, "sum": float(value), "weighted": float(value)},
            step=_step,
        ),
    )
]

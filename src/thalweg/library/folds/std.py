"""The standard deviation of a sample."""

from __future__ import annotations

import math
from typing import Any

from thalweg.ir.type_groups import NUMBERS
from thalweg.ir.types import FLOAT
from thalweg.library.fold_spec import Definition, Element, FoldSpec, Monoid
from thalweg.library.fold_terms import AggregateExpr, Argument, FoldTerm


def std(argument: Argument) -> AggregateExpr:
    """The standard deviation of a sample (n - 1); 0.0 for one value."""
    return FoldTerm("std", argument)


def _moments(value: float) -> Element:
    return 1, float(value), 0.0


def _combine(older: Element, newer: Element) -> Element:
    """Count, mean and sum of squared distances of two sequences of values (Chan, Golub and LeVeque)."""
    (n, mean, squares), (m, other, more) = older, newer
    total, apart = n + m, other - mean
    return total, mean + apart * m / total, squares + more + apart * apart * n * m / total


def _deviation(element: Element) -> float:
    n, _, squares = element
    return math.sqrt(squares / (n - 1)) if n > 1 else 0.0


def _step(older: Any, newer: Any) -> Any:
    """The formula is the definition: the bits of the result depend on each of its roundings."""
    count = older["n"] + newer["n"]
    gap = newer["mean"] - older["mean"]
    return {
        "n": count,
        "mean": older["mean"] + gap * newer["n"] / count,
        "squares": older["squares"] + newer["squares"] + gap * gap * older["n"] * newer["n"] / count,
    }


FOLDS = [
    FoldSpec(
        "std",
        constructor=std,
        takes=NUMBERS,
        result=lambda call: FLOAT,
        ordered=False,
        forwards=False,
        scalar=Monoid(_moments, _combine, _deviation),
        kernel=None,
        definition=Definition(
            lambda folded, fold: 0.0 if folded["n"] == 1 else math.sqrt(folded["squares"] / (folded["n"] - 1)),
            take=lambda value: {"n": 1, "mean": float(value), "squares": 0.0},
            step=_step,
        ),
    )
]

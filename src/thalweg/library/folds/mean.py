"""The arithmetic mean."""

from __future__ import annotations

from thalweg.library.fold_spec import Composed
from thalweg.library.fold_terms import AggregateExpr, Argument, FoldTerm


def mean(argument: Argument) -> AggregateExpr:
    """The sum, as `agg.sum` adds it, divided by the count."""
    return FoldTerm("sum", argument, word="mean") / FoldTerm("count", None)


FOLDS = [Composed("mean", mean)]

"""The number of tuples in the window."""

from __future__ import annotations

import operator

from thalweg.ir.types import INT
from thalweg.library.fold_spec import CountKernel, Definition, FoldSpec, Monoid, same_value
from thalweg.library.fold_terms import AggregateExpr, FoldTerm


def count() -> AggregateExpr:
    """The number of tuples."""
    return FoldTerm("count", None)


def _one(value: object) -> int:
    return 1


FOLDS = [
    FoldSpec(
        "count",
        constructor=count,
        takes=None,
        result=lambda call: INT,
        ordered=False,
        forwards=False,
        scalar=Monoid(_one, operator.add, same_value),
        by_arrival=None,
        kernel=CountKernel(),
        definition=Definition(lambda values, fold: len(values)),
    )
]

"""The arithmetic mean."""

from __future__ import annotations

from thalweg.library.fold_spec import Composed
from thalweg.library.fold_terms import Aggregate, Argument, Of


def mean(argument: Argument) -> Aggregate:
    """The sum divided by the count."""
    return Of("sum", argument) / Of("count", None)


FOLDS = [Composed("mean", mean)]

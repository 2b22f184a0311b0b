"""All values of the window."""

from __future__ import annotations

from thalweg.ir.types import list_of
from thalweg.library.fold_spec import Definition, FoldSpec, WholeWindow, argument_type
from thalweg.library.fold_terms import AggregateExpr, Argument, FoldTerm


def collect(argument: Argument) -> AggregateExpr:
    """All values as a list, in order of arrival."""
    return FoldTerm("collect", argument)


FOLDS = [
    FoldSpec(
        "collect",
        constructor=collect,
        takes=None,
        result=lambda call: list_of(argument_type(call)),
        ordered=True,
        forwards=False,
        scalar=WholeWindow(lambda values, fold: list(values)),
        by_arrival=None,
        kernel=None,
        definition=Definition(lambda values, fold: [*values]),
    )
]

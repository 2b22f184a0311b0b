"""All values of the window."""

from __future__ import annotations

from thalweg.ir.types import list_of
from thalweg.library.fold_spec import Definition, FoldSpec, Whole, argument_type
from thalweg.library.fold_terms import Aggregate, Argument, Of


def collect(argument: Argument) -> Aggregate:
    """All values, oldest first, as a list."""
    return Of("collect", argument)


FOLDS = [
    FoldSpec(
        "collect",
        constructor=collect,
        takes=None,
        result=lambda call: list_of(argument_type(call)),
        ordered=True,
        forwards=False,
        scalar=Whole(lambda values, fold: list(values)),
        kernel=None,
        definition=Definition(lambda values, fold: [*values]),
    )
]

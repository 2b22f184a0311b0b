"""The oldest and the newest value."""

from __future__ import annotations

from typing import Any

from thalweg.library.arrival import NEWEST, OLDEST
from thalweg.library.fold_spec import (
    Definition,
    FoldSpec,
    Monoid,
    NewestKernel,
    OldestKernel,
    argument_type,
    same_value,
)
from thalweg.library.fold_terms import AggregateExpr, Argument, FoldTerm


def first(argument: Argument) -> AggregateExpr:
    """The value that arrived first."""
    return FoldTerm("first", argument)


def last(argument: Argument) -> AggregateExpr:
    """The value that arrived last."""
    return FoldTerm("last", argument)


def any(argument: Argument) -> AggregateExpr:
    """Some value of the window (always the one that arrived last), for attributes that are the same in all tuples."""
    return FoldTerm("any", argument)


def _older(older: Any, newer: Any) -> Any:
    return older


def _newer(older: Any, newer: Any) -> Any:
    return newer


FOLDS = [
    FoldSpec(
        "first",
        constructor=first,
        takes=None,
        result=argument_type,
        ordered=True,
        forwards=True,
        scalar=Monoid(same_value, _older, same_value),
        by_arrival=OLDEST,
        kernel=OldestKernel(),
        definition=Definition(lambda values, fold: values[0]),
    ),
    *(
        FoldSpec(
            constructor.__name__,
            constructor=constructor,
            takes=None,
            result=argument_type,
            ordered=True,
            forwards=True,
            scalar=Monoid(same_value, _newer, same_value),
            by_arrival=NEWEST,
            kernel=NewestKernel(),
            definition=Definition(lambda values, fold: values[-1]),
        )
        for constructor in (last, any)
    ),
]

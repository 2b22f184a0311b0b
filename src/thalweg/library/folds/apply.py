"""A user function of all values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from thalweg.ir.arguments import Rule
from thalweg.ir.folds import Fold
from thalweg.ir.types import AttributeType, conform
from thalweg.library.fold_spec import Definition, FoldCall, FoldSpec, WholeWindow
from thalweg.library.fold_terms import AggregateExpr, Argument, FoldTerm

ResultType = Annotated[Any, Rule("the type of the result", lambda given: given is not None)]


def apply(function: Callable[[list[Any]], Any], argument: Argument, type: ResultType) -> AggregateExpr:
    """A function of the list of all values of the window, in order of arrival; `type` is the type of its result."""
    return FoldTerm("apply", argument, function=function, type=type)


def _declared_type(call: FoldCall) -> AttributeType:
    assert call.declared is not None
    return call.declared


def _applied(values: Sequence[Any], fold: Fold) -> Any:
    assert fold.function is not None
    return conform(fold.function(list(values)), fold.type, fold.result_path)


def _by_definition(values: list[Any], fold: Fold) -> Any:
    assert fold.function is not None
    return conform(fold.function([*values]), fold.type, fold.result_path)


FOLDS = [
    FoldSpec(
        "apply",
        constructor=apply,
        takes=None,
        result=_declared_type,
        ordered=True,
        forwards=False,
        scalar=WholeWindow(_applied),
        by_arrival=None,
        kernel=None,
        definition=Definition(_by_definition),
    )
]

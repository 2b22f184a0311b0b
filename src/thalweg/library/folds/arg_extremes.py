"""A value of the tuple with the smallest or the largest argument; of equal ones the oldest. Values are pairs."""

from __future__ import annotations

import operator
from functools import partial
from operator import itemgetter
from typing import Any

from thalweg.ir.times import instant
from thalweg.ir.type_groups import COMPARED
from thalweg.ir.types import AttributeType
from thalweg.library.arrival import best
from thalweg.library.best_value import best_value
from thalweg.library.fold_spec import Element, FoldCall, FoldSpec
from thalweg.library.fold_terms import AggregateExpr, Argument, FoldTerm
from thalweg.library.folds.extremes import by_comparison


def argmin(argument: Argument, picked: Argument) -> AggregateExpr:
    """The value of `picked` in the tuple with the smallest argument; of several, the first to arrive."""
    return FoldTerm("argmin", argument, picked=picked)


def argmax(argument: Argument, picked: Argument) -> AggregateExpr:
    """The value of `picked` in the tuple with the largest argument; of several, the first to arrive."""
    return FoldTerm("argmax", argument, picked=picked)


def _picked_type(call: FoldCall) -> AttributeType:
    assert call.picked is not None
    return call.picked


def _compared(pair: Element) -> Any:
    return instant(pair[0])


def _picked(pair: Element) -> Any:
    return pair[1]


FOLDS = [
    FoldSpec(
        "argmin",
        constructor=argmin,
        takes=COMPARED,
        result=_picked_type,
        ordered=True,
        forwards=False,
        scalar=best_value(operator.lt, compared=_compared, finish=_picked),
        by_arrival=best(operator.lt, compared=_compared, finish=_picked),
        kernel=None,
        definition=by_comparison(
            partial(min, key=lambda pair: instant(pair[0])), compared=itemgetter(0), picked=itemgetter(1)
        ),
    ),
    FoldSpec(
        "argmax",
        constructor=argmax,
        takes=COMPARED,
        result=_picked_type,
        ordered=True,
        forwards=False,
        scalar=best_value(operator.gt, compared=_compared, finish=_picked),
        by_arrival=best(operator.gt, compared=_compared, finish=_picked),
        kernel=None,
        definition=by_comparison(
            partial(max, key=lambda pair: instant(pair[0])), compared=itemgetter(0), picked=itemgetter(1)
        ),
    ),
]

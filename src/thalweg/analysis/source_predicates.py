"""Which tuples of a source are used: the disjunction of its filters, for readers that can skip the other tuples."""

from __future__ import annotations

from functools import reduce

from thalweg.ir.expr import Apply, Expr, Record, apply, can_fall_back, can_raise
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Filter, StreamRef
from thalweg.ir.types import BOOL

MOST_FILTERS = 64  # a reader that tests more alternatives than these saves nothing


def wanted(graph: LogicalGraph, stream: StreamRef) -> Expr | None:
    """A predicate that holds for every tuple of the stream that can be observed downstream. None: all tuples can.

    A filter counts only if it can neither raise nor fall back to the row path: then a tuple that it drops need not be
    read at all. Tuples that a filter after a filter drops are read: the tuples between the two are counted.
    """
    found: list[Expr] = []
    for operator, _ in graph.consumers[stream]:
        if not isinstance(operator, Filter) or operator.dead_port is not None:
            return None
        test = operator.function.expr
        if test is None or isinstance(test, Record) or test.type is not BOOL or can_raise(test) or can_fall_back(test):
            return None
        found.append(test)
    return reduce(_either, found) if 0 < len(found) <= MOST_FILTERS else None


def _either(a: Expr, b: Expr) -> Expr:
    made = apply("or", a, b)
    assert isinstance(made, Apply)
    return made

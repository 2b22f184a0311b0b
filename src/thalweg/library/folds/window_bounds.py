"""The start and the end of a window in event time."""

from __future__ import annotations

from thalweg.errors import GraphError
from thalweg.ir.types import AttributeType
from thalweg.library.fold_spec import FoldCall, FoldSpec, WindowBound
from thalweg.library.fold_terms import AggregateExpr, FoldTerm


def window_start() -> AggregateExpr:
    """The event time at which the window starts."""
    return FoldTerm("window_start", None)


def window_end() -> AggregateExpr:
    """The event time at which the window ends (exclusive)."""
    return FoldTerm("window_end", None)


def _time_type(name: str, call: FoldCall) -> AttributeType:
    if call.time is None:
        raise GraphError(f"agg.{name} requires event time", expected="a window by time")
    return call.time


FOLDS = [
    FoldSpec(
        "window_start",
        constructor=window_start,
        takes=None,
        result=lambda call: _time_type("window_start", call),
        ordered=False,
        forwards=False,
        scalar=WindowBound(end=False),
        kernel=None,
        definition=WindowBound(end=False),
    ),
    FoldSpec(
        "window_end",
        constructor=window_end,
        takes=None,
        result=lambda call: _time_type("window_end", call),
        ordered=False,
        forwards=False,
        scalar=WindowBound(end=True),
        kernel=None,
        definition=WindowBound(end=True),
    ),
]

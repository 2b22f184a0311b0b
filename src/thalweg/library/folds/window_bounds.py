"""The start and the end of a window in event time."""

from __future__ import annotations

from typing import Any

from thalweg.errors import GraphError
from thalweg.ir.types import AttributeType
from thalweg.library.arrival import OLDEST
from thalweg.library.fold_spec import FoldCall, FoldSpec, WindowBound, same_value
from thalweg.library.fold_terms import AggregateExpr, FoldTerm


def window_start() -> AggregateExpr:
    """The event time at which the window starts, in the time zone of the window's oldest tuple."""
    return FoldTerm("window_start", None)


def window_end() -> AggregateExpr:
    """The event time at which the window ends (exclusive), in the time zone of the window's oldest tuple."""
    return FoldTerm("window_end", None)


def _time_type(name: str, call: FoldCall) -> AttributeType:
    if call.time is None:
        raise GraphError(f"agg.{name} requires event time", expected="a window by time")
    return call.time


def _older(older: Any, newer: Any) -> Any:
    return older


FOLDS = [
    FoldSpec(
        "window_start",
        constructor=window_start,
        takes=None,
        result=lambda call: _time_type("window_start", call),
        ordered=False,
        forwards=False,
        scalar=WindowBound(same_value, _older, same_value, end=False),
        by_arrival=WindowBound(OLDEST.start, OLDEST.combine, OLDEST.finish, end=False),
        kernel=None,
        definition=None,
    ),
    FoldSpec(
        "window_end",
        constructor=window_end,
        takes=None,
        result=lambda call: _time_type("window_end", call),
        ordered=False,
        forwards=False,
        scalar=WindowBound(same_value, _older, same_value, end=True),
        by_arrival=WindowBound(OLDEST.start, OLDEST.combine, OLDEST.finish, end=True),
        kernel=None,
        definition=None,
    ),
]

"""Where a window by time starts, and where it ends."""

from __future__ import annotations

from thalweg.errors import GraphError
from thalweg.ir.types import AttributeType
from thalweg.library.fold_spec import Call, FoldSpec, WindowBound
from thalweg.library.fold_terms import Aggregate, Of


def window_start() -> Aggregate:
    """The event time at which the window starts."""
    return Of("window_start", None)


def window_end() -> Aggregate:
    """The event time at which the window ends; it holds the tuples before."""
    return Of("window_end", None)


def _time_type(name: str, call: Call) -> AttributeType:
    if call.time is None:
        raise GraphError(f"agg.{name} outside of event time", expected="a window by time")
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

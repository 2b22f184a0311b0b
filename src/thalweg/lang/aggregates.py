"""From a window and aggregates to the operator that computes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from thalweg.ir import operators as ops
from thalweg.ir.expr import Record
from thalweg.ir.logic import Logic
from thalweg.lang.window import Window
from thalweg.library.apply import (
    ApplyConfig,
    EventTimeApply,
    PunctuatedApply,
    RunningApply,
    SlidingApply,
    TumblingApply,
)
from thalweg.library.window_aggregate import (
    EventTimeAggregate,
    PunctuatedAggregate,
    RunningAggregate,
    SlidingAggregate,
    TumblingAggregate,
    WindowAggregate,
    make_config,
)
from thalweg.library.windows import WindowSpec

KERNEL_FOLDS = frozenset(("count", "sum", "min", "max", "first", "last", "any"))


def has_kernel(window: Window, folds: tuple[ops.Fold, ...]) -> bool:
    """Whether an aggregate runs as a kernel; all others run tuple by tuple."""
    return not isinstance(window, WindowSpec) and all(fold.kind in KERNEL_FOLDS for fold in folds)


def as_spec(window: Window) -> WindowSpec:
    match window:
        case ops.Running(by=by):
            return WindowSpec(by)
        case ops.Sliding(count=count, slide=slide, by=by):
            return WindowSpec(by, slides=True, count=count, slide=slide)
        case ops.Tumbling(count=count, by=by):
            return WindowSpec(by, count=count)
    return window


def _choice(spec: WindowSpec, classes: tuple[type[Any], ...]) -> Any:
    running, tumbling, sliding, punctuated, timed = classes
    if spec.timed:
        return timed()
    if spec.punctuations is not None:
        return punctuated()
    if spec.count is None and spec.delta is None:
        return running()
    return sliding() if spec.slides else tumbling()


def aggregate_logic(window: Window, folds: tuple[ops.Fold, ...], fields: Record) -> Logic:
    spec = as_spec(window)
    classes = (RunningAggregate, TumblingAggregate, SlidingAggregate, PunctuatedAggregate, EventTimeAggregate)
    logic: WindowAggregate = _choice(spec, classes)
    logic.config = make_config(spec, folds, fields, late=spec.timed)
    return logic


def apply_logic(window: Window, function: Any) -> Logic:
    spec = as_spec(window)
    classes = (RunningApply, TumblingApply, SlidingApply, PunctuatedApply, EventTimeApply)
    logic: Logic = _choice(spec, classes)
    logic.config = ApplyConfig(spec, function, late=spec.timed)
    return logic


def on_time(spec: WindowSpec, attribute: str) -> WindowSpec:
    """A window in event time, with the attribute that holds it."""
    return spec if spec.on else replace(spec, on=attribute)

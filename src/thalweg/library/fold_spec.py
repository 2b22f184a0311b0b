"""The definition of a fold: everything that the compiler, the engines and the reference know about it, in one value.

A module of `thalweg.library.folds` lists its definitions under `FOLDS`. The constructor `agg.x`, the typing rules, the
scalar fold, the kernel, the facts of the analysis, the reference and the random tests are all derived from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from thalweg.errors import InternalError
from thalweg.ir.folds import Fold
from thalweg.ir.types import FLOAT, INT, AttributeType
from thalweg.library.fold_terms import AggregateExpr

Element = Any
_MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class FoldCall:
    """A call of a fold: the types of its arguments, and its other parameters."""

    argument: AttributeType | None
    picked: AttributeType | None
    declared: AttributeType | None  # the result type that the user declared
    time: AttributeType | None  # the type of the event time, for a window in event time
    parameter: float | None


# The forms in which the engines fold value by value.


@dataclass(frozen=True, slots=True)
class Monoid:
    """Elements that are combined from left to right, also across panes and blocks of a window.

    `start` makes an element from one value, `combine` makes one from an older and a newer element, `finish` returns the
    fold's value. An exception from `start` or `combine` fails the tuple, which is then not part of the window; an
    exception from `finish` fails only the result.
    """

    start: Callable[[Any], Element]
    combine: Callable[[Element, Element], Element]
    finish: Callable[[Element], Any]


@dataclass(frozen=True, slots=True)
class WholeWindow:
    """A function of all values of the window, which are kept in the state."""

    value: Callable[[Sequence[Any], Fold], Any]


@dataclass(frozen=True, slots=True)
class WindowBound(Monoid):
    """The start or the end of a window in event time: the value is the time zone of its oldest tuple."""

    end: bool


# How a complete frame is folded, for windows that have kernels (`runtime.aggregate`).


@dataclass(frozen=True, slots=True)
class CountKernel:
    """The number of tuples; needs no values."""


@dataclass(frozen=True, slots=True)
class NewestKernel:
    """The newest value."""


@dataclass(frozen=True, slots=True)
class OldestKernel:
    """The oldest value."""


@dataclass(frozen=True, slots=True)
class AccumulateKernel:
    """A left fold by a numpy ufunc. `exact` returns whether it gives the same result as Python for these values and
    those carried over from earlier frames; otherwise the frame is folded value by value."""

    ufunc: str
    exact: Callable[[Any, Any], bool]  # of two arrays


Kernel = CountKernel | NewestKernel | OldestKernel | AccumulateKernel


def has_columns(spec: FoldSpec, fold: Fold) -> bool:
    """Whether its elements are kept in columns where panes are folded frame by frame (`runtime/pane_folds.py`)."""
    if isinstance(spec.kernel, AccumulateKernel):
        return fold.type in (INT, FLOAT)
    return spec.kernel is not None or isinstance(spec.scalar, WindowBound)


@dataclass(frozen=True, slots=True)
class Definition:
    """The fold's value in the reference, which shares no code with the engines.

    `take` is applied to each value as it arrives; an exception fails the tuple. Without `step`, `value` is a function
    of the list of results of `take`, oldest first. With `step`, which combines an older and a newer result, `value`
    gets the folded result of the window; `verify/reference_windows.py` defines the grouping.
    """

    value: Callable[[Any, Fold], Any]
    take: Callable[[Any], Any] = lambda value: value
    step: Callable[[Any, Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class FoldSpec:
    """One fold. `name` is the name of the constructor, and identifies the fold in stored state."""

    name: str
    constructor: Callable[..., AggregateExpr] = _MISSING  # agg.<name>, with its docstring
    takes: tuple[AttributeType, ...] | None = _MISSING  # the types of its argument; None: all types
    result: Callable[[FoldCall], AttributeType] = _MISSING  # the result type; raises GraphError for a bad call
    ordered: bool = _MISSING  # whether its value depends on the order of the values (by more than rounding)
    forwards: bool = _MISSING  # whether the fold of a key attribute counts as a copy of the key
    scalar: Monoid | WholeWindow = _MISSING
    # In windows that share panes, a fold whose value depends on the order of arrival: `library/arrival.py`. None: a
    # monoid is folded pane by pane, in order of time; a function of all values gets them in order of arrival.
    by_arrival: Monoid | WholeWindow | None = _MISSING
    kernel: Kernel | None = _MISSING
    definition: Definition | None = _MISSING  # None: the bounds of a window

    def __post_init__(self) -> None:
        missing = [f.name for f in fields(self) if getattr(self, f.name) is _MISSING]
        if missing:
            raise InternalError(f"the fold {self.name} does not define {', '.join(missing)}")
        _check_constructor(self.name, self.constructor)


@dataclass(frozen=True, slots=True)
class Composed:
    """An aggregate whose constructor builds it from other aggregates."""

    name: str
    constructor: Callable[..., AggregateExpr]

    def __post_init__(self) -> None:
        _check_constructor(self.name, self.constructor)


def _check_constructor(name: str, constructor: Callable[..., AggregateExpr]) -> None:
    if constructor.__name__ != name or not constructor.__doc__:
        raise InternalError(f"the fold {name}: its constructor must be named {name} and have a docstring")


def same_value(value: Any) -> Any:
    return value


def folded_value(folded: Any, fold: Fold) -> Any:
    return folded


def argument_type(call: FoldCall) -> AttributeType:
    """For folds whose value has the type of their argument."""
    assert call.argument is not None
    return call.argument

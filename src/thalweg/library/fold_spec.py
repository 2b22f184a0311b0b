"""The definition of a fold: everything that the compiler, the engines and the reference know of it, in one value.

A module of `thalweg.library.folds` lists its definitions under `FOLDS`. The constructor `agg.x`, the rules of types,
the scalar fold, the kernel, the facts of the analysis, the reference and the random tests are all made from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from thalweg.errors import InternalError
from thalweg.ir.folds import Fold
from thalweg.ir.types import AttributeType
from thalweg.library.fold_terms import Aggregate

Element = Any
_MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class Call:
    """A fold as it was called: the types of its arguments, and what else the user gave."""

    argument: AttributeType | None
    picked: AttributeType | None
    declared: AttributeType | None  # the type that the user says the result has
    time: AttributeType | None  # the type of the event time, for a window by time
    parameter: float | None


# How the engines fold value by value: in one of these three forms.


@dataclass(frozen=True, slots=True)
class Monoid:
    """Elements that are combined from left to right, across panes and blocks of a window as well.

    `start` makes an element of one value, `combine` one of an older and a newer, `finish` the fold's value. What
    `start` and `combine` raise fails the tuple, which the window then does not hold; what `finish` raises fails the
    result alone.
    """

    start: Callable[[Any], Element]
    combine: Callable[[Element, Element], Element]
    finish: Callable[[Element], Any]


@dataclass(frozen=True, slots=True)
class Whole:
    """A function of all values of the window, which are kept."""

    value: Callable[[Sequence[Any], Fold], Any]


@dataclass(frozen=True, slots=True)
class WindowBound:
    """The start or the end of a window by time."""

    end: bool


# How a frame is folded at once, for windows that have kernels (`runtime.aggregate`).


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
    """A left fold by a ufunc of numpy. `exact` tells whether it gives Python's answer for these values and those that
    are carried on from earlier frames; where it does not, the frame is folded value by value."""

    ufunc: str
    exact: Callable[[Any, Any], bool]  # of two arrays


Kernel = CountKernel | NewestKernel | OldestKernel | AccumulateKernel


@dataclass(frozen=True, slots=True)
class Definition:
    """The fold's value in the reference, which shares no code with the engines.

    `take` is applied to each value as it arrives; what it raises fails the tuple. Without `step`, `value` is a function
    of the list of what was taken, oldest first. With `step`, which combines an older and a newer, `value` gets what the
    window was folded into; `verify/reference_windows.py` defines in which grouping.
    """

    value: Callable[[Any, Fold], Any]
    take: Callable[[Any], Any] = lambda value: value
    step: Callable[[Any, Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class FoldSpec:
    """One fold. `name` is the constructor's; the state that is stored under it is known by it."""

    name: str
    constructor: Callable[..., Aggregate] = _MISSING  # agg.<name>, with its docstring
    takes: tuple[AttributeType, ...] | None = _MISSING  # the types of its argument; None: all types
    result: Callable[[Call], AttributeType] = _MISSING  # the type of its value; raises GraphError for a bad call
    ordered: bool = _MISSING  # whether its value depends on the order of the values (by more than rounding)
    forwards: bool = _MISSING  # whether its value of a key attribute counts as a copy of the key
    scalar: Monoid | Whole | WindowBound = _MISSING
    kernel: Kernel | None = _MISSING
    definition: Definition | WindowBound = _MISSING

    def __post_init__(self) -> None:
        missing = [f.name for f in fields(self) if getattr(self, f.name) is _MISSING]
        if missing:
            raise InternalError(f"the fold {self.name} does not define {', '.join(missing)}")
        _check_constructor(self.name, self.constructor)


@dataclass(frozen=True, slots=True)
class Composed:
    """An aggregate that its constructor writes with other aggregates."""

    name: str
    constructor: Callable[..., Aggregate]

    def __post_init__(self) -> None:
        _check_constructor(self.name, self.constructor)


def _check_constructor(name: str, constructor: Callable[..., Aggregate]) -> None:
    if constructor.__name__ != name or not constructor.__doc__:
        raise InternalError(f"the fold {name}: its constructor is called {name} and has a docstring")


def same_value(value: Any) -> Any:
    return value


def folded_value(folded: Any, fold: Fold) -> Any:
    return folded


def argument_type(call: Call) -> AttributeType:
    """For folds whose value has the type of their argument."""
    assert call.argument is not None
    return call.argument

"""Windows: the tuples that an aggregate, join or other operator processes together. `library.windows` has the kinds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar

from thalweg.errors import GraphError, described, shown
from thalweg.ir.arguments import CHECKED_INSIDE, Count, CountOrZero, checked
from thalweg.ir.user_calls import call_place, user_frame
from thalweg.ir.windows import Window
from thalweg.library.window_arguments import Duration
from thalweg.library.windows.by_event_time import SlidingTime, TumblingTime
from thalweg.library.windows.by_punctuation import SlidingPunctuation, TumblingPunctuation
from thalweg.library.windows.of_joins import Last, Within
from thalweg.library.windows.running import Running
from thalweg.library.windows.sliding import Sliding, SlidingDelta
from thalweg.library.windows.tumbling import Tumbling, TumblingDelta

Names = Annotated[str | Iterable[str] | None, CHECKED_INSIDE]
Distance = int | float | Decimal | dt.timedelta
P = ParamSpec("P")
W = TypeVar("W")


def names(by: Names) -> tuple[str, ...]:
    """Attribute names, given as one name, several, or none."""
    if by is None:
        return ()
    if isinstance(by, str):
        return (by,)
    found = tuple(by) if isinstance(by, Iterable) and not isinstance(by, bytes) else (by,)
    if isinstance(by, set | frozenset | Mapping):
        raise GraphError(
            "attributes must be given in an order",
            where=call_place(user_frame()),
            expected="one name, or a list of names",
            found=described(by),
        )
    for name in found:
        if not isinstance(name, str):
            raise GraphError(
                "attributes must be given by name",
                where=call_place(user_frame()),
                expected="one name, or several",
                found=described(name),
                hint="compute the value in a .map() first" if callable(name) else None,
            )
    _check_distinct(found)
    return found


def _check_distinct(attributes: tuple[str, ...]) -> None:
    """Refuse an attribute that is given twice: the second one has no effect, or contradicts the first."""
    for number, name in enumerate(attributes):
        if name in attributes[:number]:
            raise GraphError(
                f"the attribute {name} is given twice",
                where=call_place(user_frame()),
                expected="different attributes",
                found=", ".join(attributes),
            )


def _placed(constructor: Callable[P, W]) -> Callable[P, W]:
    """Check the arguments of a constructor, and add the user's line to its errors."""
    called = checked(constructor, f"{constructor.__name__} window")

    @wraps(constructor)
    def made(*args: P.args, **kwargs: P.kwargs) -> W:
        try:
            return called(*args, **kwargs)
        except GraphError as error:
            error.where = error.where or call_place(user_frame())
            raise

    return made


@_placed
def running(*, by: Names = None) -> Running:
    """All tuples so far, per key."""
    return Running(names(by))


@_placed
def tumbling(
    *,
    count: Count | None = None,
    time: Duration | None = None,
    delta: Distance | None = None,
    on: str = "",
    punctuation: bool = False,
    by: Names = None,
) -> Window:
    """Consecutive windows, per key: of `count` tuples; of `time` in event time; of tuples whose attribute
    `on` is at most `delta` above the first one's; or from one punctuation to the next."""
    _exactly_one("tumbling", count=count, time=time, delta=delta, punctuation=punctuation or None)
    _only_with("tumbling", "on", on or None, time=time, delta=delta)
    if count is not None:
        return Tumbling(names(by), count)
    if time is not None:
        return TumblingTime.checked(names(by), time, on)
    if delta is not None:
        return TumblingDelta.checked(names(by), delta, on)
    return TumblingPunctuation(names(by))


@_placed
def sliding(
    *,
    count: Count | None = None,
    time: Duration | None = None,
    delta: Distance | None = None,
    on: str = "",
    punctuations: Count | None = None,
    slide: Any = None,
    by: Names = None,
) -> Window:
    """Overlapping windows, per key: the last `count` tuples, or those from the oldest whose attribute `on` is at most
    `delta` below the newest one's, evaluated at every `slide`-th tuple; the last `time` in event time, evaluated every
    `slide`; the last `punctuations` intervals between punctuations, evaluated at each punctuation."""
    _exactly_one("sliding", count=count, time=time, delta=delta, punctuations=punctuations)
    _only_with("sliding", "on", on or None, time=time, delta=delta)
    _only_with("sliding", "slide", slide, count=count, time=time, delta=delta)
    if count is not None:
        return Sliding.checked(names(by), count, slide)
    if time is not None:
        return SlidingTime.checked(names(by), time, slide, on)
    if delta is not None:
        return SlidingDelta.checked(names(by), delta, on, slide)
    assert punctuations is not None
    return SlidingPunctuation(names(by), punctuations)


@_placed
def last(count: CountOrZero | None = 1, *, by: Names = None) -> Last:
    """For joins: the last `count` tuples of the key; 0: that side is not stored; None: all of them."""
    return Last(count, names(by))


@_placed
def within(time: Duration) -> Within:
    """For joins: the tuples whose event times are at most this far apart."""
    return Within.checked(time)


def _exactly_one(kind: str, **given: object) -> None:
    found = [name for name, value in given.items() if value is not None]
    if len(found) != 1:
        raise GraphError(
            f"a {kind} window must be of one kind",
            expected=f"exactly one of {', '.join(f'{name}=' for name in given)}",
            found=", ".join(f"{name}=" for name in found) or "none of them",
        )


def _only_with(kind: str, option: str, value: object, **needed: object) -> None:
    if value is not None and all(given is None for given in needed.values()):
        raise GraphError(
            f"{kind} window: {option} has no meaning here",
            expected=f"{option}= only with {', '.join(f'{name}=' for name in needed)}",
            found=f"{option}={shown(value)}",
        )

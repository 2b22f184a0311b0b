"""Windows: the tuples that an aggregate, join or other operator processes together. `library.windows` has the kinds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from thalweg.errors import GraphError, described
from thalweg.ir.user_calls import call_place, user_frame
from thalweg.ir.windows import Window
from thalweg.library.window_arguments import Duration
from thalweg.library.windows.by_event_time import SlidingTime, TumblingTime
from thalweg.library.windows.by_punctuation import SlidingPunctuation, TumblingPunctuation
from thalweg.library.windows.of_joins import Last, Within
from thalweg.library.windows.running import Running
from thalweg.library.windows.sliding import Sliding, SlidingDelta
from thalweg.library.windows.tumbling import Tumbling, TumblingDelta

Names = str | Iterable[str] | None
Distance = int | float | Decimal | dt.timedelta
P = ParamSpec("P")
W = TypeVar("W")


def names(by: Names) -> tuple[str, ...]:
    """Attribute names, given as one name, several, or none."""
    if by is None:
        return ()
    if isinstance(by, str):
        return (by,)
    found = tuple(by) if isinstance(by, Iterable) else (by,)
    for name in found:
        if not isinstance(name, str):
            raise GraphError(
                "attributes must be given by name",
                where=call_place(user_frame()),
                expected="one name, or several",
                found=described(name),
                hint="compute the value in a .map() first" if callable(name) else None,
            )
    return found


def _placed(constructor: Callable[P, W]) -> Callable[P, W]:
    """Add the user's line to errors of a constructor."""

    @wraps(constructor)
    def made(*args: P.args, **kwargs: P.kwargs) -> W:
        try:
            return constructor(*args, **kwargs)
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
    count: int | None = None,
    time: Duration | None = None,
    delta: Any = None,
    on: str = "",
    punctuation: bool = False,
    by: Names = None,
) -> Window:
    """Consecutive windows, per key: of `count` tuples; of `time` in event time; of tuples whose attribute
    `on` is at most `delta` above the first one's; or from one punctuation to the next."""
    _exactly_one("tumbling", count=count, time=time, delta=delta, punctuation=punctuation or None)
    if count is not None:
        return Tumbling.checked(names(by), count)
    if time is not None:
        return TumblingTime.checked(names(by), time, on)
    if delta is not None:
        return TumblingDelta.checked(names(by), delta, on)
    return TumblingPunctuation(names(by))


@_placed
def sliding(
    *,
    count: int | None = None,
    time: Duration | None = None,
    delta: Any = None,
    on: str = "",
    punctuations: int | None = None,
    slide: Any = None,
    by: Names = None,
) -> Window:
    """Overlapping windows, per key: the last `count` tuples, or those whose attribute `on` is at most `delta` below
    the newest one's, evaluated at every `slide`-th tuple; the last `time` in event time, evaluated every `slide`; the
    last `punctuations` intervals between punctuations, evaluated at each punctuation."""
    _exactly_one("sliding", count=count, time=time, delta=delta, punctuations=punctuations)
    if count is not None:
        return Sliding.checked(names(by), count, slide)
    if time is not None:
        return SlidingTime.checked(names(by), time, slide, on)
    if delta is not None:
        return SlidingDelta.checked(names(by), delta, on, slide)
    return SlidingPunctuation.checked(names(by), punctuations)


@_placed
def last(count: int | None = 1, *, by: Names = None) -> Last:
    """For joins: the last `count` tuples of the key; 0: that side is not stored; None: all of them."""
    return Last.checked(count, names(by))


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

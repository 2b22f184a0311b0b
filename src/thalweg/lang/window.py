"""Windows: which tuples an aggregate, a join or another operator sees together."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from thalweg.errors import GraphError, described
from thalweg.ir.operators import Running, Sliding, Tumbling
from thalweg.ir.times import duration
from thalweg.ir.user_calls import call_place, user_frame
from thalweg.library.windows import WindowSpec

Window = Running | Sliding | Tumbling | WindowSpec
Names = str | Iterable[str] | None
Duration = int | dt.timedelta
Distance = int | float | Decimal | dt.timedelta


@dataclass(frozen=True, slots=True)
class Last:
    """The last tuples of each key of a side of a join; `count` None: all of them."""

    count: int | None
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Within:
    """The tuples whose event time is no further away than this."""

    size: int
    clock: bool = False  # given as a timedelta


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
                "attributes are given by their names",
                where=call_place(user_frame()),
                expected="a name, or several",
                found=described(name),
                hint="a value that must be computed: in a .map() before" if callable(name) else None,
            )
    return found


def running(*, by: Names = None) -> Running:
    """All tuples so far, per key."""
    return Running(names(by))


def tumbling(
    *,
    count: int | None = None,
    time: Duration | None = None,
    delta: Any = None,
    on: str = "",
    punctuation: bool = False,
    by: Names = None,
) -> Tumbling | WindowSpec:
    """Windows that follow each other, per key: of `count` tuples; of `time` in event time; of tuples whose attribute
    `on` is at most `delta` above the first one's; or from one punctuation to the next."""
    _exactly_one("tumbling", count=count, time=time, delta=delta, punctuation=punctuation or None)
    if count is not None:
        return Tumbling(_whole("tumbling", "count", count), names(by))
    if time is not None:
        size = _stretch("tumbling", "time", time)
        return WindowSpec(names(by), size=size, step=size, on=on, clock=isinstance(time, dt.timedelta))
    if delta is not None:
        return WindowSpec(names(by), delta=_delta("tumbling", delta, on), on=on)
    return WindowSpec(names(by), punctuations=1)


def sliding(
    *,
    count: int | None = None,
    time: Duration | None = None,
    delta: Any = None,
    on: str = "",
    punctuations: int | None = None,
    slide: Any = None,
    by: Names = None,
) -> Sliding | WindowSpec:
    """Windows that overlap, per key: the last `count` tuples, or those whose attribute `on` is at most `delta` below
    the newest one's, seen at every `slide`-th tuple; the last `time` in event time, seen every `slide`; the last
    `punctuations` stretches between punctuations, seen at each one."""
    _exactly_one("sliding", count=count, time=time, delta=delta, punctuations=punctuations)
    if time is not None:
        size = _stretch("sliding", "time", time)
        slide = time if slide is None else slide
        step, clock = _stretch("sliding", "slide", slide), isinstance(time, dt.timedelta)
        if step > size or isinstance(slide, dt.timedelta) != clock:
            raise _bad("sliding", "slide", f"at most the window's size, {time!r}, and in its unit", repr(slide))
        return WindowSpec(names(by), slides=True, size=size, step=step, on=on, clock=clock)
    if punctuations is not None:
        return WindowSpec(names(by), slides=True, punctuations=_whole("sliding", "punctuations", punctuations))
    every = 1 if slide is None else _whole("sliding", "slide", slide)
    if count is not None:
        return Sliding(_whole("sliding", "count", count), every, names(by))
    return WindowSpec(names(by), slides=True, delta=_delta("sliding", delta, on), on=on, slide=every)


def last(count: int | None = 1, *, by: Names = None) -> Last:
    """For joins: the last `count` tuples of the key; 0: that side is not stored; None: all of them."""
    if count is not None and (type(count) is not int or count < 0):
        raise _bad("join", "count", "a whole number, 0 or more, or None for all", repr(count))
    return Last(count, names(by))


def within(time: Duration) -> Within:
    """For joins: the tuples whose event times are at most this far apart."""
    return Within(_stretch("join", "time", time), isinstance(time, dt.timedelta))


def _bad(kind: str, label: str, expected: str, found: str) -> GraphError:
    return GraphError(f"{kind} window: bad {label}", where=call_place(user_frame()), expected=expected, found=found)


def _whole(kind: str, label: str, value: object) -> int:
    if type(value) is not int or value < 1:
        raise _bad(kind, label, "a whole number, 1 or more", repr(value))
    return value


def _stretch(kind: str, label: str, value: Any) -> int:
    if isinstance(value, dt.timedelta) or type(value) is int:
        size = duration(value)
        if 0 < size < 2**61:
            return size
    raise _bad(kind, label, "a timedelta, or a positive int in the unit of an int attribute", repr(value))


def _delta(kind: str, delta: Any, on: str) -> Any:
    if not on:
        raise _bad(kind, "delta", 'on="attribute", which the delta is measured in', "no attribute")
    return delta


def _exactly_one(kind: str, **given: object) -> None:
    found = [name for name, value in given.items() if value is not None]
    if len(found) != 1:
        raise GraphError(
            f"a {kind} window is of one kind",
            where=call_place(user_frame()),
            expected=f"exactly one of {', '.join(f'{name}=' for name in given)}",
            found=", ".join(f"{name}=" for name in found) or "none of them",
        )

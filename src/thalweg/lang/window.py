"""Windows: which tuples an aggregate or a join sees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from thalweg.errors import GraphError
from thalweg.ir.operators import Running, Sliding
from thalweg.lang.place import call_place, user_frame


@dataclass(frozen=True, slots=True)
class Last:
    """The last tuple of each key of the other side of a join."""

    by: tuple[str, ...]


def names(by: str | Iterable[str] | None) -> tuple[str, ...]:
    """Attribute names, given as one name, several, or none."""
    if by is None:
        return ()
    return (by,) if isinstance(by, str) else tuple(by)


def running(*, by: str | Iterable[str] | None = None) -> Running:
    """All tuples so far, per key."""
    return Running(names(by))


def sliding(*, count: int, slide: int = 1, by: str | Iterable[str] | None = None) -> Sliding:
    """The last `count` tuples, per key; a result at every `slide`-th tuple of the key, from the first ones on."""
    for label, value in (("count", count), ("slide", slide)):
        if type(value) is not int or value < 1:
            raise GraphError(
                f"sliding window: bad {label}",
                where=call_place(user_frame()),
                expected="a whole number, 1 or more",
                found=repr(value),
            )
    return Sliding(count, slide, names(by))


def last(count: int = 1, *, by: str | Iterable[str] | None = None) -> Last:
    """The last tuple per key; for joins. Only `count=1` so far."""
    if count != 1:
        raise GraphError(
            "join window: only the last tuple is kept so far",
            where=call_place(user_frame()),
            expected="window.last(1)",
            found=f"window.last({count!r})",
        )
    return Last(names(by))

"""The windows of the two sides of a join: which tuples a side keeps."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import ClassVar

from thalweg.ir.completeness import check_pieces
from thalweg.library.window_arguments import Duration, stretch


class JoinWindow:
    """Which tuples one side of a join keeps."""

    __slots__ = ()

    is_family: ClassVar[bool] = True  # of a class itself, as for other windows
    written: ClassVar[str]  # how users write it, as in a table of docs/operators.md

    def __init_subclass__(cls) -> None:
        check_pieces(cls, JoinWindow)


@dataclass(frozen=True, slots=True)
class Last(JoinWindow):
    """The last tuples of each key; `count` None: all of them."""

    count: int | None
    by: tuple[str, ...]

    written = "window.last(n, by=…)"


@dataclass(frozen=True, slots=True)
class Within(JoinWindow):
    """The tuples whose event time differs by at most `size`."""

    size: int
    clock: bool = False  # given as a timedelta

    written = "window.within(t)"

    @classmethod
    def checked(cls, time: Duration) -> Within:
        return cls(stretch("join", "time", time), isinstance(time, dt.timedelta))

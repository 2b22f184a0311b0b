"""The base class of all kinds of windows. The kinds are in `thalweg.library.windows`."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from thalweg.ir.completeness import check_pieces
from thalweg.ir.logic import Logic

EVENT_TIME, PUNCTUATION = "event time", "punctuation"  # the marks that can close a window


@dataclass(frozen=True, slots=True)
class Window:
    """Defines which tuples of a key an operator sees together, and when. Its text is part of the state's fingerprint.

    Each kind of window is a subclass in a module of `thalweg.library.windows`, which finds all of them. A kind that
    lacks a part fails when it is defined.
    """

    by: tuple[str, ...]

    is_family: ClassVar[bool] = True  # of a class itself: whether it is only a base class of several kinds
    written: ClassVar[str]  # how users write it; docs/operators.md lists it in a table
    marks: ClassVar[str | None]  # the marks that close it: EVENT_TIME, PUNCTUATION or None
    acts_at_end: ClassVar[bool]  # whether the end of the input closes it
    has_kernel: ClassVar[bool]  # whether aggregates over it can run vectorized (`runtime.aggregate`)
    aggregate: ClassVar[type[Logic]]  # aggregates over it, tuple by tuple
    apply: ClassVar[type[Logic]]  # functions of its tuples

    def __init_subclass__(cls) -> None:
        if not cls.__dict__.get("is_family"):
            check_pieces(cls, Window)

    @property
    @abstractmethod
    def results(self) -> tuple[tuple[int, int | None], str]:
        """The least and the greatest number of results for one tuple, and the reason."""

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...]:
        """The attributes that determine which tuples it holds."""

    @property
    @abstractmethod
    def distance(self) -> tuple[str, Any] | None:
        """For a window by delta: the attribute, and the maximum distance between its values."""

    @abstractmethod
    def __str__(self) -> str: ...

    # Derived from these definitions.

    @property
    def timed(self) -> bool:
        return self.marks == EVENT_TIME

    @property
    def shares_panes(self) -> bool:
        """Whether overlapping windows in event time share panes, in which tuples arrive in any order."""
        return False

    @property
    def by_text(self) -> str:
        return f" by {', '.join(self.by)}" if self.by else ""

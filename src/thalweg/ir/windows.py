"""The base class of all kinds of windows. The kinds are in `thalweg.library.windows`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from thalweg.ir.logic import Logic

EVENT_TIME, PUNCTUATION = "event time", "punctuation"  # the marks that can close a window


@dataclass(frozen=True, slots=True)
class Window:
    """Defines which tuples of a key an operator sees together, and when. Its text is part of the state's fingerprint.

    Each kind of window is a subclass; `thalweg.library.windows` rejects one that lacks any of these class attributes.
    """

    by: tuple[str, ...]

    written: ClassVar[str]  # how users write it; docs/operators.md lists it in a table
    marks: ClassVar[str | None]  # the marks that close it: EVENT_TIME, PUNCTUATION or None
    acts_at_end: ClassVar[bool]  # whether the end of the input closes it
    has_kernel: ClassVar[bool]  # whether aggregates over it can run vectorized (`runtime.aggregate`)
    aggregate: ClassVar[type[Logic]]  # aggregates over it, tuple by tuple
    apply: ClassVar[type[Logic]]  # functions of its tuples

    @property
    def results(self) -> tuple[tuple[int, int | None], str]:
        """The least and the greatest number of results for one tuple, and the reason."""
        raise NotImplementedError(type(self).__name__)

    @property
    def timed(self) -> bool:
        return self.marks == EVENT_TIME

    @property
    def reads(self) -> tuple[str, ...]:
        """The attributes that determine which tuples it holds."""
        return self.by

    @property
    def distance(self) -> tuple[str, Any] | None:
        """For a window by delta: the attribute, and the maximum distance between its values."""
        return None

    @property
    def by_text(self) -> str:
        return f" by {', '.join(self.by)}" if self.by else ""


REQUIRED = ("written", "marks", "acts_at_end", "has_kernel", "aggregate", "apply", "results", "__str__")

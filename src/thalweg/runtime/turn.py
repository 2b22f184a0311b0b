"""A turn: one pass of frames through the segments of a PE, with everything that belongs to this pass alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from thalweg.runtime.frame import Frame
from thalweg.runtime.program import Output
from thalweg.runtime.state import State


@dataclass(slots=True)
class Turn:
    """The frames that enter a PE together, and what comes of them.

    A turn passes the segments one after the other, so only one thread works on it at a time. Different turns of an
    epoch may be in different segments; what they share is the epoch's state, in which each operator has its own table.
    """

    inputs: Mapping[int | str, Frame]  # by wire; in the first PE by source
    state: State | None = None  # of the epoch
    end: int | None = None  # the position of the end, in the final epoch
    letters: dict[str, list[Frame]] = field(default_factory=dict)  # dead letters by operator, until it gives them out
    output: Output = field(default_factory=Output)

    def put_letters(self, name: str, letters: Frame) -> None:
        """Add dead letters of an operator; a source has them for what it read in place of tuples."""
        self.letters.setdefault(name, []).append(letters)

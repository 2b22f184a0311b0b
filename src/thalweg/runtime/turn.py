"""A turn: one pass of frames through the segments of a PE, with everything that belongs only to this pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from thalweg.runtime.frame import Frame
from thalweg.runtime.pe_program import Output
from thalweg.runtime.state import State


@dataclass(slots=True)
class Turn:
    """The frames that enter a PE together, and their results.

    A turn passes through the segments in sequence, so only one thread works on it at a time. Different turns of an
    epoch may be in different segments; they share only the epoch's state, in which each operator has its own table.
    """

    inputs: Mapping[int | str, Frame]  # by wire; in the first PE by source
    state: State | None = None  # of the epoch
    end: int | None = None  # the position of the end, in the final epoch
    letters: dict[str, list[Frame]] = field(default_factory=dict)  # dead letters by operator, until it emits them
    output: Output = field(default_factory=Output)

    def put_letters(self, name: str, letters: Frame) -> None:
        """Add dead letters of an operator; a source adds them for invalid rows of its input."""
        self.letters.setdefault(name, []).append(letters)

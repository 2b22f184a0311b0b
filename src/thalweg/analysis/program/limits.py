"""How much code is followed before the machine gives up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    steps: int = 10_000  # statements, expressions and calls of one operator
    rounds: int = 12  # until memory no longer grows
    turns: int = 12  # of a loop
    folds: int = 8  # calls of a fold with its own results
    depth: int = 12  # of calls


class TooLong(Exception):
    """The code exceeds the maximum number of steps."""

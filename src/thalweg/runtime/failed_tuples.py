"""Tuples and other events on which an operator failed, handled by its policy: skipped, dead letters, or a failure.

A failure is recorded in the turn, not raised: the engine reports the failure at the smallest position, which may be on
another channel. Dead letters become columns together: one frame for each would cost more than all other tuples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thalweg.errors import summary
from thalweg.ir.operators import Operator
from thalweg.ir.types import STR
from thalweg.runtime.columns import Array, Column, from_values, repeated, take, to_list
from thalweg.runtime.frame import Frame
from thalweg.runtime.pe_program import Failure, Program
from thalweg.runtime.shown_tuples import shown_tuples
from thalweg.runtime.turn import Turn
from thalweg.runtime.vectorized import Vectorized


class FailedTuples:
    """The tuples of one frame on which an operator failed. `found`: what its kernel has left of the frame."""

    def __init__(self, program: Program, turn: Turn, name: str, frame: Frame, found: Vectorized | None = None) -> None:
        self.program, self.turn, self.frame = program, turn, frame
        self.operator = program.operators[name]
        self.stops = self.operator.on_error == "fail"
        self._found = found or Vectorized(None, np.arange(0), np.arange(len(frame)))
        self._indices: list[int] = []
        self._errors: list[str] = []

    def add(self, index: int, error: BaseException) -> bool:
        """Apply the operator's policy to one of the tuples that the kernel left; returns whether to continue."""
        return self.add_all([index], error)

    def add_all(self, indices: Sequence[int], error: BaseException) -> bool:
        """The same for several tuples with the same error, the first of them first."""
        self._indices += indices
        if self.stops:
            row = int(self._found.rest[indices[0]])
            (shown,) = to_list(self._shown(np.array([row])))
            record_failure(self.program, self.turn, self.operator, self.frame.order_key(row), error, shown)
        elif self.operator.on_error == "dead_letter":
            self._errors += [summary(error)] * len(indices)
        return not self.stops

    def close(self) -> None:
        """After the last tuple of the frame."""
        if self.stops or not self._indices:
            return
        like = self._found.like
        at = np.concatenate([self._found.rest[self._indices], *like.values()])
        if self.operator.on_error == "skip":
            self.turn.output.counts.skip(self.operator.name, len(at))
            return
        errors = list(self._errors)
        for index, rows in like.items():
            errors += [self._errors[self._indices.index(index)]] * len(rows)
        order = np.argsort(at, kind="stable")
        at = at[order]
        error_column = take(from_values(errors, STR), order)
        put_letters(self.turn, self.operator, self.frame.with_columns({}).take(at), error_column, self._shown(at))

    def _shown(self, at: Array) -> Column:
        return shown_tuples(self.frame.take(at), self.program.input_types[self.operator.name][0])


def put_letters(turn: Turn, operator: Operator, at: Frame, errors: Column, shown: Column) -> None:
    """Add dead letters, at these positions."""
    letters = {"operator": repeated(operator.name, len(at)), "error": errors, "tuple": shown}
    turn.put_letters(operator.name, at.with_columns(letters))


def record_failure(
    program: Program, turn: Turn, operator: Operator, order_key: tuple[int, ...], error: BaseException, shown: str
) -> None:
    rank = program.ranks[operator.name]
    turn.output.failures.append(Failure.of(error, order_key, rank, operator.name, operator.where, shown))

"""Tuples and other events on which an operator failed, handled by its policy: skipped, dead letters, or a failure.

A failure is recorded in the turn, not raised: the engine reports the failure at the smallest position, which may be on
another channel. Dead letters become columns together: one frame for each would cost more than all other tuples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thalweg.errors import summary
from thalweg.ir.operators import DEAD_LETTER, Operator
from thalweg.runtime.columns import Array
from thalweg.runtime.frame import Frame
from thalweg.runtime.pe_program import Failure, Program
from thalweg.runtime.row_functions import columns_of, rows
from thalweg.runtime.turn import Turn


class FailedTuples:
    """The tuples of one frame on which an operator failed."""

    def __init__(self, program: Program, turn: Turn, name: str, frame: Frame) -> None:
        self.program, self.turn, self.frame = program, turn, frame
        self.operator = program.operators[name]
        self.stops = self.operator.on_error == "fail"
        self._indices: list[int] = []
        self._errors: list[str] = []

    def add(self, index: int, error: Exception) -> bool:
        """Apply the operator's policy to one of them; returns whether to continue."""
        self._indices.append(index)
        if self.stops:
            (shown,) = self._shown(np.array([index]))
            record_failure(self.program, self.turn, self.operator, self.frame.order_key(index), error, shown)
        elif self.operator.on_error == "dead_letter":
            self._errors.append(summary(error))
        return not self.stops

    def close(self) -> None:
        """After the last tuple of the frame."""
        if self.stops or not self._indices:
            return
        if self.operator.on_error == "skip":
            self.turn.output.counts.skip(self.operator.name, len(self._indices))
            return
        order = np.argsort(self._indices, kind="stable")
        at = np.array(self._indices)[order]
        errors = [self._errors[i] for i in order]
        put_letters(self.turn, self.operator, self.frame.with_columns({}).take(at), errors, self._shown(at))

    def _shown(self, at: Array) -> list[str]:
        tuple_type = self.program.input_types[self.operator.name][0]
        return [repr(row) for row in rows(self.frame.take(at), tuple_type)]


def put_letters(turn: Turn, operator: Operator, at: Frame, errors: Sequence[str], shown: Sequence[str]) -> None:
    """Add dead letters, at these positions."""
    letters = zip([operator.name] * len(errors), errors, shown, strict=True)
    turn.put_letters(operator.name, at.with_columns(columns_of(letters, DEAD_LETTER)))


def record_failure(
    program: Program, turn: Turn, operator: Operator, order_key: tuple[int, ...], error: Exception, shown: str
) -> None:
    rank = program.ranks[operator.name]
    turn.output.failures.append(Failure.of(error, order_key, rank, operator.name, operator.where, shown))

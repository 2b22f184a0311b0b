"""The row path: an operator's function, called tuple by tuple, and the handling of tuples on which it fails.

A failure is recorded in the turn, not raised: the engine reports the failure at the smallest position, which may be on
another channel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from thalweg.errors import summary
from thalweg.ir.operators import DEAD_LETTER, Operator
from thalweg.runtime import row_functions as rows
from thalweg.runtime import row_loops as loops
from thalweg.runtime.columns import Array, Column
from thalweg.runtime.frame import Frame, join_frames
from thalweg.runtime.kernels import Fallback
from thalweg.runtime.pe_program import Failure, Program
from thalweg.runtime.resources import Resources
from thalweg.runtime.turn import Turn

Columns = Mapping[str, Column]
VectorFunction = Callable[[Columns, int], Any]


class RowPath:
    """The methods that the operators of a PE use when their kernel cannot process a frame."""

    def __init__(self, program: Program, resources: Resources) -> None:
        self.program, self.resources = program, resources

    def _vector(self, function: VectorFunction | None, frame: Frame) -> Any:
        if function is None:
            return None
        try:
            return function(frame.columns, len(frame))
        except Fallback:
            return None

    def _function(self, name: str) -> Callable[[Any], Any]:
        operator: Any = self.program.operators[name]
        function: Callable[[Any], Any] = operator.function.callable
        return function

    def _looped(
        self, turn: Turn, name: str, frame: Frame, loop: Callable[[Frame], loops.LoopResult]
    ) -> tuple[list[Any], Array]:
        """The results of a loop over the frame's tuples, part by part, and the rows they come from. A loop ends at the
        first tuple that fails; if the operator's policy is to continue without it, a new loop starts after it."""
        parts: list[Any] = []
        kept: list[Array] = []
        start, going = 0, True
        while going:
            part, done, error = loop(frame.window(start, len(frame)) if start else frame)
            parts.append(part)
            kept.append(np.arange(start, start + done))
            start += done + 1
            going = error is not None and self._fail(turn, name, frame, start - 1, error) and start < len(frame)
        return parts, np.concatenate(kept)

    def _rows(self, turn: Turn, name: str, frame: Frame, convert: Callable[[Any], Any]) -> tuple[list[Any], Array]:
        """The converted results of the operator's function, and the rows they come from."""
        function = self._function(name)
        return self._each(
            turn, name, frame, rows.rows(frame, self.program.input_types[name][0]), lambda row: convert(function(row))
        )

    def _each(
        self, turn: Turn, name: str, frame: Frame, items: Iterable[Any], step: Callable[[Any], Any]
    ) -> tuple[list[Any], Array]:
        """The results of a step on each item, and the rows they come from. Failed tuples are omitted, and so are all
        tuples after the first failure unless the operator's policy is to continue."""
        results: list[Any] = []
        failed: list[int] = []
        for index, item in enumerate(items):
            try:
                results.append(step(item))
            except Exception as error:  # any error of a user function is attributed to its tuple
                failed.append(index)
                if not self._fail(turn, name, frame, index, error):
                    break
        if not failed:
            return results, np.arange(len(results))
        return results, np.delete(np.arange(len(results) + len(failed)), failed)

    def _fail(self, turn: Turn, name: str, frame: Frame, index: int, error: Exception) -> bool:
        """Apply the operator's policy to a failed tuple; returns whether to continue."""
        operator = self.program.operators[name]
        row = frame.window(index, index + 1)
        (shown,) = rows.rows(row, self.program.input_types[name][0])
        return self._failed(turn, operator, frame.order_key(index), error, repr(shown))

    def _failed(self, turn: Turn, operator: Operator, order_key: tuple[int, ...], error: Exception, shown: str) -> bool:
        """The same for any event that failed in an operator: a tuple, a mark or the end."""
        match operator.on_error:
            case "skip":
                turn.output.counts.skip(operator.name)
            case "dead_letter":
                columns = rows.columns_of([(operator.name, summary(error), shown)], DEAD_LETTER)
                letter = Frame(np.full(1, order_key[0], np.int64), order_key[1:], columns)
                turn.put_letters(operator.name, letter)
            case _:
                rank = self.program.ranks[operator.name]
                turn.output.failures.append(Failure.of(error, order_key, rank, operator.name, operator.where, shown))
                return False
        return True

    def dead_letters(self, turn: Turn, name: str, width: int) -> Frame | None:
        """The tuples on which an operator failed, as its last output port emits them."""
        found = turn.letters.pop(name, [])
        return join_frames([f.padded(width) for f in found]) if found else None


def at_rows(frame: Frame, at: Array) -> Frame:
    """These rows of the frame; in most cases all of them."""
    return frame if len(at) == len(frame) else frame.take(at)


def some(frame: Frame) -> Frame | None:
    return frame if len(frame) else None

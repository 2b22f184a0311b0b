"""The row path: an operator's function, called tuple by tuple, and the handling of tuples on which it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg.runtime import row_functions as rows
from thalweg.runtime import row_loops as loops
from thalweg.runtime.columns import Array, Column, concat, take
from thalweg.runtime.failed_tuples import FailedTuples
from thalweg.runtime.frame import Frame, join_frames
from thalweg.runtime.kernels import Fallback
from thalweg.runtime.pe_program import Program
from thalweg.runtime.resources import Resources
from thalweg.runtime.turn import Turn

Columns = Mapping[str, Column]
VectorFunction = Callable[[Columns, int], Any]


_ATTEMPTS = 3  # of a kernel: each operation in it may fall back for other rows


@dataclass(frozen=True, slots=True)
class Vectorized:
    """The result of a kernel for some rows of a frame, and the rest, which must take the row path."""

    result: Any
    rows: Array
    rest: Array

    def merged(self, columns: Columns, of_rest: Columns, kept: Array) -> tuple[dict[str, Column], Array]:
        """The kernel's columns with those of the rest, of which the rows `kept` have results, and all their rows."""
        at = np.concatenate([self.rows, self.rest[kept]])
        if not len(kept):
            return dict(columns), at
        order = np.argsort(at, kind="stable")
        return {n: take(concat([columns[n], of_rest[n]]), order) for n in columns}, at[order]


class RowPath:
    """The methods that the operators of a PE use when their kernel cannot process a frame."""

    def __init__(self, program: Program, resources: Resources) -> None:
        self.program, self.resources = program, resources

    def _vector(self, function: VectorFunction | None, frame: Frame) -> Vectorized:
        """The kernel's result for the rows that it can process."""
        at = np.arange(len(frame))
        nothing, part = Vectorized(None, at[:0], at), frame
        if function is None:
            return nothing
        for _ in range(_ATTEMPTS):
            try:
                result = function(part.columns, len(part))
                return Vectorized(result, at, at[:0] if part is frame else np.delete(np.arange(len(frame)), at))
            except Fallback as fallback:
                if fallback.rows is None or len(part) < 2 * np.count_nonzero(fallback.rows):
                    break
                at = at[~fallback.rows]
                part = frame.take(at)
        return nothing

    def _function(self, name: str) -> Callable[[Any], Any]:
        operator: Any = self.program.operators[name]
        function: Callable[[Any], Any] = operator.function.callable
        return function

    def _looped(
        self, turn: Turn, name: str, frame: Frame, loop: Callable[[loops.OnFailure, bool], loops.LoopResult]
    ) -> loops.LoopResult:
        """The results of a loop over the frame's tuples, without those on which it failed."""
        with self._failures(turn, name, frame) as failures:
            return loop(failures.add, failures.stops)

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
        with self._failures(turn, name, frame) as failures:
            for index, item in enumerate(items):
                try:
                    results.append(step(item))
                except Exception as error:  # any error of a user function is attributed to its tuple
                    failed.append(index)
                    if not failures.add(index, error):
                        break
        if not failed:
            return results, np.arange(len(results))
        return results, np.delete(np.arange(len(results) + len(failed)), failed)

    @contextmanager
    def _failures(self, turn: Turn, name: str, frame: Frame) -> Iterator[FailedTuples]:
        """Collects the tuples of a frame on which an operator fails, and applies its policy to them."""
        failures = FailedTuples(self.program, turn, name, frame)
        yield failures
        failures.close()

    def _fail(self, turn: Turn, name: str, frame: Frame, index: int, error: Exception) -> None:
        """Apply the operator's policy to one failed tuple."""
        with self._failures(turn, name, frame) as failures:
            failures.add(index, error)

    def dead_letters(self, turn: Turn, name: str, width: int) -> Frame | None:
        """The tuples on which an operator failed, as its last output port emits them."""
        found = turn.letters.pop(name, [])
        return join_frames([f.padded(width) for f in found]) if found else None


def at_rows(frame: Frame, at: Array) -> Frame:
    """These rows of the frame; in most cases all of them."""
    return frame if len(at) == len(frame) else frame.take(at)


def some(frame: Frame) -> Frame | None:
    return frame if len(frame) else None

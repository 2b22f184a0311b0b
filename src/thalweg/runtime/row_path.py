"""The row path: an operator's function, called tuple by tuple, and the handling of tuples on which it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from thalweg.ir.expr import Apply, Const, Expr, Record, rule, text, walk
from thalweg.ir.operators import Aggregate, Filter, Map, Operator, Punctor, Split
from thalweg.ir.rules import CAN_RAISE
from thalweg.ir.types import INT
from thalweg.runtime import row_functions as rows
from thalweg.runtime import row_loops as loops
from thalweg.runtime.columns import Array
from thalweg.runtime.failed_tuples import FailedTuples
from thalweg.runtime.frame import Frame, join_frames
from thalweg.runtime.pe_program import Program
from thalweg.runtime.resources import Resources
from thalweg.runtime.turn import Turn
from thalweg.runtime.vectorized import VectorFunction, Vectorized, vectorized


class RowPath:
    """The methods that the operators of a PE use when their kernel cannot process a frame."""

    def __init__(self, program: Program, resources: Resources) -> None:
        self.program, self.resources = program, resources
        self._single_errors: dict[str, bool] = {}

    def _vector(self, name: str, function: VectorFunction | None, frame: Frame) -> Vectorized:
        """The kernel's result for the rows that it can process."""
        return vectorized(function, frame, one_for_all=self._one_for_all(name))

    def _one_for_all(self, name: str) -> bool:
        """Whether one of several tuples that fail in the same operation stands for all of them. A dead letter has the
        text of the first error, so there must be no other operation that could fail before."""
        operator = self.program.operators[name]
        if operator.on_error != "dead_letter":
            return operator.on_error == "skip"
        if name not in self._single_errors:
            self._single_errors[name] = len(_raising(operator)) == 1
        return self._single_errors[name]

    def _function(self, name: str) -> Callable[[Any], Any]:
        operator: Any = self.program.operators[name]
        function: Callable[[Any], Any] = operator.function.callable
        return function

    def _looped(
        self,
        turn: Turn,
        name: str,
        frame: Frame,
        found: Vectorized,
        loop: Callable[[loops.OnFailure, bool], loops.LoopResult],
    ) -> loops.LoopResult:
        """The results of a loop over the tuples that the kernel left, without those on which it failed."""
        with self._failures(turn, name, frame, found) as failures:
            return loop(failures.add, failures.stops)

    def _rows(
        self, turn: Turn, name: str, frame: Frame, convert: Callable[[Any], Any], found: Vectorized | None = None
    ) -> tuple[list[Any], Array]:
        """The converted results of the operator's function for the tuples that the kernel left, and their rows."""
        function = self._function(name)
        left = frame if found is None else at_rows(frame, found.rest)
        items = rows.rows(left, self.program.input_types[name][0])
        return self._each(turn, name, frame, items, lambda row: convert(function(row)), found)

    def _each(
        self,
        turn: Turn,
        name: str,
        frame: Frame,
        items: Iterable[Any],
        step: Callable[[Any], Any],
        found: Vectorized | None = None,
    ) -> tuple[list[Any], Array]:
        """The results of a step on each item, and the items they come from: the frame's tuples, or those that the
        kernel left. Failed tuples are omitted, and so are all tuples after the first failure unless the operator's
        policy is to continue."""
        results: list[Any] = []
        failed: list[int] = []
        with self._failures(turn, name, frame, found) as failures:
            for index, item in enumerate(items):
                try:
                    results.append(step(item))
                except KeyboardInterrupt:
                    raise
                except BaseException as error:  # any error of a user function is attributed to its tuple
                    failed.append(index)
                    if not failures.add(index, error):
                        break
        if not failed:
            return results, np.arange(len(results))
        return results, np.delete(np.arange(len(results) + len(failed)), failed)

    @contextmanager
    def _failures(self, turn: Turn, name: str, frame: Frame, found: Vectorized | None = None) -> Iterator[FailedTuples]:
        """Collects the tuples of a frame on which an operator fails, and applies its policy to them."""
        failures = FailedTuples(self.program, turn, name, frame, found)
        yield failures
        failures.close()

    def _fail(self, turn: Turn, name: str, frame: Frame, index: int, error: BaseException) -> None:
        """Apply the operator's policy to one failed tuple."""
        with self._failures(turn, name, frame) as failures:
            failures.add(index, error)

    def dead_letters(self, turn: Turn, name: str, width: int) -> Frame | None:
        """The tuples on which an operator failed, as its last output port emits them."""
        found = turn.letters.pop(name, [])
        return join_frames([f.padded(width) for f in found]) if found else None


_UNBOUNDED = ("+", "-", "*", "neg", "abs")  # of ints: a function's ints may exceed 64 bits until it returns them


def _raising(operator: Operator) -> set[str]:
    """The operations of the operator's expressions that may raise. An aggregate checks every single value."""
    exprs: list[Expr | Record | None]
    if isinstance(operator, Aggregate):
        exprs = [*(fold.argument.expr for fold in operator.folds if fold.argument is not None), operator.fields]
    else:
        assert isinstance(operator, Map | Filter | Split | Punctor)
        exprs = [operator.function.expr]
    found = [
        e for expr in exprs if expr is not None for e in walk(expr) if isinstance(e, Apply) and rule(e) in CAN_RAISE
    ]
    checked = isinstance(operator, Aggregate)
    return {text(e) for e in found if checked or e.type is not INT or not (e.op in _UNBOUNDED or _divides_safely(e))}


def _divides_safely(expr: Apply) -> bool:
    divisor = expr.operands[-1]
    return expr.op in ("//", "%") and isinstance(divisor, Const) and divisor.value != 0


def at_rows(frame: Frame, at: Array) -> Frame:
    """These rows of the frame; in most cases all of them."""
    return frame if len(at) == len(frame) else frame.take(at)


def some(frame: Frame) -> Frame | None:
    return frame if len(frame) else None

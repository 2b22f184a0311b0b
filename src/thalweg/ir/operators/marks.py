"""Operators that emit marks. Port 0: the tuples; port 1: marks between them."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import ClassVar

from thalweg.ir.operator_model import ONE, Model, same
from thalweg.ir.operators.base import Stateless
from thalweg.ir.operators.per_tuple import Judging
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import TRUTH, UserCode


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTime(Stateless):
    """Emits a mark before each tuple whose time advances the event time to a new step.

    The event time at a tuple is the greatest time so far minus `lateness`, rounded down to a step. A frame knows only
    its own greatest time, so its marks may be older than those of earlier frames; operators ignore such marks. The
    first tuple of a frame always has a mark, so that there is one in each epoch that has tuples.

    With `by_origin` there is an event time for each origin: a source, or one of its concurrent splits.
    """

    attribute: str
    lateness: int
    step: int
    idle: int | None  # for how many epochs the others wait for an origin without tuples; None: until the end
    by_origin: bool = False

    counts_emissions: ClassVar[bool] = True
    mark_output = 1
    users_code = None

    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        copies = (same(inputs[0], inputs[0]),)
        read = frozenset((self.attribute,))
        return Model("event_time passes every tuple on", (ONE,), (copies,), (read,), can_fail=False)

    def needed(self, port: int, names: Set[str], live: Set[str], *, by_rows: bool) -> Set[str]:
        return (live & names) | {self.attribute}

    def code(self, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Punctor(Judging):
    """Emits a mark before or after each tuple for which the function returns a true value."""

    before: bool

    counts_emissions: ClassVar[bool] = True
    mark_output = 1
    use: ClassVar[str] = TRUTH

    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        return self.passing("punctor passes every tuple on", (ONE,), inputs)

"""Operators that pass on some of their tuples, and user functions with state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from thalweg.ir.library_logic import LibraryLogic
from thalweg.ir.operator_model import AT_MOST_ONE, Model, same
from thalweg.ir.operators import Process
from thalweg.ir.times import to_time
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import UserCode, UserStateFunction


@dataclass(frozen=True, slots=True)
class DedupConfig:
    within: int | None
    time: str


def _forgets_every(within: int) -> int:
    """A fraction of the time: marks that come only once in it would double the number of keys that are kept."""
    if within < 8:
        return min(within, 1)
    return next((within // parts for parts in range(8, 17) if within % parts == 0), within)


class Dedup(LibraryLogic):
    """The first tuple of each key; with `within`, another one when that much time has passed since the last one."""

    config: DedupConfig
    makes_marks = emits_at_marks = False
    users_code = None
    inner_types = ()

    def __init__(self) -> None:
        self.seen: int | None = None

    @property
    def has_late(self) -> bool:
        return self.config.within is not None

    @property
    def is_empty(self) -> bool:
        return self.seen is None

    def settings(self) -> str:
        return f"dedup {self.config}"

    def known(self, operator: Process, inputs: tuple[TupleType, ...]) -> Model:
        read = frozenset((*(operator.key or ()), *((self.config.time,) if self.config.time else ())))
        ports = operator.results
        copies = ((same(*inputs * 2),),) * ports
        return Model("the first tuple of each key is emitted", (AT_MOST_ONE,) * ports, copies, (read,))

    def code(self, operator: Process, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return ()

    @property
    def time_lengths(self) -> tuple[int, ...]:
        return () if self.config.within is None else (_forgets_every(self.config.within),)

    @property
    def due(self) -> int | None:
        """When the key can be forgotten: from then on, only a late tuple could be a duplicate."""
        return None if self.seen is None or self.config.within is None else self.seen + self.config.within + 1

    def process(self, t: Any, port: int) -> None:
        at = 0 if self.config.within is None else to_time(getattr(t, self.config.time))
        if self.has_late and self.now is not None and at < self.now:
            self.submit(t, 1)
        elif self.seen is None or (self.due is not None and at >= self.due):
            self.seen = at
            self.submit(t)

    def on_mark(self, time: int) -> None:
        self.seen = None


@dataclass(frozen=True, slots=True)
class StateFunction:
    """A user function of a tuple, the key's state and `submit`. It returns the new state, or None to remove it, unless
    it never returns a value: then it changes the state in place."""

    function: Callable[[Any, Any, Callable[..., None]], Any]
    in_place: bool


class Code(LibraryLogic):
    """A user function with state."""

    config: StateFunction
    makes_marks = has_late = False
    time_lengths = inner_types = ()
    is_empty = False

    def __init__(self, state: Any) -> None:
        self.state = state

    def settings(self) -> str:
        return ""

    def known(self, operator: Process, inputs: tuple[TupleType, ...]) -> None:
        return None

    def code(self, operator: Process, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        outputs = operator.outputs[: operator.results]
        made = UserStateFunction(
            function=self.config.function, where=operator.where, state=self.state, input=inputs[0], outputs=outputs
        )
        return (made,)

    @property
    def users_code(self) -> object | None:
        return self.config.function

    def process(self, t: Any, port: int) -> None:
        changed = self.config.function(t, self.state, self.submit)
        if changed is not None:
            self.state = changed
        elif not self.config.in_place:
            self.forget()

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


class Dedup(LibraryLogic):
    """The first tuple of each key; with `within`, another one when that much time has passed since the last one."""

    config: DedupConfig
    makes_marks = has_late = False
    users_code = None
    inner_types = ()
    is_empty = False  # it has seen its key

    def __init__(self) -> None:
        self.seen: int | None = None

    def settings(self) -> str:
        return f"dedup {self.config}"

    def known(self, operator: Process, inputs: tuple[TupleType, ...]) -> Model:
        read = frozenset((*(operator.key or ()), *((self.config.time,) if self.config.time else ())))
        return Model("the first tuple of each key is emitted", (AT_MOST_ONE,), ((same(*inputs * 2),),), (read,))

    def code(self, operator: Process, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return ()

    @property
    def time_lengths(self) -> tuple[int, ...]:
        return () if self.config.within is None else (self.config.within,)

    def process(self, t: Any, port: int) -> None:
        config = self.config
        at = 0 if config.within is None else to_time(getattr(t, config.time))
        if self.seen is None or (config.within is not None and at - self.seen > config.within):
            self.seen = at
            self.submit(t)


class Code(LibraryLogic):
    """A user function of a tuple, the key's state and `submit`."""

    config: Callable[[Any, Any, Callable[..., None]], Any]
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
            function=self.config, where=operator.where, state=self.state, input=inputs[0], outputs=outputs
        )
        return (made,)

    @property
    def users_code(self) -> object | None:
        return self.config

    def process(self, t: Any, port: int) -> None:
        changed = self.config(t, self.state, self.submit)
        if changed is not None:
            self.state = changed

"""Operators that let some tuples through, and users' own code as a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thalweg.ir.logic import Logic
from thalweg.ir.times import to_time


@dataclass(frozen=True, slots=True)
class DedupConfig:
    within: int | None
    time: str


class Dedup(Logic):
    """The first tuple of each key; with `within`, again when that much time has passed since the last one."""

    config: DedupConfig

    def __init__(self) -> None:
        self.seen: int | None = None

    def settings(self) -> str:
        return f"dedup {self.config}"

    def process(self, t: Any, port: int) -> None:
        config = self.config
        at = 0 if config.within is None else to_time(getattr(t, config.time))
        if self.seen is None or (config.within is not None and at - self.seen > config.within):
            self.seen = at
            self.submit(t)


class Code(Logic):
    """A user's function of a tuple, the key's state and `submit`."""

    config: Callable[[Any, Any, Callable[..., None]], Any]

    def __init__(self, state: Any) -> None:
        self.state = state

    def process(self, t: Any, port: int) -> None:
        changed = self.config(t, self.state, self.submit)
        if changed is not None:
            self.state = changed

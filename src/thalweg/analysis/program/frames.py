"""Calls that are followed, and their arguments."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from thalweg.analysis.program.store import Store
from thalweg.analysis.program.values import NOTHING, New, Site, Value
from thalweg.ir.user_tracebacks import is_foreign

MAX_DEPTH = 12  # of calls
NO_FRAME = -1


class Frame:
    """One call that is followed."""

    def __init__(self, key: int, name: str, file: str, module: dict[str, Any], outer: Frame | None) -> None:
        self.key, self.name, self.file, self.module, self.outer = key, name, file, module, outer
        self.cells: dict[str, Any] = {}  # of a function that exists: its closure
        self.locals: frozenset[str] = frozenset()
        self.later: frozenset[str] = frozenset()  # locals that are seen by code that may run later
        self.scopes: list[dict[str, Site]] = []  # of comprehensions
        self.returns: list[tuple[Value, Store]] = []
        self.generator: New | None = None
        self.owner: str | None = None  # the class in whose body the code stands
        self.first: str | None = None  # the first parameter, for super()
        self.called_at: tuple[Frame, ast.AST] | None = None
        self.foreign = is_foreign(file)


def mangled(name: str, frame: Frame) -> str:
    """An attribute as Python calls it: `self.__total` in the body of a class is `_Class__total`."""
    private = name.startswith("__") and not name.endswith("__") and frame.owner is not None
    return f"_{(frame.owner or '').lstrip('_')}{name}" if private else name


class Args:
    """The arguments of a call: what is known by position and by name, and what else there may be."""

    def __init__(
        self,
        positional: Sequence[Value] = (),
        named: dict[str, Value] | None = None,
        more: Value | None = None,
        more_named: Value | None = None,
    ) -> None:
        self.positional, self.named = list(positional), dict(named or {})
        self.more, self.more_named = more, more_named  # of *args and **kwargs whose number is not known

    def all(self) -> list[Value]:
        rest = [v for v in (self.more, self.more_named) if v is not None]
        return [*self.positional, *self.named.values(), *rest]

    def at(self, index: int, name: str = "") -> Value:
        if index < len(self.positional):
            return self.positional[index]
        return self.named.get(name, self.more if self.more is not None else NOTHING)


def frames_around(frame: Frame | None) -> set[int]:
    found: set[int] = set()
    while frame is not None:
        found.add(frame.key)
        frame = frame.outer
    return found


def frame_of_variable(key: Any) -> int:
    """The frame of a variable; that of a comprehension is known by its place in one."""
    return int(key[0]) if isinstance(key, tuple) else int(key)

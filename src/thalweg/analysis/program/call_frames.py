"""The stack of calls that are followed, and the arguments of a call."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from thalweg.analysis.program.scopes import Function, Names, names_of
from thalweg.analysis.program.store import Store
from thalweg.analysis.program.values import NOTHING, New, Site, Value
from thalweg.ir.user_tracebacks import is_foreign

NO_FRAME = -1
_NO_NAMES = Names()


class Frame:
    """One call that is followed."""

    def __init__(self, key: int, name: str, file: str, module: dict[str, Any], outer: Frame | None) -> None:
        self.key, self.name, self.file, self.module, self.outer = key, name, file, module, outer
        self.function: Function | None = None
        self.names = _NO_NAMES
        self.cells: dict[str, Any] = {}  # of a function that exists: its closure
        self.scopes: list[dict[str, Site]] = []  # of comprehensions
        self.returns: list[tuple[Value, Store]] = []
        self.loops: list[tuple[list[Store], list[Store]]] = []  # of open loops: where `break` and `continue` lead
        self.generator: New | None = None
        self.owner: str | None = None  # the class that defines the code
        self.first: str | None = None  # the first parameter, for super()
        self.called_at: tuple[Frame, ast.AST] | None = None
        self.foreign = is_foreign(file)

    def enters(self, function: Function) -> None:
        """This is a call of that function."""
        self.function, self.names = function, names_of(function)
        self.first = self.names.first

    def with_scopes(self, scopes: tuple[tuple[tuple[str, Site], ...], ...]) -> Frame:
        """The frame in which a function was defined, with the comprehensions around it."""
        made = Frame(self.key, self.name, self.file, self.module, self.outer)
        made.names, made.cells = self.names, self.cells
        made.scopes = [dict(scope) for scope in scopes]
        made.first, made.owner = self.first, self.owner
        return made

    def mangled(self, name: str) -> str:
        """An attribute as Python calls it: `self.__total` in the body of a class is `_Class__total`."""
        private = name.startswith("__") and not name.endswith("__") and self.owner is not None
        return f"_{(self.owner or '').lstrip('_')}{name}" if private else name


class CallStack:
    """The frames of the calls in progress."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self._paths: dict[tuple[int, int, int], int] = {}  # calls by caller, place and function
        self._nodes: dict[int, ast.AST] = {}  # sites are identities of nodes: these must stay alive

    def path_of(self, node: ast.AST, function: ast.AST) -> int:
        """The number of a call: the same whenever it is followed again."""
        self._nodes[id(node)], self._nodes[id(function)] = node, function
        return self._paths.setdefault((self.frames[-1].key, id(node), id(function)), len(self._paths) + 1)

    def is_too_deep(self, function: Function, depth: int) -> bool:
        """Whether a call of this function would be the third one in progress, or deeper than `depth` calls."""
        return sum(frame.function is function for frame in self.frames) > 1 or len(self.frames) > depth


class Args:
    """The arguments of a call: what is known by position and by name, and what else there may be."""

    __slots__ = ("more", "more_named", "named", "positional")

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

    def after(self, *first: Value) -> Args:
        """These arguments after others."""
        return Args([*first, *self.positional], self.named, self.more, self.more_named)

    def rest(self) -> Args:
        """These arguments without the first."""
        return Args(self.positional[1:], self.named, self.more, self.more_named)


def frames_around(frame: Frame | None) -> set[int]:
    found: set[int] = set()
    while frame is not None:
        found.add(frame.key)
        frame = frame.outer
    return found


def frame_of_variable(key: Any) -> int:
    """The frame of a variable; that of a comprehension is identified by its place in one."""
    return int(key[0]) if isinstance(key, tuple) else int(key)

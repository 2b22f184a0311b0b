"""The stack of followed calls, and the arguments of a call."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from thalweg.analysis.program.abstract_values import NOTHING, New, Site, Value
from thalweg.analysis.program.scopes import Function, Names, names_of
from thalweg.analysis.program.store import Store
from thalweg.ir.user_tracebacks import is_foreign

NO_FRAME = -1
_NO_NAMES = Names()


class CallFrame:
    """A followed call."""

    def __init__(self, key: int, name: str, file: str, module: dict[str, Any], outer: CallFrame | None) -> None:
        self.key, self.name, self.file, self.module, self.outer = key, name, file, module, outer
        self.function: Function | None = None
        self.names = _NO_NAMES
        self.cells: dict[str, Any] = {}  # the closure of an existing function
        self.scopes: list[dict[str, Site]] = []  # of comprehensions
        self.returns: list[tuple[Value, Store]] = []
        self.loops: list[tuple[list[Store], list[Store]]] = []  # of enclosing loops: the stores at `break`, `continue`
        self.generator: New | None = None
        self.owner: str | None = None  # the class that defines the code
        self.first: str | None = None  # the first parameter, for super()
        self.called_at: tuple[CallFrame, ast.AST] | None = None
        self.foreign = is_foreign(file)

    def enters(self, function: Function) -> None:
        """Set the function that is called."""
        self.function, self.names = function, names_of(function)
        self.first = self.names.first

    def with_scopes(self, scopes: tuple[tuple[tuple[str, Site], ...], ...]) -> CallFrame:
        """The frame in which a function was defined, with the enclosing comprehensions."""
        made = CallFrame(self.key, self.name, self.file, self.module, self.outer)
        made.names, made.cells = self.names, self.cells
        made.scopes = [dict(scope) for scope in scopes]
        made.first, made.owner = self.first, self.owner
        return made

    def mangled(self, name: str) -> str:
        """The name of an attribute after name mangling: `self.__total` in the body of a class is `_Class__total`."""
        private = name.startswith("__") and not name.endswith("__") and self.owner is not None
        return f"_{(self.owner or '').lstrip('_')}{name}" if private else name


class CallStack:
    """The frames of the calls in progress."""

    def __init__(self) -> None:
        self.frames: list[CallFrame] = []
        self._paths: dict[tuple[int, int, int], int] = {}  # calls by caller, place and function
        self._nodes: dict[int, ast.AST] = {}  # sites contain the ids of nodes: the nodes must stay alive

    def path_of(self, node: ast.AST, function: ast.AST) -> int:
        """The number of a call; it is the same when the call is followed again."""
        self._nodes[id(node)], self._nodes[id(function)] = node, function
        return self._paths.setdefault((self.frames[-1].key, id(node), id(function)), len(self._paths) + 1)

    def is_too_deep(self, function: Function, depth: int) -> bool:
        """Whether a call of this function would be the third one in progress, or deeper than `depth` calls."""
        return sum(frame.function is function for frame in self.frames) > 1 or len(self.frames) > depth


class Args:
    """The arguments of a call: known ones by position and by name, and possible further ones."""

    __slots__ = ("more", "more_named", "named", "positional")

    def __init__(
        self,
        positional: Sequence[Value] = (),
        named: dict[str, Value] | None = None,
        more: Value | None = None,
        more_named: Value | None = None,
    ) -> None:
        self.positional, self.named = list(positional), dict(named or {})
        self.more, self.more_named = more, more_named  # from *args and **kwargs of unknown length

    def all(self) -> list[Value]:
        rest = [v for v in (self.more, self.more_named) if v is not None]
        return [*self.positional, *self.named.values(), *rest]

    def at(self, index: int, name: str = "") -> Value:
        if index < len(self.positional):
            return self.positional[index]
        return self.named.get(name, self.more if self.more is not None else NOTHING)

    def after(self, *first: Value) -> Args:
        """These arguments, preceded by others."""
        return Args([*first, *self.positional], self.named, self.more, self.more_named)

    def rest(self) -> Args:
        """These arguments without the first."""
        return Args(self.positional[1:], self.named, self.more, self.more_named)


def frames_around(frame: CallFrame | None) -> set[int]:
    found: set[int] = set()
    while frame is not None:
        found.add(frame.key)
        frame = frame.outer
    return found


def frame_of_variable(key: Any) -> int:
    """The frame of a variable; a variable of a comprehension is identified by its place in a frame."""
    return int(key[0]) if isinstance(key, tuple) else int(key)

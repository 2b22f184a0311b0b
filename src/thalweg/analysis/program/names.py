"""Names: locals, what closures captured, globals."""

from __future__ import annotations

import ast
import builtins
from typing import Any

from thalweg.analysis.program.frames import Frame
from thalweg.analysis.program.machine import ELEMENTS
from thalweg.analysis.program.scopes import names_of
from thalweg.analysis.program.subscripts import Subscripts
from thalweg.analysis.program.values import NOTHING, Known, Root, Site, Value, join


class Names(Subscripts):
    """Reads and assigns names."""

    def name(self, name: str, node: ast.AST) -> Value:
        frame: Frame | None = self.frame
        if name in self._declared_global(frame):
            return self._global(name, node)
        while frame is not None:
            for scope in reversed(frame.scopes):
                if name in scope:
                    return self._variable(scope[name], name, frame)
            if name in frame.locals:
                return self._variable(frame.key, name, frame)
            if name in frame.cells:
                return self._cell(frame.cells[name], name, node)
            frame = frame.outer
        return self._global(name, node)

    def _declared_global(self, frame: Frame | None) -> frozenset[str]:
        return names_of(self.active[-1])[2] if self.active else frozenset()

    def _variable(self, key: int | Site, name: str, frame: Frame) -> Value:
        if name in frame.later:
            return self.later.get((key, name), NOTHING)
        assert self.store is not None
        return self.store.variables.get((key, name), NOTHING)

    def _cell(self, cell: Any, name: str, node: ast.AST) -> Value:
        self.notes.saw((cell, ""), self.reason(f"reads the captured {name}", node))
        rebound = self.get(Known(cell, Root("the captured", name)), ELEMENTS)
        try:
            held = cell.cell_contents
        except ValueError:  # not yet assigned
            return rebound or self.unknown(f"uses {name}, which is not there yet", node)
        return join((frozenset((Known(held, Root.of("the captured", name, held)),)), rebound))

    def _global(self, name: str, node: ast.AST) -> Value:
        if name in self.frame.module:
            return self.module_attribute(self.frame.module, name, name, node)
        if hasattr(builtins, name):
            return frozenset((Known(getattr(builtins, name)),))
        return self.unknown(f"uses {name}, which is not there yet", node)

    def assign_name(self, name: str, value: Value, node: ast.AST, *, in_comprehension: bool = True) -> None:
        frame = self.frame
        if in_comprehension and frame.scopes and name in frame.scopes[-1]:
            key = (frame.scopes[-1][name], name)
            self._set(key, name, value, frame)
            return
        _, _, out, up = names_of(self.active[-1])
        if name in out:
            self._change_name(Known(frame.module, Root("the global", name)), (frame.module, name), name, value, node)
            return
        if name in up:
            self._nonlocal(name, value, node)
            return
        self._set((frame.key, name), name, value, frame)

    def _set(self, key: tuple[Any, str], name: str, value: Value, frame: Frame) -> None:
        if name in frame.later:
            old = self.later.get(key, NOTHING)
            self.later[key] = join((old, value))
            self.changed |= self.later[key] != old
        elif self.store is not None:
            self.store.set(key, value)
            self.touch()

    def _nonlocal(self, name: str, value: Value, node: ast.AST) -> None:
        frame = self.frame.outer
        while frame is not None:
            if name in frame.locals:
                self._set((frame.key, name), name, value, frame)
                return
            if name in frame.cells:
                cell = frame.cells[name]
                self._change_name(Known(cell, Root("the captured", name)), (cell, ""), name, value, node)
                return
            frame = frame.outer

    def _change_name(self, owner: Known, place: tuple[object, str], name: str, value: Value, node: ast.AST) -> None:
        assert owner.root is not None
        self._change(owner.root, place, f"writes {owner.root}", node)
        self.put(owner, name if place[1] else ELEMENTS, value)

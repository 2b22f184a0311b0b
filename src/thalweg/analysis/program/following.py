"""Calls of the user's functions: their code is followed as if it stood there."""

from __future__ import annotations

import ast
import copy
import types
from typing import Any

from thalweg.analysis.program.attributes import Attributes
from thalweg.analysis.program.frames import MAX_DEPTH, NO_FRAME, Args, Frame, frame_of_variable, frames_around
from thalweg.analysis.program.machine import ELEMENTS
from thalweg.analysis.program.notes import Copied, both
from thalweg.analysis.program.scopes import Function, body_of, is_generator, names_of, parameters, suspends
from thalweg.analysis.program.store import ANY_NUMBER, Count, meet
from thalweg.analysis.program.tables import ITERATOR
from thalweg.analysis.program.values import NOTHING, STR, Known, New, Root, Value, join, only
from thalweg.ir.declarations import declared_of_function
from thalweg.ir.facts import STATELESS
from thalweg.ir.secret import Secret
from thalweg.lang.source_place import function_node


class Following(Attributes):
    """Follows functions."""

    def __init__(self) -> None:
        super().__init__()
        self.yielded: dict[New, Copied | None] = {}  # of generators: what all their tuples are copies of
        self.active: list[Function] = []

    def run_body(self, statements: Any) -> None:
        raise NotImplementedError

    def call_function(self, function: types.FunctionType, args: Args, node: ast.AST) -> Value:
        """A function that exists, by its source. What is declared of it counts wherever it is called."""
        said = declared_of_function(function)
        if function.__module__ == Secret.__module__:
            return STR
        if said is None or (said.state != STATELESS and said.effects is None):
            return self._by_source(function, args, node)
        before = copy.copy(self.notes)
        self.notes = self.notes.fresh()
        try:
            return self._by_source(function, args, node)
        finally:
            self.notes = before.with_more(self.notes, said.effects)

    def _by_source(self, function: types.FunctionType, args: Args, node: ast.AST) -> Value:
        found = function_node(function.__code__)
        name = function.__qualname__.rpartition("<locals>.")[2]
        if found is None or not _same_names(found, function.__code__):
            return self.unknown(f"calls {name}, whose source is not at hand", node, *args.all())
        outer = Frame(NO_FRAME, name, function.__code__.co_filename, function.__globals__, None)
        outer.owner = _owner(function)
        outer.cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        defaults: dict[str, Value] = {}
        positional = [a.arg for a in (*found.args.posonlyargs, *found.args.args)]
        given = function.__defaults__ or ()
        for parameter, held in [
            *zip(positional[len(positional) - len(given) :], given, strict=True),
            *(function.__kwdefaults__ or {}).items(),
        ]:
            defaults[parameter] = frozenset((Known(held, Root.of("the default argument", parameter, held)),))
        return self.follow(found, args, node, outer, defaults, name)

    def follow(
        self, function: Function, args: Args, node: ast.AST, outer: Frame, defaults: dict[str, Value], name: str
    ) -> Value:
        if suspends(function):
            return self.unknown(f"calls {name}, a coroutine", node, *args.all())
        if sum(function is one for one in self.active) > 1 or len(self.frames) > MAX_DEPTH:
            captured = [v for (key, _), v in self.later.items() if frame_of_variable(key) in frames_around(outer)]
            return self.unknown(f"calls {name} again, or too deep", node, *args.all(), *captured)
        frame = Frame(self.path_of(node, function), name, outer.file, outer.module, outer)
        frame.locals, frame.later, _, _ = names_of(function)
        frame.owner = outer.owner
        frame.first = next(iter(parameters(function)), None)
        frame.called_at = (self.frames[-1], node) if self.frames else None
        bound = self._bound(function, args, defaults, node, frame)
        if bound is None:
            return self.unknown(f"calls {name} in another way than it is declared", node, *args.all())
        self.frames.append(frame)
        self.active.append(function)
        try:
            for parameter, value in bound.items():
                self.bind(parameter, value)
            return self._generator(frame, function, node) if is_generator(function) else self._run(frame, function)
        finally:
            self.frames.pop()
            self.active.pop()
            if self.store is not None:
                self.store.leave(frame.key)

    def bind(self, name: str, value: Value) -> None:
        """A local variable of the current frame gets a value."""
        key = (self.frame.key, name)
        if name in self.frame.later:
            old = self.later.get(key, NOTHING)
            self.later[key] = join((old, value))
            self.changed |= self.later[key] != old
        elif self.store is not None:
            self.store.set(key, value)
            self.touch()

    def _run(self, frame: Frame, function: Function) -> Value:
        loops, self.loops = self.loops, []
        self.run_body(body_of(function))
        self.loops = loops
        if self.store is not None:
            frame.returns.append((frozenset((Known(None),)), self.store))
        self.store = meet(store for _, store in frame.returns)
        return join(value for value, _ in frame.returns)

    def _generator(self, frame: Frame, function: Function, node: ast.AST) -> Value:
        """The code of a generator runs when somebody takes from it: perhaps not at all, perhaps not to its end."""
        item = New((frame.key, id(node), "generator"), ITERATOR)
        frame.generator = item
        assert self.store is not None
        self.store.taken(item)
        length = self.run_later(lambda: self._counted(frame, function, item))
        self.store.taken(item)
        self.store.make(item, length)
        return frozenset((item,))

    def _counted(self, frame: Frame, function: Function, item: New) -> Count:
        """How many values a generator gives. One without an end is left by an exception, anywhere."""
        self._run(frame, function)
        return ANY_NUMBER if self.store is None else self.store.counts.get(item, (0, 0))

    def _bound(
        self, function: Function, args: Args, defaults: dict[str, Value], node: ast.AST, frame: Frame
    ) -> dict[str, Value] | None:
        """Parameters with their values."""
        declared = function.args
        names = [a.arg for a in (*declared.posonlyargs, *declared.args)]
        found: dict[str, Value] = dict(zip(names, args.positional, strict=False))
        extra = args.positional[len(names) :]
        every = {*names, *(a.arg for a in declared.kwonlyargs)}
        named = {k: v for k, v in args.named.items() if k in every}
        loose = {k: v for k, v in args.named.items() if k not in every}
        if (extra and declared.vararg is None) or (loose and declared.kwarg is None) or found.keys() & named.keys():
            return None
        found |= named
        for name in every - found.keys():
            rest = [v for v in (args.more if name in names else None, args.more_named) if v is not None]
            default = defaults.get(name, NOTHING)
            if not rest and not default and name not in defaults:
                return None
            found[name] = join((*rest, default))
        if declared.vararg is not None:
            fixed = args.more is None
            length = (len(extra), len(extra)) if fixed else ANY_NUMBER
            found[declared.vararg.arg] = self._packed(
                tuple, frame, "args", join((*extra, args.more or NOTHING)), length
            )
            if fixed:
                self.set_fields(_new(found[declared.vararg.arg]), dict(enumerate(extra)))
        if declared.kwarg is not None:
            held = join((*loose.values(), args.more_named or NOTHING))
            found[declared.kwarg.arg] = self._packed(dict, frame, "kwargs", held, ANY_NUMBER)
            self.put(_new(found[declared.kwarg.arg]), "{}", STR)
            if args.more_named is None:
                self.set_fields(_new(found[declared.kwarg.arg]), loose)
        return found

    def _packed(self, kind: type, frame: Frame, tag: str, held: Value, length: Any) -> Value:
        item = New((frame.key, 0, tag), kind)
        assert self.store is not None
        self.store.make(item, length)
        self.put(item, ELEMENTS, held)
        return frozenset((item,))

    def yields(self, value: Value, copied: Copied | None, count: Any, node: ast.AST) -> None:
        """A generator gives a value, or several."""
        item = self.frame.generator
        assert item is not None
        if not value and count != (0, 0):
            self.lose("yields something that cannot be read", node)
        self.put(item, ELEMENTS, value)
        self.yielded[item] = both(self.yielded.get(item), copied)
        if self.store is not None:
            self.store.emit(item, count)
            self.touch()
            self.suspend()


def _new(value: Value) -> New:
    item = only(value)
    assert isinstance(item, New)
    return item


def _same_names(node: Function, code: types.CodeType) -> bool:
    """Whether the source at hand is that of the code: a file may have changed since."""
    count = code.co_argcount + code.co_kwonlyargcount
    return parameters(node)[:count] == list(code.co_varnames[:count])


def _owner(function: types.FunctionType) -> str | None:
    """The class in whose body a function stands: names like `__total` mean another one there."""
    around = function.__qualname__.rpartition(".")[0].rpartition(".")[2]
    return around if around and around != "<locals>" else None

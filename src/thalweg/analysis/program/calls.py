"""Calls: of the user's functions, which are followed, of classes, and of everything else that can be called."""

from __future__ import annotations

import ast
import functools
import operator
import types
from typing import Any

from thalweg.analysis.program import outside
from thalweg.analysis.program.attributes import Attributes
from thalweg.analysis.program.machine import ELEMENTS, MAX_DEPTH, NO_FRAME, Args, Frame
from thalweg.analysis.program.notes import Copied, both
from thalweg.analysis.program.scopes import Function, body_of, is_generator, names_of, parameters, suspends
from thalweg.analysis.program.store import ANY_NUMBER, Store, meet
from thalweg.analysis.program.tables import ITERATOR
from thalweg.analysis.program.values import (
    NOTHING,
    PLAINS,
    STR,
    Anything,
    Bound,
    Func,
    Item,
    Known,
    Method,
    New,
    Root,
    Submit,
    Value,
    aged,
    join,
    only,
)
from thalweg.lang.place import function_node


class Calls(Attributes):
    """Follows calls."""

    def __init__(self) -> None:
        super().__init__()
        self.yielded: dict[New, Copied | None] = {}  # of generators: what all their tuples are copies of
        self.active: list[Function] = []

    def run_body(self, statements: Any) -> None:
        raise NotImplementedError

    def emit(self, args: Args, node: ast.AST) -> Value:
        raise NotImplementedError

    def make_object(self, cls: type, args: Args, node: ast.AST) -> Value:
        raise NotImplementedError

    def call(self, callee: Value, args: Args, node: ast.AST) -> Value:
        """A call of what may be several things: a path for each."""
        self.step()
        before = self.store
        if before is None:
            return NOTHING
        if len(callee) == 1:
            return self._call(next(iter(callee)), args, node, surely=True)
        found: list[Value] = []
        after: list[Store | None] = []
        for item in callee:
            self.store = before.copy()
            found.append(self._call(item, args, node, surely=False))
            after.append(self.store)
        self.store = meet(after) if after else before
        return join(found)

    def _call(self, item: Item, args: Args, node: ast.AST, *, surely: bool) -> Value:
        match item:
            case Func(_, function, frame, scopes):
                defaults = {name: self.get(item, f"default {name}") for name in parameters(function)}
                return self._follow(
                    function, args, node, _frame_of(frame, scopes), defaults, getattr(function, "name", "a lambda")
                )
            case Bound(function, receiver):
                if isinstance(function, types.FunctionType):
                    return self.call_function(function, _with(receiver, args), node)
                return self._call(Known(function), _with(receiver, args), node, surely=surely)
            case Method(receiver, name):
                return self.call_method(receiver, name, args, node, surely=surely)
            case Submit():
                return self.emit(args, node)
            case New(_, kind) if kind is functools.partial:
                return self._partial(item, args, node)
            case New(_, kind):
                method = self.get_attribute(frozenset((item,)), "__call__", node)
                return self.call(method, args, node) if method and outside.is_python_class(kind) else NOTHING
            case Known(value=value):
                return self._call_known(item, value, args, node, surely)
            case Anything():
                return self.unknown(
                    f"calls {_shown(node)}, which cannot be read", node, frozenset((item,)), *args.all()
                )
        return NOTHING  # not callable: an exception

    def _call_known(self, item: Known, value: Any, args: Args, node: ast.AST, surely: bool) -> Value:
        if isinstance(value, types.FunctionType):
            known = self.call_built_in(value, args, node)
            return known if known is not None else self.call_function(value, args, node)
        if isinstance(value, types.MethodType):
            known = self.call_built_in(value, args, node)
            root = item.root or Root.of("the object", type(value.__self__).__name__, value.__self__)
            receiver = Known(value.__self__, None if isinstance(value.__self__, type) else root)
            return known if known is not None else self.call(frozenset((Bound(value.__func__, receiver),)), args, node)
        if isinstance(value, functools.partial):
            named = {k: frozenset[Item]((Known(v, item.root),)) for k, v in value.keywords.items()}
            given = [frozenset[Item]((Known(v, item.root),)) for v in value.args]
            merged = Args([*given, *args.positional], named | args.named, args.more, args.more_named)
            return self.call(frozenset((Known(value.func, item.root),)), merged, node)
        if isinstance(value, functools._lru_cache_wrapper):
            made = self.call(frozenset((Known(value.__wrapped__),)), args, node)
            return aged(made, Root("the cache of", value.__wrapped__.__name__))
        if isinstance(value, types.MethodDescriptorType | types.WrapperDescriptorType):
            rest = Args(args.positional[1:], args.named, args.more, args.more_named)
            return join(self.call_method(i, value.__name__, rest, node, surely=False) for i in args.at(0))
        if isinstance(value, operator.attrgetter | operator.itemgetter):
            return self._getter(value, args, node)
        known = self.call_built_in(value, args, node)
        if known is not None:
            return known
        if isinstance(value, types.BuiltinFunctionType) and not isinstance(value.__self__, types.ModuleType | None):
            receiver = Known(value.__self__, item.root)
            return self.call_method(receiver, value.__name__, args, node, surely=surely)
        if isinstance(value, type):
            return self.make_object(value, args, node)
        method = outside.class_attribute(type(value), "__call__")
        if isinstance(method, types.FunctionType):
            root = item.root or Root.of("the object", type(value).__name__, value)
            return self.call_function(method, _with(Known(value, root), args), node)
        return self.unknown(f"calls {_shown(node)}, whose code cannot be read", node, frozenset((item,)), *args.all())

    def _getter(self, getter: Any, args: Args, node: ast.AST) -> Value:
        names = getter.__reduce__()[1]
        if isinstance(getter, operator.itemgetter) or len(names) > 1 or "." in names[0]:
            self.pure(object, "a getter", args, node)
            return join((*(self.contents(i) for i in args.at(0)), PLAINS, self.tree(node)))
        return self.get_attribute(args.at(0), names[0], node)

    def make_partial(self, args: Args, node: ast.AST) -> Value:
        item = self.make(functools.partial, node)
        self.put(item, "func", args.at(0))
        for index, value in enumerate(args.positional[1:]):
            self.put(item, f"arg {index}", value)
        for name, value in args.named.items():
            self.put(item, f"named {name}", value)
        return frozenset((item,))

    def _partial(self, item: New, args: Args, node: ast.AST) -> Value:
        held = self.memory.get(item, {})
        given = [held[f"arg {i}"] for i in range(len(held)) if f"arg {i}" in held]
        named = {k.removeprefix("named "): v for k, v in held.items() if k.startswith("named ")}
        merged = Args([*given, *args.positional], named | args.named, args.more, args.more_named)
        return self.call(self.get(item, "func"), merged, node)

    # The user's functions.

    def call_function(self, function: types.FunctionType, args: Args, node: ast.AST) -> Value:
        """A function that exists, by its source."""
        found = function_node(function.__code__)
        name = function.__qualname__.rpartition("<locals>.")[2]
        if found is None or not _same_names(found, function.__code__):
            return self.unknown(f"calls {name}, whose source is not at hand", node, *args.all())
        outer = Frame(NO_FRAME, name, function.__code__.co_filename, function.__globals__, None)
        outer.cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        defaults: dict[str, Value] = {}
        positional = [a.arg for a in (*found.args.posonlyargs, *found.args.args)]
        given = function.__defaults__ or ()
        for parameter, held in [
            *zip(positional[len(positional) - len(given) :], given, strict=True),
            *(function.__kwdefaults__ or {}).items(),
        ]:
            defaults[parameter] = frozenset((Known(held, Root.of("the default argument", parameter, held)),))
        return self._follow(found, args, node, outer, defaults, name)

    def _follow(
        self, function: Function, args: Args, node: ast.AST, outer: Frame, defaults: dict[str, Value], name: str
    ) -> Value:
        if suspends(function):
            return self.unknown(f"calls {name}, a coroutine", node, *args.all())
        if sum(function is one for one in self.active) > 1 or len(self.frames) > MAX_DEPTH:
            return self.unknown(f"calls {name} again, or too deep", node, *args.all())
        frame = Frame(self.path_of(node, function), name, outer.file, outer.module, outer)
        frame.locals, frame.later, _, _ = names_of(function)
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
        frame.generator, frame.lazy = item, True
        before = self.store
        assert before is not None
        before = before.copy()
        assert self.store is not None
        self.store.taken(item)
        self._run(frame, function)
        length = (0, 0) if self.store is None else self.store.taken(item)
        self.store = meet((before, self.store))
        assert self.store is not None
        self.store.taken(item)
        self.store.make(item, length)
        return frozenset((item,))

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
        self.put(item, ELEMENTS, value)
        self.yielded[item] = both(self.yielded.get(item), copied)
        if self.store is not None:
            self.store.emit(item, count)
            self.touch()


def _with(receiver: Item, args: Args) -> Args:
    return Args([frozenset((receiver,)), *args.positional], args.named, args.more, args.more_named)


def _frame_of(frame: Frame, scopes: tuple[tuple[tuple[str, Any], ...], ...]) -> Frame:
    """The frame in which a function was defined, with the comprehensions around it."""
    made = Frame(frame.key, frame.name, frame.file, frame.module, frame.outer)
    made.locals, made.later, made.cells = frame.locals, frame.later, frame.cells
    made.scopes = [dict(scope) for scope in scopes]
    made.first = frame.first
    return made


def _new(value: Value) -> New:
    item = only(value)
    assert isinstance(item, New)
    return item


def _shown(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        text = ast.unparse(node.func)
        return text if len(text) <= 40 else f"{text[:37]}…"
    return "something"


def _same_names(node: Function, code: types.CodeType) -> bool:
    """Whether the source at hand is that of the code: a file may have changed since."""
    count = code.co_argcount + code.co_kwonlyargcount
    return parameters(node)[:count] == list(code.co_varnames[:count])

"""Calls of everything that can be called."""

from __future__ import annotations

import ast
import datetime as dt
import enum
import functools
import operator
import types
import uuid
from collections.abc import Sequence
from typing import Any

from thalweg.analysis.program import outside
from thalweg.analysis.program.following import Following
from thalweg.analysis.program.frames import Args, Frame
from thalweg.analysis.program.machine import ELEMENTS
from thalweg.analysis.program.scopes import parameters
from thalweg.analysis.program.store import Store, meet
from thalweg.analysis.program.tables import MUTATORS, pure_result
from thalweg.analysis.program.values import (
    NOTHING,
    STATE,
    STR,
    SUBMIT,
    UNKNOWN,
    Anything,
    Bound,
    Func,
    Given,
    Item,
    Known,
    Method,
    New,
    Of,
    Part,
    Root,
    Row,
    Submit,
    Value,
    join,
    literal,
    types_of,
)
from thalweg.ir.facts import IO, RANDOMNESS, TIME, UNKNOWN_CALL
from thalweg.ir.logic import Logic

_ONE_FORM = (int, str, bytes, type(None), dt.date, uuid.UUID, tuple, frozenset)  # with what these hold


class Calls(Following):
    """Finds out what is called."""

    def subscript(self, owner: Value, index: Value, node: ast.AST) -> Value:
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
            item = next(iter(callee))
            return self._something(item, self._call(item, args, node, surely=True), node, surely=True)
        if not callee:
            return self.lose(f"calls {_shown(node)}, of which nothing is known", node)
        found: list[Value] = []
        after: list[Store | None] = []
        for item in callee:
            self.store = before.copy()
            found.append(self._something(item, self._call(item, args, node, surely=False), node, surely=False))
            after.append(self.store)
        self.store = meet(after) if after else before
        return join(found)

    def _something(self, item: Item, found: Value, node: ast.AST, *, surely: bool) -> Value:
        """The result of a call: there is one, unless it raises."""
        if found or self.store is None:
            return found
        called = item.receiver if isinstance(item, Method) else item
        if isinstance(called, Given) or (isinstance(called, Of) and not surely):
            return self.raises()  # the list of a tuple refuses to change, a number cannot be called
        return self.lose(f"calls {_shown(node)}, of whose result nothing is known", node)

    def _call(self, item: Item, args: Args, node: ast.AST, *, surely: bool) -> Value:
        match item:
            case Func(_, function, frame, scopes):
                defaults = {name: self.get(item, f"default {name}") for name in parameters(function)}
                return self.follow(
                    function, args, node, _frame_of(frame, scopes), defaults, getattr(function, "name", "a lambda")
                )
            case Bound(function, receiver):
                if function is Logic.submit:
                    return self._submit(receiver, args, node)
                if isinstance(function, types.FunctionType):
                    return self.call_function(function, _with(receiver, args), node)
                return self._call(Known(function), _with(receiver, args), node, surely=surely)
            case Method(receiver, "__init__") if not args.all() and self._has_no_init(receiver):
                return frozenset((Known(None),))
            case Method(receiver, name):
                found = self.call_method(receiver, name, args, node, surely=surely)
                if any(name in MUTATORS.get(kind, ()) for kind in types_of(receiver) or ()):
                    self.alias_changed(receiver)
                return found
            case Submit():
                return self.emit(args, node)
            case New(_, kind) if kind is functools.partial:
                return self._partial(item, args, node)
            case New(_, kind) | Part(_, kind) if outside.is_python_class(kind):
                return self.call(self.get_attribute(frozenset((item,)), "__call__", node), args, node)
            case Row():
                return self.call(self.get_attribute(frozenset((item,)), "__call__", node), args, node)
            case New() | Part():
                return self.unknown(f"calls {_shown(node)}, which was kept", node, frozenset((item,)), UNKNOWN)
            case Known(value=value):
                return self._call_known(item, value, args, node, surely)
            case Anything():
                return self.unknown(
                    f"calls {_shown(node)}, which cannot be read", node, frozenset((item,)), *args.all()
                )
        return NOTHING  # not callable: an exception

    def _submit(self, receiver: Item, args: Args, node: ast.AST) -> Value:
        """`Operator.submit`, by whatever way it is reached."""
        if isinstance(receiver, Known) and receiver.root == STATE and isinstance(receiver.value, Logic):
            return self.emit(args, node)
        return self.unknown("submits for another operator", node, frozenset((receiver, SUBMIT)), *args.all())

    def _has_no_init(self, receiver: Item) -> bool:
        """Whether `super().__init__()` is that of object, which does nothing."""
        classes = self.classes_of(receiver)
        return bool(classes) and all(outside.is_python_class(cls) for cls in classes)

    def _call_known(self, item: Known, value: Any, args: Args, node: ast.AST, surely: bool) -> Value:
        if value is Logic.submit and args.positional:
            rest = Args(args.positional[1:], args.named, args.more, args.more_named)
            return join(self._submit(receiver, rest, node) for receiver in args.at(0))
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
            return self._cached(value.__wrapped__, args, node)
        if isinstance(value, types.MethodDescriptorType | types.WrapperDescriptorType):
            rest = Args(args.positional[1:], args.named, args.more, args.more_named)
            return join(self._call(Method(i, value.__name__), rest, node, surely=False) for i in args.at(0))
        if value is str and len(args.all()) == 1 and self.shows_itself(args.at(0), ("__str__", "__repr__"), node):
            return STR
        if value is getattr and len(args.positional) == 3:
            name = literal(args.at(1))
            if name is not None and isinstance(name.value, str):
                return join((self.attribute_if_there(args.at(0), name.value, node), args.at(2)))
        if value is operator.setitem or value is operator.delitem:
            for changed in args.at(0):
                self.alias_changed(changed)
        if value is operator.getitem and len(args.positional) == 2:
            return self.subscript(args.at(0), args.at(1), node)
        if pure_result(value) is not None and any(map(outside.has_own_metaclass, _values(args))):
            return self.unknown(f"{_shown(node)} asks a class that cannot be read", node, *args.all())
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

    def _cached(self, function: Any, args: Args, node: ast.AST) -> Value:
        """A cache of what only depends on the arguments is no state; one of what was drawn or measured is."""
        effects, self.notes.effects = self.notes.effects, {}
        try:
            made = self.call(frozenset((Known(function),)), args, node)
        finally:
            own = self.notes.effects
            self.notes.effects = effects | own
        name = getattr(function, "__name__", "a function")
        if any(effect.kind in (RANDOMNESS, TIME, IO) for effect in own):
            self.effect(UNKNOWN_CALL, f"the cache of {name} keeps what is another one at each call", node)
        if not all(map(_has_one_form, self.reach(args.all()))):
            self.effect(UNKNOWN_CALL, f"the cache of {name} takes what is equal for the same, like 0.0 and -0.0", node)
        holder = Known(function, Root.of("the cache of", name, function))
        self.put(holder, ELEMENTS, made)  # every place that calls it gets the same
        return self.get(holder, ELEMENTS)

    def shows_itself(self, value: Value, names: Sequence[str], node: ast.AST) -> bool:
        """Whether all these are objects whose classes say in Python how they are shown; that is followed."""
        methods: list[Value] = []
        for item in value:
            held = [outside.own_code(cls, name) for cls in self.classes_of(item) for name in names]
            own = next((one for one in held if one is not None), None)
            if own is None:
                return False
            methods.append(frozenset((Bound(own, item),)))
        for method in methods:
            function = next(i.function for i in method if isinstance(i, Bound))
            self.call(method, Args([STR] if function.__name__ == "__format__" else []), node)
        return bool(methods)

    def _getter(self, getter: Any, args: Args, node: ast.AST) -> Value:
        names = getter.__reduce__()[1]
        found: list[Value] = []
        for name in names:
            if isinstance(getter, operator.itemgetter):
                found.append(self.subscript(args.at(0), frozenset((Known(name),)), node))
                continue
            value = args.at(0)
            for part in name.split("."):
                value = self.get_attribute(value, part, node)
            found.append(value)
        return found[0] if len(found) == 1 else self.made(tuple, node, join(found), tag="got")

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


def _has_one_form(item: Item) -> bool:
    """Whether what is equal to it is the same: no float, Decimal, bool (1 == True) or date and time (of two zones)."""
    if isinstance(item, Known) and isinstance(item.value, type | types.FunctionType | enum.Enum):
        return True
    return all(kind in _ONE_FORM for kind in types_of(item) or (object,))


def _with(receiver: Item, args: Args) -> Args:
    return Args([frozenset((receiver,)), *args.positional], args.named, args.more, args.more_named)


def _values(args: Args) -> list[object]:
    """The objects that exist among arguments, also in tuples: `isinstance(x, (A, B))`."""
    held = [item.value for value in args.all() for item in value if isinstance(item, Known)]
    return [*held, *(one for value in held if type(value) is tuple for one in value)]


def _frame_of(frame: Frame, scopes: tuple[tuple[tuple[str, Any], ...], ...]) -> Frame:
    """The frame in which a function was defined, with the comprehensions around it."""
    made = Frame(frame.key, frame.name, frame.file, frame.module, frame.outer)
    made.locals, made.later, made.cells = frame.locals, frame.later, frame.cells
    made.scopes = [dict(scope) for scope in scopes]
    made.first, made.owner = frame.first, frame.owner
    return made


def _shown(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        text = ast.unparse(node.func)
        return text if len(text) <= 40 else f"{text[:37]}…"
    return "something"

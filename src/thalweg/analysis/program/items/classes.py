"""Calls of classes: the objects that the code creates."""

from __future__ import annotations

import abc
import ast
import dataclasses
import enum
import functools
import operator
import types
from typing import Any

from thalweg.analysis.program import live_objects
from thalweg.analysis.program.abstract_values import ATOMS, NOTHING, Bound, Known, Root, Value, join, just, literal
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.contents import is_plain
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.memory import ELEMENTS, EXCEPTIONS
from thalweg.ir.tuple_copies import METACLASSES
from thalweg.lang.tuples import Tuple, plain


def make_object(m: Machine, cls: Any, args: Args, node: ast.AST) -> Value:
    if cls is functools.partial:
        return _make_partial(m, args, node)
    if cls in (operator.attrgetter, operator.itemgetter):
        return _make_getter(m, cls, args, node)
    if issubclass(cls, enum.Enum):
        members = live_objects.summary(list(cls), None)
        return members if is_plain(m, *args.all()) else _cannot_be_read(m, cls, args, node)
    if issubclass(cls, BaseException):
        return _make_exception(m, cls, args, node)
    if issubclass(cls, Tuple) and hasattr(cls, "tuple_type") and plain(cls):
        return _with_fields(m, cls, list(cls.tuple_type.names), {}, args, node)
    if issubclass(cls, tuple) and hasattr(cls, "_fields") and live_objects.is_named_tuple(cls):
        defaults = {n: _default(cls, n, v) for n, v in getattr(cls, "_field_defaults", {}).items()}
        return _with_fields(m, tuple, list(cls._fields), defaults, args, node)
    metaclass_is_plain = type(cls) in (type, abc.ABCMeta, *METACLASSES)
    special = cls.__new__ is not object.__new__ or hasattr(cls, "__del__")
    if special or not metaclass_is_plain or not live_objects.is_python_class(cls):
        return _cannot_be_read(m, cls, args, node)
    init = live_objects.class_attribute(cls, "__init__")
    code = getattr(init, "__code__", None)
    if dataclasses.is_dataclass(cls) and code and code.co_filename == "<string>":
        return _make_dataclass(m, cls, args, node)
    item = m.make(cls, node)
    if isinstance(init, types.FunctionType):
        m.call(just(Bound(init, item)), args, node)
    elif init is not object.__init__:
        return _cannot_be_read(m, cls, args, node)
    return just(item)


def _cannot_be_read(m: Machine, cls: type, args: Args, node: ast.AST) -> Value:
    return m.unknown(f"creates a {cls.__name__}, whose code cannot be analyzed", node, *args.all())


def _make_partial(m: Machine, args: Args, node: ast.AST) -> Value:
    item = m.make(functools.partial, node)
    m.put(item, "func", args.at(0))
    for index, value in enumerate(args.positional[1:]):
        m.put(item, f"arg {index}", value)
    for name, value in args.named.items():
        m.put(item, f"named {name}", value)
    return just(item)


def _make_getter(m: Machine, cls: Any, args: Args, node: ast.AST) -> Value:
    names = [literal(v) for v in args.positional]
    if not names or any(name is None for name in names):
        return _cannot_be_read(m, cls, args, node)
    return just(Known(cls(*(name.value for name in names if name is not None))))


def _make_exception(m: Machine, cls: type, args: Args, node: ast.AST) -> Value:
    init = live_objects.class_attribute(cls, "__init__")
    item = m.make(cls, node)
    m.put(item, ELEMENTS, join(args.all()))
    if live_objects.own_operators(cls) or not is_plain(m, *args.all()):
        m.put(EXCEPTIONS, ELEMENTS, just(item))
    if isinstance(init, types.FunctionType):
        m.call(just(Bound(init, item)), args, node)
    return just(item)


def _default(cls: type, name: str, value: object) -> Value:
    if isinstance(value, ATOMS):
        return just(Known(value))
    return just(Known(value, Root.of("the default", f"{cls.__name__}.{name}", value)))


def _make_dataclass(m: Machine, cls: Any, args: Args, node: ast.AST) -> Value:
    code = cls.__init__.__code__
    names = list(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])
    fields = dataclasses.fields(cls)
    if {field.name for field in fields if field.init} != set(names) or live_objects.sets_itself(cls, names):
        return _cannot_be_read(m, cls, args, node)
    defaults: dict[str, Value] = {}
    for field in fields:
        if field.default is not dataclasses.MISSING:
            defaults[field.name] = _default(cls, field.name, field.default)
        elif field.default_factory is not dataclasses.MISSING:
            defaults[field.name] = m.call(just(Known(field.default_factory)), Args(), node)
    made = _with_fields(m, cls, names, defaults, args, node, code.co_argcount - 1)
    post = live_objects.class_attribute(cls, "__post_init__")
    for item in made:
        for name, value in defaults.items():
            if name not in names:
                m.put(item, name, value)
        if isinstance(post, types.FunctionType):
            m.call(just(Bound(post, item)), Args(), node)
    return made


def _with_fields(
    m: Machine,
    cls: type,
    names: list[str],
    defaults: dict[str, Value],
    args: Args,
    node: ast.AST,
    positional: int | None = None,
) -> Value:
    """An object that holds its arguments under names; `positional`: how many of them may be positional."""
    given = dict(zip(names, args.positional, strict=False)) | args.named
    most = len(names) if positional is None else positional
    if len(args.positional) > most or not args.named.keys() <= set(names):
        return m.lose(f"creates a {cls.__name__} with arguments that do not match its fields", node)
    rest = [v for v in (args.more, args.more_named) if v is not None]
    values: dict[str, Value] = {}
    for name in names:
        values[name] = given[name] if name in given else join((*rest, defaults.get(name, NOTHING)))
    item = m.make(cls, node, "object", (len(names), len(names)))
    for name, value in values.items():
        m.put(item, name, value)
        m.put(item, ELEMENTS, value)
    by_index = dict(enumerate(values.values())) if cls is tuple else {}
    m.set_fields(item, {**values, **by_index})
    return just(item)

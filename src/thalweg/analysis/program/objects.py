"""Objects that the code makes of classes."""

from __future__ import annotations

import abc
import ast
import dataclasses
import enum
import functools
import operator
import types
from typing import Any

from thalweg.analysis.program import outside
from thalweg.analysis.program.calls import Calls
from thalweg.analysis.program.frames import Args
from thalweg.analysis.program.machine import ELEMENTS, EXCEPTIONS
from thalweg.analysis.program.values import ATOMS, NOTHING, Bound, Known, New, Root, Value, join, literal
from thalweg.lang.tuples import Tuple, plain


class Objects(Calls):
    """Calls of classes."""

    def make_object(self, cls: type, args: Args, node: ast.AST) -> Value:
        if cls is functools.partial:
            return self.make_partial(args, node)
        if cls in (operator.attrgetter, operator.itemgetter):
            return self._getter_of(cls, args, node)
        if issubclass(cls, enum.Enum):
            return outside.summary(list(cls), None) if self.plain(*args.all()) else self._strange(cls, args, node)
        if issubclass(cls, BaseException):
            return self._exception(cls, args, node)
        if issubclass(cls, Tuple) and hasattr(cls, "tuple_type") and plain(cls):
            return self._of_fields(cls, list(cls.tuple_type.names), {}, args, node)
        if issubclass(cls, tuple) and hasattr(cls, "_fields") and outside.is_named_tuple(cls):
            defaults = {n: self._default_of(cls, n, v) for n, v in getattr(cls, "_field_defaults", {}).items()}
            return self._of_fields(tuple, list(cls._fields), defaults, args, node)
        metaclass_is_plain = type(cls) in (type, abc.ABCMeta, type(Tuple))
        strange = cls.__new__ is not object.__new__ or hasattr(cls, "__del__")
        if strange or not metaclass_is_plain or not outside.is_python_class(cls):
            return self._strange(cls, args, node)
        init = outside.class_attribute(cls, "__init__")
        if (
            dataclasses.is_dataclass(cls)
            and getattr(init, "__code__", None)
            and init.__code__.co_filename == "<string>"
        ):
            return self._dataclass(cls, args, node)
        item = self.make(cls, node)
        if isinstance(init, types.FunctionType):
            self.call(frozenset((Bound(init, item),)), args, node)
        elif init is not object.__init__:
            return self._strange(cls, args, node)
        return frozenset((item,))

    def _strange(self, cls: type, args: Args, node: ast.AST) -> Value:
        return self.unknown(f"makes a {cls.__name__}, whose code cannot be read", node, *args.all())

    def _getter_of(self, cls: Any, args: Args, node: ast.AST) -> Value:
        names = [literal(v) for v in args.positional]
        if not names or any(name is None for name in names):
            return self._strange(cls, args, node)
        return frozenset((Known(cls(*(name.value for name in names if name is not None))),))

    def _exception(self, cls: type, args: Args, node: ast.AST) -> Value:
        init = outside.class_attribute(cls, "__init__")
        item = self.make(cls, node)
        self.put(item, ELEMENTS, join(args.all()))
        if outside.own_operators(cls) or not self.plain(*args.all()):
            self.put(EXCEPTIONS, ELEMENTS, frozenset((item,)))
        if isinstance(init, types.FunctionType):
            self.call(frozenset((Bound(init, item),)), args, node)
        return frozenset((item,))

    def _default_of(self, cls: type, name: str, value: object) -> Value:
        if isinstance(value, ATOMS):
            return frozenset((Known(value),))
        return frozenset((Known(value, Root.of("the default", f"{cls.__name__}.{name}", value)),))

    def _dataclass(self, cls: Any, args: Args, node: ast.AST) -> Value:
        code = cls.__init__.__code__
        names = list(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])
        fields = dataclasses.fields(cls)
        if {field.name for field in fields if field.init} != set(names) or outside.sets_itself(cls, names):
            return self._strange(cls, args, node)
        defaults: dict[str, Value] = {}
        for field in fields:
            if field.default is not dataclasses.MISSING:
                defaults[field.name] = self._default_of(cls, field.name, field.default)
            elif field.default_factory is not dataclasses.MISSING:
                defaults[field.name] = self.call(frozenset((Known(field.default_factory),)), Args(), node)
        made = self._of_fields(cls, names, defaults, args, node, code.co_argcount - 1)
        post = outside.class_attribute(cls, "__post_init__")
        for item in made:
            for name, value in defaults.items():
                if name not in names:
                    self.put(item, name, value)
            if isinstance(post, types.FunctionType):
                self.call(frozenset((Bound(post, item),)), Args(), node)
        return made

    def _of_fields(
        self,
        cls: type,
        names: list[str],
        defaults: dict[str, Value],
        args: Args,
        node: ast.AST,
        positional: int | None = None,
    ) -> Value:
        """An object that holds its arguments under names; so many of them may be given by position."""
        given = dict(zip(names, args.positional, strict=False)) | args.named
        most = len(names) if positional is None else positional
        if len(args.positional) > most or not args.named.keys() <= set(names):
            return self.lose(f"makes a {cls.__name__} in another way than it is declared", node)
        rest = [v for v in (args.more, args.more_named) if v is not None]
        values: dict[str, Value] = {}
        for name in names:
            values[name] = given[name] if name in given else join((*rest, defaults.get(name, NOTHING)))
        item = self.make(cls, node, "object", (len(names), len(names)))
        for name, value in values.items():
            self.put(item, name, value)
            self.put(item, ELEMENTS, value)
        by_index = dict(enumerate(values.values())) if cls is tuple else {}
        self.set_fields(item, {**values, **by_index})
        return frozenset[Any]((item,)) if isinstance(item, New) else NOTHING

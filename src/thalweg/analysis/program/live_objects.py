"""Objects that exist before a call: whether they are plain data, what their attributes are. None of their code runs."""

from __future__ import annotations

import abc
import collections
import dataclasses
import enum
import inspect
import types
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from thalweg.analysis.program.abstract_values import (
    CODE,
    PLAIN,
    SCALARS,
    STATE,
    TREE,
    Anything,
    Item,
    Known,
    Part,
    Root,
    Value,
    ValueOf,
)
from thalweg.analysis.program.python_types import CONTAINERS, MAPPINGS, is_built_in
from thalweg.ir.tuple_copies import METACLASSES

PEEK = 16  # maximum number of elements inspected one by one; larger containers are summarized by type
WALK = 200_000  # maximum number of objects inspected in a captured table


def is_scalar(value: object) -> bool:
    return type(value) in SCALARS


def is_fixed(value: object) -> bool:
    """Whether an object cannot be changed: reading it is not recorded."""
    if is_scalar(value) or isinstance(value, types.ModuleType | types.BuiltinFunctionType | enum.Enum):
        return True
    if type(value) in (tuple, frozenset):
        return all(map(is_fixed, value))  # type: ignore[call-overload]
    return isinstance(value, type | types.FunctionType | types.MethodType | types.MethodWrapperType)


def is_plain(value: object, *, growing: bool = True) -> bool:
    """Whether an object consists of built-in data only: no operation on it runs user code. `growing`: whether it may
    contain containers that grow when they are read."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        one: Any = waiting.pop()
        if type(one) in SCALARS or id(one) in seen:
            continue
        if isinstance(one, enum.Enum) and not own_operators(type(one)):
            continue
        if type(one) is collections.defaultdict and not growing:
            return False
        if type(one) not in CONTAINERS or len(seen) > WALK:
            return False
        seen.add(id(one))
        if type(one) in MAPPINGS:
            waiting += [*one.keys(), *one.values()]
        else:
            waiting += one
    return True


def summary(values: list[object], root: Root | None) -> Value:
    """The possible values of any one of these objects."""
    if len(values) <= PEEK:
        return frozenset(rooted(v, root) for v in values)
    kinds = {type(v) for v in values}
    if kinds <= set(SCALARS):
        return frozenset(ValueOf(kind) for kind in kinds)
    source = root or Root("the literal", "")
    roots = {source, CODE} if any(map(is_one_for_all, values)) else {source}
    found: Item = Part(source, TREE) if is_plain(values, growing=False) else Anything(frozenset(roots))
    return frozenset((found, ValueOf(PLAIN)))


def rooted(value: object, root: Root | None) -> Known:
    """An object that is reached from another. Each key has its own copy of the objects in a state, except of objects
    that are never copied."""
    if root == STATE and is_one_for_all(value):
        named: Any = value if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType) else type(value)
        return Known(value, Root.of("the object", named.__qualname__, value))
    return Known(value, root)


_NEVER_COPIED = type | types.FunctionType | types.BuiltinFunctionType | types.ModuleType | enum.Enum
_COPIES = ("__deepcopy__", "__reduce__", "__reduce_ex__")


def is_one_for_all(value: object) -> bool:
    """Whether a deep copy of an object may be the object itself."""
    if is_built_in(type(value)):
        return False
    own = (class_attribute(type(value), name) for name in _COPIES)
    return isinstance(value, _NEVER_COPIED) or any(isinstance(held, types.FunctionType) for held in own)


def is_iterator(value: object) -> bool:
    """Whether iterating over an object consumes it."""
    return hasattr(type(value), "__next__")


NOT_THERE = object()


def class_attribute(cls: type, name: str, *, after: type | None = None) -> Any:
    """A class attribute by name, found without running code; `after`: as `super()` of that class finds it."""
    line = cls.__mro__ if after is None else cls.__mro__[cls.__mro__.index(after) + 1 :]
    return next((vars(c)[name] for c in line if name in vars(c)), NOT_THERE)


def own_attribute(value: object, name: str) -> Any:
    """An instance attribute by name, without running code."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        held = {}
    if isinstance(held, dict) and name in held:
        return held[name]
    slot = class_attribute(type(value), name)
    if isinstance(slot, types.MemberDescriptorType):
        try:
            return slot.__get__(value)
        except AttributeError:
            return NOT_THERE
    return NOT_THERE


def is_data_descriptor(held: object) -> bool:
    """Whether a class attribute takes precedence over the instance attribute of the same name."""
    return held is not NOT_THERE and hasattr(type(held), "__set__")


def is_dataclass_object(value: object) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def fields_of(value: Any) -> list[Any]:
    """The values of the fields of a dataclass instance."""
    held = [own_attribute(value, field.name) for field in dataclasses.fields(value)]
    return [one for one in held if one is not NOT_THERE]


def sets_itself(cls: type, names: Sequence[str]) -> bool:
    """Whether writing or reading attributes of an object runs code of the class."""
    ways = [class_attribute(cls, name) for name in ("__setattr__", "__getattribute__")]
    descriptors = [class_attribute(cls, name) for name in names]
    return any(isinstance(held, types.FunctionType) and not _generated(held) for held in ways) or any(
        hasattr(type(held), "__set__") and not isinstance(held, types.MemberDescriptorType) for held in descriptors
    )


def is_named_tuple(cls: type) -> bool:
    """Whether a class is an unmodified `namedtuple`: no user code creates or formats its objects."""
    if not (issubclass(cls, tuple) and hasattr(cls, "_fields")) or type(cls) is not type:
        return False
    names = ("new", "init", "del", "getattribute", "getattr", *_DUNDERS)
    held = [class_attribute(cls, f"__{name}__") for name in names]
    codes = [
        getattr(inspect.unwrap(h), "__code__", None) for h in held if isinstance(h, types.FunctionType | staticmethod)
    ]
    own = any(code is None or code.co_filename not in ("<string>", collections.__file__) for code in codes)
    return not own and all(type(class_attribute(cls, n)).__name__ == "_tuplegetter" for n in cls._fields)


def looks_up_itself(cls: type) -> bool:
    """Whether reading an attribute may run code of the class."""
    return any("__getattr__" in vars(c) or "__getattribute__" in vars(c) for c in cls.__mro__[:-1])


_MADE = ("__eq__", "__hash__", "__repr__", "__lt__", "__le__", "__gt__", "__ge__")
_DUNDERS = frozenset[str]().union(
    ("eq", "ne", "lt", "le", "gt", "ge", "hash", "repr", "str", "format", "bool", "len", "iter", "contains", "getitem"),
    ("add", "radd", "iadd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "mod", "neg", "pos"),
    ("abs", "int", "float", "index", "call", "reversed", "or", "and", "xor", "ror", "rand", "rxor", "invert"),
    ("round", "floor", "ceil", "trunc", "pow", "rpow", "divmod", "rdivmod", "matmul", "rmatmul", "rfloordiv", "rmod"),
    ("lshift", "rshift", "rlshift", "rrshift", "bytes", "complex", "length_hint", "missing", "next", "fspath"),
)


def own_operators(cls: type) -> frozenset[str]:
    """The operators (`__eq__` …) that a class defines in Python, except those of `@dataclass`, which compare fields."""
    return _own_operators(cls)


@lru_cache(maxsize=1_000)
def _own_operators(cls: Any) -> frozenset[str]:
    return frozenset(name for name in (f"__{n}__" for n in _DUNDERS) if own_code(cls, name) is not None)


def own_code(cls: type, name: str) -> types.FunctionType | None:
    """The method of a class under this name, if the user wrote it."""
    held = class_attribute(cls, name)
    made = name in _MADE and dataclasses.is_dataclass(cls) and _generated(held)
    return held if isinstance(held, types.FunctionType) and not made and not _is_ours(held) else None


def has_own_metaclass(value: object) -> bool:
    """Whether an object is a class whose metaclass has user code: for its length, its members, its instances."""
    if not isinstance(value, type) or type(value) in (type, abc.ABCMeta, enum.EnumMeta, *METACLASSES):
        return False
    held = [class_attribute(type(value), name) for name in ("__instancecheck__", "__subclasscheck__")]
    own = [one for one in held if isinstance(one, types.FunctionType) and one.__module__ not in ("abc", "typing")]
    return bool(own or own_operators(type(value)))


def is_python_class(cls: type) -> bool:
    """Whether a class and all its bases are written in Python."""
    return bool(_is_python_class(cls))


@lru_cache(maxsize=1_000)
def _is_python_class(cls: Any) -> bool:
    native = types.WrapperDescriptorType | types.MethodDescriptorType | types.BuiltinFunctionType
    return cls is not object and not any(isinstance(v, native) for c in cls.__mro__[:-1] for v in vars(c).values())


def _generated(function: object) -> bool:
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return code is not None and (code.co_filename == "<string>" or code.co_filename.endswith("dataclasses.py"))


def _is_ours(function: types.FunctionType) -> bool:
    """Whether a method is part of tw.Tuple, whose operators compare attributes, or of enum."""
    return function.__module__ in ("thalweg.lang.tuples", "enum")

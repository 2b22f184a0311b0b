"""Frozen user code: functions and classes with the values that they capture now, whatever happens to these later.

A frozen function has its own cells and its own globals, with copies of the values. So it does the same in this process
as in a worker, to which it is sent with these values, and a loop variable that has changed since has no effect. Code
that workers import from its file (helper modules, installed packages) is not frozen.
"""

from __future__ import annotations

import abc
import builtins
import copy
import functools
import io
import pickle
import types
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from thalweg.errors import GraphError, Where
from thalweg.ir.logic import Logic
from thalweg.ir.names_read import MODULE_NAMES, calls_globals, names_read
from thalweg.ir.sent_code import Cached, is_checked, is_copied, is_imported, is_sent, with_cache
from thalweg.ir.tuple_copies import (
    IDENTITY,
    has_code,
    is_tuple_type,
    metaclass_of_copies,
    note_copy,
    original,
    with_classes,
)
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import is_own
from thalweg.ir.user_tracebacks import is_foreign

F = TypeVar("F")

_MARK = "__thalweg_frozen__"  # in the globals of frozen functions
_SCALARS: frozenset[type] = frozenset((int, float, complex, str, bytes, bool, types.NoneType))
_ATOMS = _SCALARS | {types.ModuleType, types.BuiltinFunctionType}
_CONTAINERS = frozenset((list, dict, set, frozenset, tuple, bytearray))
_WRAPPERS = (staticmethod, classmethod, property, functools.cached_property, Cached)
_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType, types.MethodDescriptorType)
_AT_CREATION = ("__module__", "__qualname__", "__doc__", "__slots__", "__orig_bases__")
_FOR_SUBCLASSES = "__init_subclass__"
_NOT_COPIED = ("__dict__", "__weakref__", "__abstractmethods__", "_abc_impl", "__slotnames__")

HINT = "create files, connections and locks inside the function, or return them from `setup` of a tw.Operator"

_incomplete: weakref.WeakKeyDictionary[types.FunctionType, Freezer] = weakref.WeakKeyDictionary()


def complete() -> None:
    """Add the values of names that were not assigned when their functions were frozen, as those of functions that are
    defined further down in the module."""
    for function, freezer in list(_incomplete.items()):
        try:
            done = freezer.fill(function)
        except GraphError:  # reported once, by the application of the function, and not by each that follows
            del _incomplete[function]
            raise
        if done:
            del _incomplete[function]


class Refused:
    """Code that could not be frozen before its operator was known. The operator raises the error, with its name."""

    def __init__(self, error: GraphError) -> None:
        self._error = error

    def __call__(self, *arguments: object) -> object:
        raise self._error

    def error_in(self, operator: str | None) -> GraphError:
        self._error.operator = operator
        return self._error


def freeze_before_operator(code: F, where: Where) -> F | Refused:
    """Freeze code that is passed to Thalweg before the operator that runs it is known."""
    try:
        return Freezer(where).freeze(code)
    except GraphError as error:
        return Refused(error)


class Freezer:
    """Freezes the code of one operator. Its functions share their globals, and each is frozen once.

    `copies`: whether values are copied, too. Code that only the driver runs may capture what cannot be copied.
    """

    def __init__(self, where: Where | None = None, operator: str | None = None, *, copies: bool = True) -> None:
        self.where, self.operator, self.copies = where, operator, copies
        self._made: dict[int, tuple[Any, Any]] = {}  # by the identity of the original, which is kept alive
        self._globals: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        self._copied_classes: set[str] = set()
        self._unassigned: dict[types.FunctionType, tuple[types.FunctionType, list[str]]] = {}

    def freeze(self, code: F) -> F:
        """A function, or another object that can be called."""
        if isinstance(code, Refused):
            raise code.error_in(self.operator)
        if isinstance(code, types.FunctionType):
            return self._function(code)  # type: ignore[return-value]
        if is_own(code) or not self.copies:
            return code
        (made,) = self._values([code], lambda index: f"{_title(code)} cannot be sent to a worker")
        return made  # type: ignore[no-any-return]

    def freeze_operator(self, logic: Logic) -> Logic:
        """An instance of an operator class. Its attributes are copied: it may be passed to several operators."""
        cls: type[Logic] = self._class(type(logic))
        made = cls.__new__(cls)
        names = list(logic.__dict__)
        values = self._values(
            list(logic.__dict__.values()),
            lambda index: f"the state of {self.operator} cannot be stored: {names[index]} cannot be pickled",
        )
        made.__dict__.update(zip(names, values, strict=True))
        if hasattr(logic, "config"):
            made.config = self.freeze(logic.config)
        return made

    def copied(self, data: F, title: str) -> F:
        """Data of an operator, such as a table, which its code does not capture as well."""
        (made,) = self._values([data], lambda index: f"{title} cannot be sent to a worker", is_shared=False)
        return made  # type: ignore[no-any-return]

    def fill(self, made: types.FunctionType) -> bool:
        """Look up unassigned names again; returns whether all are assigned now."""
        original, names = self._unassigned[made]
        self._assign(original, made.__globals__, names)
        for old, new in zip(original.__closure__ or (), made.__closure__ or (), strict=True):
            if _is_empty(new) and not _is_empty(old):
                (new.cell_contents,) = self._values([old.cell_contents], _capturing(original, ["a variable"]))
        self._unassigned[made] = original, [name for name in names if name not in made.__globals__]
        return not self._unassigned[made][1] and not any(map(_is_empty, made.__closure__ or ()))

    # Functions

    def _function(self, function: types.FunctionType) -> types.FunctionType:
        if id(function) in self._made:
            found: types.FunctionType = self._made[id(function)][1]
            return found
        if _MARK in function.__globals__ or is_imported(function):
            return function
        foreign = not is_sent(function) and is_foreign(function.__code__.co_filename)
        if not foreign and calls_globals(function):
            raise self._calls_globals(function)
        names = [] if foreign else names_read(function)
        held = (function.__closure__, function.__defaults__, function.__kwdefaults__, function.__dict__)
        if not (names or any(held)):
            return function
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        around = function.__globals__ if foreign else self._copy_of_globals(function.__globals__)
        made = types.FunctionType(function.__code__, around, function.__name__, None, cells)
        made.__qualname__, made.__module__, made.__doc__ = function.__qualname__, function.__module__, function.__doc__
        made.__annotations__ = function.__annotations__
        self._made[id(function)] = function, made
        self._assign(function, around, names)
        self._fill_cells(function, cells)
        self._copy_defaults(function, made)
        own = list(function.__dict__)
        what = _capturing(function, [f"its attribute {name}" for name in own])
        made.__dict__.update(zip(own, self._values(list(function.__dict__.values()), what), strict=True))
        missing = [name for name in names if name not in around]
        if missing or any(map(_is_empty, cells)):
            self._unassigned[made] = function, missing
            _incomplete[made] = self
        return made

    def _calls_globals(self, function: types.FunctionType) -> GraphError:
        return GraphError(
            f"{function.__qualname__} calls globals()",
            operator=self.operator,
            where=self.where,
            expected="code that has the names of the variables that it reads, because their values are captured",
            found="globals()",
            hint="write the name of the variable, or put the values into a dict and look them up there",
        )

    def _cached(self, cached: Any) -> Any:
        if is_imported(cached):
            return cached
        if id(cached) not in self._made:
            made = with_cache(self.freeze(cached.__wrapped__), cached.cache_parameters())
            self._made[id(cached)] = cached, made
        return self._made[id(cached)][1]

    def _copy_of_globals(self, found: dict[str, Any]) -> dict[str, Any]:
        if id(found) not in self._globals:
            kept = {name: found[name] for name in MODULE_NAMES if name in found}
            self._globals[id(found)] = found, {"__builtins__": builtins, _MARK: True} | kept
        return self._globals[id(found)][1]

    def _assign(self, function: types.FunctionType, around: dict[str, Any], names: list[str]) -> None:
        new = [name for name in names if name not in around and name in function.__globals__]
        around.update(dict.fromkeys(new))  # a function that is frozen for one of these values may read them, too
        values = [function.__globals__[name] for name in new]
        try:
            copies = self._values(values, _capturing(function, new))
        except GraphError:
            for name in new:
                del around[name]
            raise
        around.update(zip(new, copies, strict=True))

    def _fill_cells(self, function: types.FunctionType, cells: tuple[types.CellType, ...]) -> None:
        outer = zip(function.__code__.co_freevars, function.__closure__ or (), cells, strict=True)
        full = [(name, old, new) for name, old, new in outer if not _is_empty(old)]
        names = [name for name, _, _ in full]
        values = self._values([old.cell_contents for _, old, _ in full], _capturing(function, names))
        for (_, _, new), value in zip(full, values, strict=True):
            new.cell_contents = value

    def _copy_defaults(self, function: types.FunctionType, made: types.FunctionType) -> None:
        given, named = function.__defaults__, function.__kwdefaults__
        if given is not None:
            what = _capturing(function, ["a default of an argument"] * len(given))
            made.__defaults__ = tuple(self._values(list(given), what))
        if named is not None:
            copies = self._values(list(named.values()), _capturing(function, [f"the default of {n}" for n in named]))
            made.__kwdefaults__ = dict(zip(named, copies, strict=True))

    # Classes

    def _class(self, cls: type) -> type:
        """A class of the application, with its methods frozen and its attributes copied."""
        if id(cls) in self._made:
            found: type = self._made[id(cls)][1]
            return found
        if not is_copied(cls):
            if is_checked(cls):
                self._made[id(cls)] = cls, cls
                self._members(cls, set(_NOT_COPIED))
            return cls
        if is_tuple_type(cls) and not has_code(cls):
            return cls
        bases = tuple(map(self._class, cls.__bases__))
        if id(cls) in self._made:  # an attribute of a base refers to it
            return self._class(cls)
        return self._tuple_class(cls, bases) if is_tuple_type(cls) else self._other_class(cls, bases)

    def _other_class(self, cls: type, bases: tuple[type, ...]) -> type:
        """Made without its attributes: they may refer to it, and `__set_name__` has already been called."""
        start = {n: vars(cls)[n] for n in _AT_CREATION if n in vars(cls)}
        self._copied_classes.add(cls.__name__)
        try:
            made: type = type(cls)(cls.__name__, bases, start)
        except Exception as error:  # of `__init_subclass__` of a base that is not copied
            raise GraphError(
                f"{cls.__qualname__} cannot be sent to a worker",
                operator=self.operator,
                where=self.where,
                expected="a class that can be made again from its name and its bases",
                found=f"{type(error).__name__}: {error}",
                hint="define the class in a helper module, which workers import",
            ) from error
        self._made[id(cls)] = cls, made
        self._set_members(cls, made, {*start, *_NOT_COPIED, *_slots(cls)})
        return made

    def tuple_type(self, tuple_type: TupleType) -> TupleType:
        """The type with the frozen copies of its classes. Those of a stream may be copies of another operator."""
        found = with_classes(tuple_type, lambda cls: self._class(original(cls)))
        return tuple_type if list(found.classes()) == list(tuple_type.classes()) else found

    def _tuple_class(self, cls: type, bases: tuple[type, ...]) -> type:
        start = {n: vars(cls)[n] for n in ("__module__", "__qualname__", "__doc__", "__slots__") if n in vars(cls)}
        made = metaclass_of_copies(cls)(cls.__name__, bases, start)
        self._made[id(cls)] = cls, made
        note_copy(cls, made)
        inner: TupleType = vars(cls)["tuple_type"]
        made.tuple_type = replace(with_classes(replace(inner, python=None), self._class), python=made)  # type: ignore[attr-defined]
        self._set_members(cls, made, {*start, *_NOT_COPIED, *_slots(cls), IDENTITY, "tuple_type"})
        return made

    def _set_members(self, cls: type, made: type, left_out: set[str]) -> None:
        for name, value in self._members(cls, left_out).items():
            setattr(made, name, value)
        if isinstance(made, abc.ABCMeta):
            abc.update_abstractmethods(made)  # type: ignore[arg-type]
            registered = [reference() for reference in abc._get_dump(cls)[0]]  # type: ignore[attr-defined]
            for other in (cls for cls in registered if cls is not None):
                made.register(self._class(other))

    def _members(self, cls: type, left_out: set[str]) -> dict[str, Any]:
        """The attributes of a class, with values copied and code frozen."""
        found = {n: v for n, v in vars(cls).items() if n not in left_out}
        code = {n: v for n, v in found.items() if isinstance(v, (types.FunctionType, *_WRAPPERS))}
        data = [n for n in found if n not in code and not _is_of_python(n, found[n])]
        values = self._values(
            [found[n] for n in data],
            lambda index: f"{cls.__qualname__} has the attribute {data[index]}, which cannot be sent to a worker",
        )
        frozen = {name: self._attribute(value) for name, value in code.items()}
        if _FOR_SUBCLASSES in frozen:
            frozen[_FOR_SUBCLASSES] = _of_new_classes(frozen[_FOR_SUBCLASSES], self._copied_classes)
        return found | dict(zip(data, values, strict=True)) | frozen

    def _attribute(self, value: Any) -> Any:
        match value:
            case types.FunctionType():
                return self._function(value)
            case staticmethod() | classmethod():
                return type(value)(self.freeze(value.__func__))
            case property():
                get, put, delete = (self._attribute(f) for f in (value.fget, value.fset, value.fdel))
                return property(get, put, delete, value.__doc__)
            case Cached():
                return self._cached(value)
            case None:
                return None
        made = copy.copy(value)
        made.func = self.freeze(value.func)
        return made

    # Values

    def _values(self, values: list[Any], problem: Callable[[int], str], *, is_shared: bool = True) -> list[Any]:
        """Copies of values; those of one function are copied together, because they may share parts. `problem`: the
        message if the value of this index cannot be copied. `is_shared`: whether other code may capture parts, too."""
        if all(map(_is_atom, values)):
            return values
        if not self.copies:
            return [self.freeze(value) if isinstance(value, types.FunctionType) else value for value in values]
        try:
            return _Copier(self, _SCALARS if is_shared else _SCALARS | _CONTAINERS).copied(values)
        except GraphError:
            raise
        except Exception as error:  # an object's own code may raise anything when it is pickled
            index, cause = self._first_bad(values, error)
            raise GraphError(
                problem(index),
                operator=self.operator,
                where=self.where,
                expected="values that can be pickled",
                found=f"{type(cause).__name__}: {cause}",
                hint=HINT,
            ) from error

    def _first_bad(self, values: list[Any], error: Exception) -> tuple[int, Exception]:
        for index, value in enumerate(values):
            try:
                _Copier(self).copied([value])
            except Exception as cause:
                return index, cause
        return 0, error

    def held(self, value: Any) -> Any:
        """The object that replaces functions, classes and modules in copies; NotImplemented: it is copied."""
        match value:
            case types.FunctionType():
                return self._function(value)
            case type():
                return self._class(value)
            case types.ModuleType() | types.CodeType():
                return value
            case Cached():
                return self._cached(value)
        return self.found(value)

    def found(self, value: Any) -> Any:
        """The copy that has been made; NotImplemented: none."""
        return self._made.get(id(value), (None, NotImplemented))[1]

    def has_made(self, value: Any) -> bool:
        return id(value) in self._made

    def note(self, objects: list[Any], copies: list[Any]) -> None:
        """An operator has one copy of an object, wherever its code captures it: `x is MISSING` compares identities."""
        self._made.update((id(old), (old, new)) for old, new in zip(objects, copies, strict=True))


def _is_atom(value: Any) -> bool:
    """Whether it needs no copy. Methods of lists and dicts are built-in, too, but their objects can change."""
    is_method = type(value) is types.BuiltinFunctionType and not isinstance(value.__self__, types.ModuleType | None)
    return type(value) in _ATOMS and not is_method


def _capturing(function: types.FunctionType, names: Sequence[str]) -> Callable[[int], str]:
    return lambda index: f"{function.__qualname__} captures {names[index]}, which cannot be sent to a worker"


def _title(code: Any) -> str:
    return str(getattr(code, "__qualname__", type(code).__qualname__))


class _Copier(pickle.Pickler):
    """Copies values by pickling them, as they are sent to workers; functions, classes and modules are not pickled, and
    neither is an object of which the operator already has a copy. `unshared`: types of which it may have several."""

    def __init__(self, freezer: Freezer, unshared: frozenset[type] = _SCALARS) -> None:
        self._out = io.BytesIO()
        super().__init__(self._out, protocol=5)
        self._freezer, self._unshared, self._held = freezer, unshared, list[Any]()
        self._objects: dict[int, Any] = {}

    def copied(self, values: list[Any]) -> list[Any]:
        self.dump(values)
        objects = list(self._objects.values())
        if any(map(self._freezer.has_made, objects)):  # for a function among the values: now it is made
            return _Copier(self._freezer, self._unshared).copied(values)
        self._objects[id(objects)] = objects
        self.dump(objects)  # these are references to the parts of the first dump
        loader = _Loader(self._out.getvalue(), self._held)
        copies, made = loader.load(), loader.load()
        self._freezer.note(objects, made)
        return copies  # type: ignore[no-any-return]

    def persistent_id(self, obj: Any) -> int | None:
        """Called for every part of the values. Of lists and dicts, too, there must be one copy: several functions may
        change one, or compare its identity."""
        kind = type(obj)
        if kind in self._unshared or id(obj) in self._objects:
            return None
        held = self._freezer.found(obj) if kind in _CONTAINERS else self._freezer.held(obj)
        if held is NotImplemented:
            self._objects[id(obj)] = obj
            return None
        self._held.append(held)
        return len(self._held) - 1

    def reducer_override(self, obj: Any) -> Any:
        return (types.MappingProxyType, (dict(obj),)) if type(obj) is types.MappingProxyType else NotImplemented


class _Loader(pickle.Unpickler):
    def __init__(self, data: bytes, held: list[Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._held = held

    def persistent_load(self, index: int) -> Any:
        return self._held[index]


def _is_empty(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:  # not yet assigned
        return True
    return False


def _of_new_classes(method: Any, copied: set[str]) -> Any:
    """`__init_subclass__` of a copied class: it was called for its subclasses, and is not called for their copies, here
    or in workers. `copied`: their names."""

    def init_subclass(cls: type, /, **options: Any) -> None:
        if cls.__name__ not in copied:
            method.__get__(None, cls)(**options)

    return classmethod(init_subclass)


def _is_of_python(name: str, value: object) -> bool:
    """Whether an attribute of a class was made by Python, and is neither data nor code of the user."""
    return (name.startswith("__") and name.endswith("__")) or isinstance(value, _DESCRIPTORS)


def _slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)

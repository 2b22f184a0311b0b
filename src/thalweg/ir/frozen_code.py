"""Frozen user code: functions and classes with the values that they capture now, whatever happens to these later.

A frozen function has its own cells and its own globals, with copies of the values. So it does the same in this process
as in a worker, to which it is sent with these values, and a loop variable that has changed since has no effect. Code
that workers import from its file (helper modules, installed packages) is not frozen.
"""

from __future__ import annotations

import abc
import builtins
import copy
import copyreg
import dis
import enum
import functools
import io
import pickle
import sys
import types
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from thalweg.errors import GraphError, Where
from thalweg.ir.logic import Logic
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
_MODULE_NAMES = ("__name__", "__file__", "__package__")
_NAME_OPERATIONS = {dis.opmap[name] for name in ("LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME")}
_ATOMS = frozenset((int, float, complex, str, bytes, bool, types.NoneType, types.ModuleType, types.BuiltinFunctionType))
_Cached: Any = type(functools.lru_cache(int))  # a function with functools.cache or lru_cache
_WRAPPERS = (staticmethod, classmethod, property, functools.cached_property, _Cached)
_NOT_COPIED = ("__dict__", "__weakref__", "__abstractmethods__", "_abc_impl", "__slotnames__")

HINT = "create files, connections and locks in `setup` of a tw.Operator, as self.resource, or inside the function"

_app_modules = {"__main__"}
_incomplete: weakref.WeakKeyDictionary[types.FunctionType, Freezer] = weakref.WeakKeyDictionary()


def send_code_of(module: str) -> None:
    """Note that an application was created in this module: its code is sent to workers, which cannot import it."""
    _app_modules.add(module)


def complete() -> None:
    """Add the values of names that were not assigned when their functions were frozen, as those of functions that are
    defined further down in the module."""
    for function, freezer in list(_incomplete.items()):
        if freezer.fill(function):
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
        foreign = not _is_sent(function) and is_foreign(function.__code__.co_filename)
        names = [] if foreign else names_read(function)
        if not (names or function.__closure__ or function.__defaults__ or function.__kwdefaults__):
            return function
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        around = function.__globals__ if foreign else self._copy_of_globals(function.__globals__)
        made = types.FunctionType(function.__code__, around, function.__name__, None, cells)
        made.__qualname__, made.__module__, made.__doc__ = function.__qualname__, function.__module__, function.__doc__
        made.__annotations__, made.__dict__ = function.__annotations__, dict(function.__dict__)
        self._made[id(function)] = function, made
        self._assign(function, around, names)
        self._fill_cells(function, cells)
        self._copy_defaults(function, made)
        wrapped = made.__dict__.get("__wrapped__")
        if isinstance(wrapped, types.FunctionType):
            made.__dict__["__wrapped__"] = self._function(wrapped)
        missing = [name for name in names if name not in around]
        if missing or any(map(_is_empty, cells)):
            self._unassigned[made] = function, missing
            _incomplete[made] = self
        return made

    def _cached(self, cached: Any) -> Any:
        if is_imported(cached):
            return cached
        if id(cached) not in self._made:
            made = _with_cache(self.freeze(cached.__wrapped__), cached.cache_parameters())
            self._made[id(cached)] = cached, made
        return self._made[id(cached)][1]

    def _copy_of_globals(self, found: dict[str, Any]) -> dict[str, Any]:
        if id(found) not in self._globals:
            kept = {name: found[name] for name in _MODULE_NAMES if name in found}
            self._globals[id(found)] = found, {"__builtins__": builtins, _MARK: True} | kept
        return self._globals[id(found)][1]

    def _assign(self, function: types.FunctionType, around: dict[str, Any], names: list[str]) -> None:
        new = [name for name in names if name not in around and name in function.__globals__]
        around.update(dict.fromkeys(new))  # a function that is frozen for one of these values may read them, too
        values = [function.__globals__[name] for name in new]
        around.update(zip(new, self._values(values, _capturing(function, new)), strict=True))

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
        if not _is_copied(cls):
            return cls
        if is_tuple_type(cls):
            return self._tuple_class(cls)
        late = {n: v for n, v in vars(cls).items() if isinstance(v, (types.FunctionType, *_WRAPPERS))}
        left_out = {*late, *_NOT_COPIED, *_slots(cls)}
        first = {n: v for n, v in vars(cls).items() if n not in left_out}
        bases = tuple(map(self._class, cls.__bases__))
        try:
            made: type = type(cls)(cls.__name__, bases, first)
        except TypeError:  # it is created with options, which are not known here
            return cls
        self._made[id(cls)] = cls, made  # before its methods, which may refer to it
        copied = self._members(cls, first | late)
        for name in copied:
            if name in late or copied[name] is not first[name]:
                setattr(made, name, copied[name])
        if isinstance(made, abc.ABCMeta):
            abc.update_abstractmethods(made)  # type: ignore[arg-type]
        return made

    def tuple_type(self, tuple_type: TupleType) -> TupleType:
        """The type with the frozen copies of its classes. Those of a stream may be copies of another operator."""
        found = with_classes(tuple_type, lambda cls: self._class(original(cls)))
        return tuple_type if list(found.classes()) == list(tuple_type.classes()) else found

    def _tuple_class(self, cls: type) -> type:
        if not has_code(cls):
            return cls
        start = {n: vars(cls)[n] for n in ("__module__", "__qualname__", "__doc__", "__slots__") if n in vars(cls)}
        made = metaclass_of_copies(cls)(cls.__name__, tuple(map(self._class, cls.__bases__)), start)
        self._made[id(cls)] = cls, made
        note_copy(cls, made)
        inner: TupleType = vars(cls)["tuple_type"]
        made.tuple_type = replace(with_classes(replace(inner, python=None), self._class), python=made)  # type: ignore[attr-defined]
        left_out = {*start, *_NOT_COPIED, *_slots(cls), IDENTITY, "tuple_type"}
        rest = {n: v for n, v in vars(cls).items() if n not in left_out}
        for name, value in self._members(cls, rest).items():
            setattr(made, name, value)
        if isinstance(made, abc.ABCMeta):
            abc.update_abstractmethods(made)  # type: ignore[arg-type]
        return made

    def _members(self, cls: type, found: dict[str, Any]) -> dict[str, Any]:
        """The attributes of a class, with values copied and code frozen."""
        code = {n: v for n, v in found.items() if isinstance(v, (types.FunctionType, *_WRAPPERS))}
        data = [n for n in found if n not in code and not n.startswith("__") and not hasattr(found[n], "__get__")]
        values = self._values(
            [found[n] for n in data],
            lambda index: f"{cls.__qualname__} has the attribute {data[index]}, which cannot be sent to a worker",
        )
        frozen = {name: self._attribute(value) for name, value in code.items()}
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
            case _Cached():
                return self._cached(value)
            case None:
                return None
        made = copy.copy(value)
        made.func = self.freeze(value.func)
        return made

    # Values

    def _values(self, values: list[Any], problem: Callable[[int], str]) -> list[Any]:
        """Copies of values; those of one function are copied together, because they may share parts. `problem`: the
        message if the value of this index cannot be copied."""
        if all(map(_is_atom, values)):
            return values
        if not self.copies:
            return [self.freeze(value) if isinstance(value, types.FunctionType) else value for value in values]
        try:
            return _Copier(self).copied(values)
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
            case types.ModuleType():
                return value
            case _Cached():
                return self._cached(value)
        return self._made[id(value)][1] if self.has_made(value) else NotImplemented

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
    """Copies values by pickling them, as they are sent to workers; functions, classes and modules are not pickled."""

    def __init__(self, freezer: Freezer) -> None:
        self._out = io.BytesIO()
        super().__init__(self._out, protocol=5)
        self._freezer, self._held, self._objects = freezer, list[Any](), list[Any]()

    def copied(self, values: list[Any]) -> list[Any]:
        self.dump((values, self._objects))  # the second list is written after the first, which fills it
        if any(map(self._freezer.has_made, self._objects)):  # for a function among the values: now it is made
            return _Copier(self._freezer).copied(values)
        copies, objects = _Loader(self._out.getvalue(), self._held).load()
        self._freezer.note(self._objects, objects)
        return copies  # type: ignore[no-any-return]

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is types.MappingProxyType:
            return types.MappingProxyType, (dict(obj),)
        held = NotImplemented if obj is _held else self._freezer.held(obj)
        if held is NotImplemented:
            if obj is not _held:
                self._objects.append(obj)
            return NotImplemented
        self._held.append(held)
        return _held, (len(self._held) - 1,)


def _held(index: int) -> Any:
    raise AssertionError("found by the loader")


class _Loader(pickle.Unpickler):
    def __init__(self, data: bytes, held: list[Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._held = held

    def find_class(self, module: str, name: str) -> Any:
        is_held = module == __name__ and name == _held.__name__
        return self._held.__getitem__ if is_held else super().find_class(module, name)


def _with_cache(function: Any, parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


def _reduce_cached(cached: Any) -> Any:
    """Python pickles them by name only. Those that workers cannot import are sent with their code."""
    return (
        cached.__qualname__ if is_imported(cached) else (_with_cache, (cached.__wrapped__, cached.cache_parameters()))
    )


def _with_name(function: Any, name: str | None) -> functools.cached_property[Any]:
    made = functools.cached_property(function)
    made.attrname = name
    return made


def _reduce_property(found: functools.cached_property[Any]) -> Any:
    """Without its lock, which Python gives it before 3.12."""
    return _with_name, (found.func, found.attrname)


copyreg.pickle(_Cached, _reduce_cached)
copyreg.pickle(functools.cached_property, _reduce_property)


def _is_empty(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:  # not yet assigned
        return True
    return False


def _is_sent(code: Any) -> bool:
    """Whether its module's code is sent to workers."""
    return code.__module__ in _app_modules


def is_imported(code: Any) -> bool:
    """Whether workers import it by its name. The others, such as lambdas, are sent with their code."""
    return not _is_sent(code) and is_found(code)


def is_found(code: Any) -> bool:
    """Whether this process finds a function or class by its name."""
    found: Any = sys.modules.get(code.__module__)
    for part in code.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is code


def _is_copied(cls: type) -> bool:
    """Not copied: members of enums and exceptions, which other code compares by their class."""
    if not _is_sent(cls) and (is_imported(cls) or _is_foreign_class(cls)):
        return False
    return not issubclass(cls, (enum.Enum, BaseException)) and type(cls) in (type, abc.ABCMeta)


def _is_foreign_class(cls: type) -> bool:
    return is_foreign(getattr(sys.modules.get(cls.__module__), "__file__", None) or "")


def _slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def names_read(function: types.FunctionType) -> list[str]:
    """The globals that a function and the functions inside it read or assign, except built-in names."""
    around = function.__globals__
    return [n for n in _names_in(function.__code__) if n in around or not hasattr(builtins, n)]


@functools.lru_cache(maxsize=10_000)
def _names_in(code: types.CodeType) -> tuple[str, ...]:
    found: list[str] = []
    if not _NAME_OPERATIONS.isdisjoint(code.co_code[::2]):
        found += [i.argval for i in dis.get_instructions(code) if i.opcode in _NAME_OPERATIONS]
    found += [name for part in code.co_consts if isinstance(part, types.CodeType) for name in _names_in(part)]
    return tuple(name for name in dict.fromkeys(found) if name not in _MODULE_NAMES)

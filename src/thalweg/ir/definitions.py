"""How each operator is defined, as texts that can be compared with those of an earlier start.

Options are shown as they are. Code is shown as a digest of all that it consists of: byte code, constants, defaults,
captured values, and the user's own functions and classes that it refers to. Of other objects only the class counts.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import functools
import hashlib
import inspect
import re
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

from thalweg.errors import Where, redacted
from thalweg.ir.endpoints import Endpoint, SourceEndpoint, written
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.logic import Logic
from thalweg.ir.names_read import names_read
from thalweg.ir.operators import Operator, StreamRef, code_fingerprint
from thalweg.ir.secret import Secret
from thalweg.ir.sent_code import is_imported
from thalweg.ir.tuple_copies import IDENTITY, has_code, original
from thalweg.ir.types import TupleType
from thalweg.ir.user_tracebacks import is_foreign
from thalweg.ir.windows import Window

CODE = "code "  # what the text of code begins with, before its digest
_NUMBERS = (int, float, complex, bool, decimal.Decimal)
_PLAIN = (str, bytes, type(None), *_NUMBERS, dt.datetime, dt.date, dt.time, dt.timedelta)
_CONTAINERS = (list, tuple, set, frozenset)
_TYPE = "tuple type"
_ENDPOINT = "endpoint"
_NOT_COMPARED = ("name", "where", "own_types")
_OF_PYTHON = frozenset(
    (
        *("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__qualname__", "__firstlineno__"),
        "__slotnames__",  # added when an object is pickled for the first time
        IDENTITY,
    )
)


def definitions(graph: LogicalGraph) -> dict[str, dict[str, str]]:
    """By operator: its options and code, by name; and the methods of each tuple type."""
    return {operator.name: dict(_parts(operator)) for operator in graph.operators} | _tuple_types(graph)


def _tuple_types(graph: LogicalGraph) -> dict[str, dict[str, str]]:
    """Of the types with code. Each operator has its own copy, with values of its own."""
    digests: dict[str, set[str]] = {}
    for operator in graph.operators:
        classes = {cls for kind in (*graph.input_types(operator), *operator.outputs) for cls in kind.classes()}
        for cls in classes:
            if cls is not None and has_code(cls):
                digests.setdefault(f"{_TYPE} {cls.__qualname__}", set()).add(digest(cls))
    return {name: {"kind": _TYPE, "methods": f"{CODE}{digest(found)}"} for name, found in digests.items()}


def _parts(operator: Operator) -> Iterator[tuple[str, str]]:
    yield "kind", operator.kind
    for field in dataclasses.fields(operator):
        value = getattr(operator, field.name)
        if isinstance(value, Endpoint):
            yield from _of_endpoint(value)
        elif field.name not in _NOT_COMPARED:
            yield field.name, _text(value)


def _of_endpoint(endpoint: Endpoint) -> Iterator[tuple[str, str]]:
    """Without what its text must not show, such as a password."""
    yield _ENDPOINT, type(endpoint).__name__
    if isinstance(endpoint, SourceEndpoint) and endpoint.numbered is not None:
        yield "function", _text(endpoint.numbered)
    if endpoint.folder is not None:
        yield "folder", endpoint.folder
    fields: tuple[dataclasses.Field[Any], ...] = (
        dataclasses.fields(endpoint) if dataclasses.is_dataclass(endpoint) else ()
    )
    for field in fields:
        value = getattr(endpoint, field.name)
        if field.repr and field.name != "path":
            yield field.name, _text(value)


def _text(value: Any) -> str:
    if type(value) in _PLAIN:
        return redacted(repr(value))
    if isinstance(value, Window | TupleType | StreamRef):
        return str(value)
    if isinstance(value, tuple) and all(isinstance(one, StreamRef | TupleType) or type(one) in _PLAIN for one in value):
        return ", ".join(map(_text, value))
    return f"{CODE}{digest(value)}"


def helper_variables(operator: Operator) -> dict[tuple[str, str], str]:
    """The variables of helper modules that an operator's code reads and that hold data: a digest of each, by module and
    name. Workers import these modules from their files."""
    found = _Digest()
    for field in dataclasses.fields(operator):
        if field.name not in _NOT_COMPARED:
            found.add(getattr(operator, field.name))
    return {place: digest(value) for place, value in found.variables.items() if _is_data(value)}


def _is_data(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_data, value)) and all(map(_is_data, value.values()))
    return all(map(_is_data, value)) if isinstance(value, _CONTAINERS) else type(value) in _PLAIN


def digest(value: Any) -> str:
    found = _Digest()
    found.add(value)
    return found.sha.hexdigest()[:12]


class _Digest:
    """Walks through values. It is the same in every process: it depends on no address and on no order of a set."""

    def __init__(self) -> None:
        self.sha = hashlib.sha256()
        self.seen: dict[int, object] = {}  # kept, so that no other object gets the same id
        self.variables: dict[tuple[str, str], Any] = {}  # of helper modules: by module and name

    def _word(self, *words: object) -> None:
        for word in words:
            self.sha.update(f"{word}\0".encode(errors="surrogatepass"))

    def add(self, value: Any) -> None:
        if isinstance(value, enum.Enum):
            self._word(type(value).__qualname__, value.name)
            self.add(value.value)
        elif type(value) in _PLAIN:
            self._word(type(value).__name__, value if isinstance(value, str) else repr(value))
        elif isinstance(value, Where | Secret):
            self._word(type(value).__name__)
        elif isinstance(value, types.ModuleType):
            self._word("module", value.__name__)
        elif id(value) in self.seen:
            self._word("again")
        else:
            self.seen[id(value)] = value
            self._add_whole(value)

    def _add_whole(self, value: Any) -> None:
        self._word(type(original(value) if isinstance(value, type) else value).__qualname__)
        if isinstance(value, list | tuple):
            self._all(value)
        elif isinstance(value, set | frozenset):
            self._word(*sorted(map(digest, value)))
        elif isinstance(value, Mapping):
            self._all([part for item in value.items() for part in item])
        elif isinstance(value, re.Pattern):
            self._all((value.pattern, value.flags))
        elif isinstance(value, functools.partial | functools.partialmethod):
            self._all((value.func, value.args, value.keywords))
        elif isinstance(value, types.MethodType):
            self._all((value.__func__, value.__self__))
        elif isinstance(value, property):
            self._all((value.fget, value.fset))
        elif isinstance(value, functools.singledispatchmethod):
            self._all((value.dispatcher, value.func))
        elif isinstance(value, functools.cached_property):
            self.add(value.func)
        elif isinstance(value, staticmethod | classmethod):
            self.add(value.__func__)
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, type):
            self._class(value)
        elif dataclasses.is_dataclass(value):
            self._all([type(value), *(getattr(value, field.name) for field in dataclasses.fields(value))])
        elif callable(value) and hasattr(value, "__wrapped__"):  # a cached function
            self.add(value.__wrapped__)
        elif isinstance(value, Logic) or _is_users(type(value)):
            self._all((type(value), _attributes(value), getattr(value, "config", None)))

    def _all(self, values: Any) -> None:
        self._word(len(values))
        for value in values:
            self.add(value)

    def _function(self, function: types.FunctionType) -> None:
        if _is_foreign(function.__code__.co_filename):
            # `__module__` of a generated method is that of its class, which differs if the program is run as __main__.
            self._word(function.__globals__.get("__name__"), function.__qualname__)
            self._held(function)
            return
        self._word(code_fingerprint(function))
        self._all((function.__defaults__, function.__kwdefaults__))
        self._held(function)
        for name in names_read(function):
            if name in function.__globals__:
                self._word(name)
                self.add(function.__globals__[name])
                if is_imported(function):
                    self.variables[function.__globals__["__name__"], name] = function.__globals__[name]
                self._of_module(function.__globals__[name], _all_names(function.__code__))

    def _held(self, function: types.FunctionType) -> None:
        """What a function holds; that of an installed package may be a decorator's wrapper around the user's."""
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self._word(name)
            try:
                self.add(cell.cell_contents)
            except ValueError:  # not assigned yet
                self._word("empty")
        for name, value in vars(function).items():
            if not name.startswith("__thalweg"):
                self._word(name)
                self.add(value)

    def _of_module(self, module: object, names: list[str]) -> None:
        """What a function uses of a module of the user, as `helper.scaled`; byte code has only names of attributes."""
        if not isinstance(module, types.ModuleType) or not _is_users_module(module.__name__):
            return
        for name in names:
            if name in vars(module):
                self._word(name)
                self.add(vars(module)[name])
                self.variables[module.__name__, name] = vars(module)[name]
                self._of_module(vars(module)[name], [other for other in names if other != name])

    def _class(self, cls: type) -> None:
        self._word(cls.__qualname__)
        if _is_users(cls):
            self._all(cls.__bases__)
            self._all([part for name, value in vars(cls).items() if name not in _OF_PYTHON for part in (name, value)])


def _all_names(code: types.CodeType) -> list[str]:
    """The names of globals and attributes that a function and the functions inside it use."""
    inner = [name for part in code.co_consts if isinstance(part, types.CodeType) for name in _all_names(part)]
    return list(dict.fromkeys((*code.co_names, *inner)))


def _is_users(cls: type) -> bool:
    """Whether the class is defined in a module of the user or, if its module is not known, has methods of the user."""
    if cls.__module__ in sys.modules:
        return _is_users_module(cls.__module__)
    code = (getattr(value, "__code__", None) for value in vars(cls).values())
    return any(one is not None and not _is_foreign(one.co_filename) for one in code)


def _is_users_module(name: str) -> bool:
    """Built-in modules have no file; neither has a session of Python, whose code is the user's."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return name == "__main__" or (file is not None and not _is_foreign(file))


def _attributes(value: Any) -> dict[str, Any]:
    """Those of an object, with the ones that are in slots."""
    in_slots = [n for cls in type(value).__mro__ for n, v in vars(cls).items() if inspect.ismemberdescriptor(v)]
    return {n: getattr(value, n) for n in in_slots if hasattr(value, n)} | getattr(value, "__dict__", {})


_is_foreign = functools.cache(is_foreign)


def changes(old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """A text for each operator that is not defined as it was, one for those that are new, and one for those gone."""
    for name, now in new.items():
        known = old.get(name, now)
        parts = [part for part in {**known, **now} if known.get(part) != now.get(part)]
        if parts:
            if _ENDPOINT in parts:  # each has options of its own
                parts = [part for part in parts if part in known and part in now]
            changed = "; ".join(_change(part, known.get(part), now.get(part)) for part in parts)
            title = name if now["kind"] == _TYPE else f"{now['kind']} {name}"
            yield f"the {title} is not as it was at the last start: {changed}"
    before, after = ({name for name in found if found[name]["kind"] != _TYPE} for found in (old, new))
    for word, names in (("new", after - before), ("gone", before - after)):
        if names:
            yield f"since the last start, operators are {word}: {', '.join(sorted(names))}"


def _change(part: str, before: str | None, now: str | None) -> str:
    if (before or CODE).startswith(CODE) and (now or CODE).startswith(CODE):
        return _WORDS.get(part, f"its {part} changed")
    if part == _ENDPOINT:
        return f"it was {written(str(before))} and is {written(str(now))}"
    part = "its input" if part == "inputs" else part
    return f"{part} was {before or 'nothing'} and is {now or 'nothing'}"


_WORDS = {
    "function": "its function, or a value or function that it uses, changed",
    "logic": "its code, or a value that it uses, changed",
    "methods": "its methods, or a value or function that they use, changed",
}

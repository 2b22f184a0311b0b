"""`tw.param` and `tw.secret`: the values that a run passes to an application.

A parameter is a plain value, known when its module is loaded, so that a function which captures it is read like one
with a literal. Therefore a run sets the values first and then loads the module (`thalweg.load`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeVar, overload

from thalweg.errors import GraphError, Where, did_you_mean, shown
from thalweg.ir.arguments import Placeholder, checked
from thalweg.ir.secret import Secret
from thalweg.ir.user_calls import call_place, user_frame
from thalweg.lang.param_values import TYPES, converted

T = TypeVar("T")
ENVIRONMENT = "THALWEG_PARAM_"


class _NoDefault:
    def __repr__(self) -> str:
        return "no default"


NO_DEFAULT = _NoDefault()


@dataclass(frozen=True, slots=True)
class DeclaredParam:
    """A parameter as the application declared it, with the value of this run."""

    name: str
    type: type
    help: str
    secret: bool
    module: str
    where: Where
    value: Any
    origin: str  # given, environment, default or missing

    @property
    def shown(self) -> str:
        return "***" if self.secret else repr(self.value)


@dataclass
class Scope:
    """The values of one load of an application, and the parameters that it declared."""

    given: Mapping[str, object] = field(default_factory=dict)
    declared: dict[tuple[str, str], DeclaredParam] = field(default_factory=dict)  # by module and name
    app_modules: set[str] = field(default_factory=set)

    def of(self, module: str) -> tuple[DeclaredParam, ...]:
        return tuple(d for d in self.declared.values() if d.module == module)

    def check(self, module: str) -> None:
        """Reject missing values, and parameters that would have different values in a worker."""
        for declared in self.declared.values():
            if declared.module not in self.app_modules:
                raise GraphError(
                    f"the parameter {declared.name} is declared outside of the application's module",
                    where=declared.where,
                    expected="tw.param in the module that creates the tw.App",
                    hint="other processes import this module again, without the run's values: pass the value instead",
                )
        self.check_values(module)

    def check_values(self, module: str) -> None:
        missing = [d for d in self.of(module) if d.origin == "missing"]
        if missing:
            raise missing_error(missing)

    def check_given(self, module: str) -> None:
        """Reject values for undeclared parameters."""
        known = [d.name for d in self.of(module)]
        for name in self.given:
            if name not in known:
                raise GraphError(
                    f"no such parameter: {name}",
                    expected=", ".join(known) or "none: the application declares no parameters",
                    found=name,
                    hint=did_you_mean(name, known),
                )


_imported = Scope()  # of the modules that the user's program imports itself
_scope: ContextVar[Scope | None] = ContextVar("scope", default=None)


def current_scope() -> Scope:
    return _scope.get() or _imported


def is_loading() -> bool:
    return _scope.get() is not None


@contextmanager
def loading(given: Mapping[str, object]) -> Iterator[Scope]:
    """Parameters that are declared inside the block get these values."""
    scope = Scope(given)
    token = _scope.set(scope)
    try:
        yield scope
    finally:
        _scope.reset(token)


@overload
def param(name: str, *, default: T, type: type[T] | None = None, help: str = "") -> T: ...
@overload
def param(name: str, *, type: type[T], help: str = "") -> T: ...
@overload
def param(name: str, *, secret: bool, help: str = "") -> Secret: ...
@overload
def param(name: str, *, help: str = "") -> str: ...


@checked
def param(name: str, *, default: Any = NO_DEFAULT, type: Any = None, help: str = "", secret: bool = False) -> Any:
    """The value of a run parameter: `--param name=value`, the variable THALWEG_PARAM_NAME, or the default."""
    frame = user_frame()
    where = call_place(frame)
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise GraphError("bad parameter name", where=where, expected="letters, digits and _", found=shown(name))
    scope, module = current_scope(), frame.f_globals.get("__name__", "")
    kind = _kind(name, default, type, where) if not secret else Secret
    first = scope.declared.get((module, name))
    if first is not None and scope is not _imported:  # there, a module may be imported again, or two have the same name
        raise GraphError(f"two parameters are called {name}", where=where, found=f"the first is at {first.where}")
    value, origin = _value(scope, name, kind, default, where)
    made = DeclaredParam(name, kind, help, secret, module, where, value, origin)
    scope.declared[module, name] = made
    return Missing(made, scope) if origin == "missing" else value


@checked
def secret(name: str, *, help: str = "") -> Secret:
    """A parameter that is never shown: `.reveal()` returns its text."""
    return param(name, secret=True, help=help)


def _kind(name: str, default: Any, declared: Any, where: Where) -> type:
    inferred = str if default is NO_DEFAULT or default is None else type(default)
    kind: type = declared if declared is not None else Path if issubclass(inferred, Path) else inferred
    if not isinstance(kind, type) or kind not in TYPES:
        known = ", ".join(t.__name__ for t in TYPES)
        raise GraphError(
            f"parameter {name} has an unknown type",
            where=where,
            expected=known,
            found=getattr(kind, "__name__", repr(kind)),
        )
    return kind


def _value(scope: Scope, name: str, kind: type, default: Any, where: Where) -> tuple[Any, str]:
    variable = ENVIRONMENT + name.upper()
    if name in scope.given:
        return converted(scope.given[name], kind, f"parameter {name}", where), "given"
    if variable in os.environ:
        return converted(os.environ[variable], kind, f"parameter {name}, from {variable}", where), "environment"
    if default is NO_DEFAULT:
        return None, "missing"
    if default is None:
        return None, "default"
    return converted(default, kind, f"default of parameter {name}", where), "default"


def missing_error(missing: list[DeclaredParam]) -> GraphError:
    """One error for all missing parameters."""
    lines = [f"{d.name} ({d.type.__name__.lower()}){f': {d.help}' if d.help else ''}, {d.where}" for d in missing]
    first = missing[0]
    value = "@file" if first.secret else "…"
    return GraphError(
        f"{'this parameter has' if len(missing) == 1 else 'these parameters have'} no value: "
        + ", ".join(d.name for d in missing),
        expected="\n        ".join(lines),
        hint=f"--param {first.name}={value}, or {ENVIRONMENT}{first.name.upper()} in the environment",
    )


class Missing(Placeholder):
    """A placeholder for a missing value, until the error can name all of them. Any use of it raises the error."""

    def __init__(self, declared: DeclaredParam, scope: Scope) -> None:
        self.__declared, self.__scope = declared, scope

    def __repr__(self) -> str:
        return f"the missing parameter {self.__declared.name}"

    def _used(self, *arguments: object, **options: object) -> NoReturn:
        module = self.__declared.module
        raise missing_error([d for d in self.__scope.of(module) if d.origin == "missing"])

    used = _used

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # looked up by copy, pickle, inspect and others that do not use the value
            raise AttributeError(name)
        return self._used()

    __str__ = __fspath__ = __bool__ = __int__ = __float__ = __index__ = __len__ = __iter__ = __hash__ = _used
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _used
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __abs__ = _used
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __call__ = __getitem__ = __contains__ = __format__ = _used

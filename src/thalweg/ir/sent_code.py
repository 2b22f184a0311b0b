"""Which code is sent to workers, and how Python pickles the parts of it that it does not know."""

from __future__ import annotations

import abc
import copyreg
import enum
import functools
import sys
import weakref
from typing import Any, Protocol

from thalweg.ir.user_tracebacks import is_foreign

Cached: Any = type(functools.lru_cache(int))  # a function with functools.cache or lru_cache

_COMPARED = (enum.Enum, BaseException)
_METACLASSES = (type, abc.ABCMeta, type(Protocol))

_app_modules = {"__main__"}


def send_code_of(module: str) -> None:
    """Note that an application was created in this module: its code is sent to workers, which cannot import it."""
    _app_modules.add(module)


def is_sent(code: Any) -> bool:
    """Whether its module's code is sent to workers."""
    return code.__module__ in _app_modules


def is_imported(code: Any) -> bool:
    """Whether workers import it by its name. The others, such as lambdas, are sent with their code."""
    return not is_sent(code) and is_found(code)


def is_found(code: Any) -> bool:
    """Whether this process finds a function or class by its name."""
    found: Any = sys.modules.get(code.__module__)
    for part in code.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is code


def is_copied(cls: type) -> bool:
    """Not copied: members of enums and exceptions, which other code compares by their class."""
    return _is_users(cls) and not issubclass(cls, _COMPARED) and type(cls) in _METACLASSES


def is_checked(cls: type) -> bool:
    """Whether it is sent as it is: then its attributes must be values that can be sent."""
    return _is_users(cls) and issubclass(cls, _COMPARED)


def _is_users(cls: type) -> bool:
    return is_sent(cls) or not (is_imported(cls) or _is_foreign_class(cls))


def _is_foreign_class(cls: type) -> bool:
    """Some types of Python are not found by their names, such as that of None."""
    is_of_python = cls.__module__ in sys.builtin_module_names
    return is_of_python or is_foreign(getattr(sys.modules.get(cls.__module__), "__file__", None) or "")


def with_cache(function: Any, parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


def _reduce_cached(cached: Any) -> Any:
    """Python pickles them by name only. Those that workers cannot import are sent with their code."""
    return cached.__qualname__ if is_imported(cached) else (with_cache, (cached.__wrapped__, cached.cache_parameters()))


def _with_name(function: Any, name: str | None) -> functools.cached_property[Any]:
    made = functools.cached_property(function)
    made.attrname = name
    return made


def _reduce_property(found: functools.cached_property[Any]) -> Any:
    """Without its lock, which Python gives it before 3.12."""
    return _with_name, (found.func, found.attrname)


def _reduce_weak_keys(found: weakref.WeakKeyDictionary[Any, Any]) -> Any:
    """Also that of functools.singledispatch. Without the keys that nothing else refers to."""
    return weakref.WeakKeyDictionary, (dict(found),)


copyreg.pickle(Cached, _reduce_cached)
copyreg.pickle(weakref.WeakKeyDictionary, _reduce_weak_keys)
copyreg.pickle(functools.cached_property, _reduce_property)

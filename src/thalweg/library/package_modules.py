"""Packages in which every module defines objects of one kind, so that adding one means adding a file."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from thalweg.errors import InternalError


def members(package: str, path: Iterable[str], name: str) -> list[Any]:
    """The objects that the modules of a package list under a name, module by module."""
    found: list[Any] = []
    for module in _modules(package, path):
        listed = getattr(module, name, None)
        if not listed:
            raise InternalError(f"{module.__name__} does not define {name}")
        found += listed
    return found


def kinds(package: str, path: Iterable[str], bases: tuple[type, ...]) -> list[type]:
    """The classes that the modules of a package derive from these bases, module by module, without families."""
    found: list[type] = []
    for module in _modules(package, path):
        own = [c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__]
        derived = [c for c in own if issubclass(c, bases) and not vars(c).get("is_family")]
        if not derived:
            wanted = " or ".join(base.__name__ for base in bases)
            raise InternalError(f"{module.__name__} does not define a class derived from {wanted}")
        found += derived
    return found


def _modules(package: str, path: Iterable[str]) -> Iterator[ModuleType]:
    for name in sorted(module.name for module in pkgutil.iter_modules(path)):
        yield import_module(f"{package}.{name}")

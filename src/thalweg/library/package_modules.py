"""Packages in which every module defines objects of one kind, so that adding one means adding a file."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from thalweg.errors import InternalError


def members(package: str, path: Iterable[str], name: str) -> list[Any]:
    """The objects that the modules of a package list under a name, module by module."""
    found: list[Any] = []
    for module in sorted(module.name for module in pkgutil.iter_modules(path)):
        listed = getattr(import_module(f"{package}.{module}"), name, None)
        if not listed:
            raise InternalError(f"{package}.{module} does not define {name}")
        found += listed
    return found

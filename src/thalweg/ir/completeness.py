"""Completeness checks: incomplete classes and tables fail when they are defined, with the names of what is missing."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from thalweg.errors import InternalError

K = TypeVar("K", bound=type)
V = TypeVar("V")


def missing_pieces(cls: type) -> list[str]:
    """The abstract methods that a class does not define, and the class attributes (`ClassVar`) without a value."""
    abstract = {name for name in dir(cls) if getattr(getattr(cls, name, None), "__isabstractmethod__", False)}
    annotations = [item for base in cls.__mro__ for item in inspect.get_annotations(base).items()]
    without_value = {name for name, kind in annotations if "ClassVar" in str(kind) and not hasattr(cls, name)}
    return sorted(abstract | without_value)


def check_pieces(cls: type, base: type) -> None:
    """Raise if a class lacks a part that its base class declares without a default."""
    if missing := missing_pieces(cls):
        raise InternalError(f"{cls.__qualname__} does not define {', '.join(missing)}, as every {base.__name__} must")


def complete(table: Mapping[K, V], wanted: Iterable[K], what: str, *, but: Collection[K] = ()) -> Mapping[K, V]:
    """Return the table if it has an entry for each wanted class; `but`: classes that need no entry."""
    missing = [cls.__qualname__ for cls in wanted if cls not in table and cls not in but]
    if missing:
        raise InternalError(f"{what}: no entry for {', '.join(missing)}")
    return table

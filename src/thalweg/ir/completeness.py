"""Completeness checks: incomplete classes and tables fail when they are defined, with the names of what is missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from thalweg.errors import InternalError

K = TypeVar("K", bound=type)
V = TypeVar("V")


def check_pieces(cls: type, base: type, values: Iterable[str] = ()) -> None:
    """Raise if a class leaves a method abstract, or lacks one of these class attributes."""
    missing = [name for name in dir(cls) if getattr(getattr(cls, name, None), "__isabstractmethod__", False)]
    missing += [name for name in values if not hasattr(cls, name)]
    if missing:
        raise InternalError(f"{cls.__qualname__} does not define {', '.join(missing)}, as every {base.__name__} must")


def complete(table: Mapping[K, V], wanted: Iterable[K], what: str, *, but: Collection[K] = ()) -> Mapping[K, V]:
    """Return the table if it has an entry for each wanted class; `but`: classes that need no entry."""
    missing = [cls.__qualname__ for cls in wanted if cls not in table and cls not in but]
    if missing:
        raise InternalError(f"{what}: no entry for {', '.join(missing)}")
    return table

"""Which function loads the code that runs applications inside a Spark program.

The package provides it when it is imported: the language does not import the engines, not even later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_provided: list[Callable[[], Any]] = []


def provide(load: Callable[[], Any]) -> None:
    _provided[:] = [load]


def loaded() -> Any:
    """What runs applications (`lang.embedding.Embedding`), loaded now."""
    (load,) = _provided
    return load()

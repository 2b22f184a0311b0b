"""The function that loads the code that runs applications inside a Spark program.

The package provides it when it is imported: the language does not import the engines, not even lazily.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_provided: list[Callable[[], Any]] = []


def provide(load: Callable[[], Any]) -> None:
    _provided[:] = [load]


def loaded() -> Any:
    """The code that runs applications (`lang.embedding.Embedding`), loaded by this call."""
    (load,) = _provided
    return load()

"""Thalweg: a profile-guided optimizing compiler for streaming applications in Python, run on Apache Spark.

Names are loaded on first use: a worker does not need the language, a graph does not need an engine, and
`thalweg --help` needs neither.
"""

from typing import TYPE_CHECKING, Any

from thalweg.lang.embedding_loader import provide

__version__ = "0.1.0"

if TYPE_CHECKING:
    from thalweg.api import run as run
    from thalweg.lang.public import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        from thalweg.lang import public

        if name == "__all__":
            return sorted([*public.__all__, "run"])
        if name == "run":
            from thalweg.api import run as found
        elif name in public.__all__:
            found = getattr(public, name)
        else:
            raise AttributeError(f"module thalweg has no attribute {name!r}")
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return __getattr__("__all__")


def _embedding() -> Any:
    from thalweg import embed

    return embed


provide(_embedding)

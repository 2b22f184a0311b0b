"""Thalweg: a profile-guided optimizing compiler for streaming applications in Python, run on Apache Spark."""

from typing import TYPE_CHECKING

from thalweg.errors import ThalwegError, ThalwegWarning
from thalweg.lang import agg, toolkits, window
from thalweg.lang.app import App, Stream
from thalweg.lang.composite import composite
from thalweg.lang.endpoints import collect, files
from thalweg.lang.params import param, secret
from thalweg.lang.secret import Secret
from thalweg.lang.tuples import Tuple

if TYPE_CHECKING:
    from thalweg.api import run

__version__ = "0.1.0"

__all__ = [
    "App",
    "Secret",
    "Stream",
    "ThalwegError",
    "ThalwegWarning",
    "Tuple",
    "agg",
    "collect",
    "composite",
    "files",
    "param",
    "run",
    "secret",
    "toolkits",
    "window",
]


def __getattr__(name: str) -> object:
    if name == "run":  # loaded when used: a graph can be built without the engines
        from thalweg.api import run

        return run
    raise AttributeError(f"module thalweg has no attribute {name!r}")

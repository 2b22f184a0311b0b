"""Thalweg: a profile-guided optimizing compiler for streaming applications in Python, run on Apache Spark."""

from thalweg.errors import ThalwegError
from thalweg.ir.logic import Logic as Operator
from thalweg.lang import agg, window
from thalweg.lang.app import App, Stream
from thalweg.lang.endpoints import beacon, collect, console, files, iterable, none, seeded, tcp
from thalweg.lang.library import operator
from thalweg.lang.tuples import Tuple, concat

__version__ = "0.1.0"

__all__ = [
    "App",
    "Operator",
    "Stream",
    "ThalwegError",
    "Tuple",
    "agg",
    "beacon",
    "collect",
    "concat",
    "console",
    "files",
    "iterable",
    "none",
    "operator",
    "run",
    "seeded",
    "tcp",
    "window",
]


def __getattr__(name: str) -> object:
    if name == "run":  # loaded when used: a graph can be built without the engines
        from thalweg.api import run

        return run
    raise AttributeError(f"module thalweg has no attribute {name!r}")

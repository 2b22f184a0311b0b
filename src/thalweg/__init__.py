"""Thalweg: a profile-guided optimizing compiler for streaming applications in Python, run on Apache Spark."""

from typing import TYPE_CHECKING

from thalweg.errors import ThalwegError, ThalwegWarning
from thalweg.ir.logic import Logic as Operator
from thalweg.lang import agg, embedding, toolkits, window
from thalweg.lang.app import App, Stream
from thalweg.lang.composite import composite
from thalweg.lang.databases import postgres
from thalweg.lang.declare import declare
from thalweg.lang.derived import operator
from thalweg.lang.endpoints import beacon, collect, console, files, iterable, none, seeded, tcp
from thalweg.lang.params import param, secret
from thalweg.lang.row_endpoints import from_dataframe, kafka, spark
from thalweg.lang.secret import Secret
from thalweg.lang.tuples import Tuple, concat

if TYPE_CHECKING:
    from thalweg.api import run
    from thalweg.lang.embedding import Embedding

__version__ = "0.1.0"

__all__ = [
    "App",
    "Operator",
    "Secret",
    "Stream",
    "ThalwegError",
    "ThalwegWarning",
    "Tuple",
    "agg",
    "beacon",
    "collect",
    "composite",
    "concat",
    "console",
    "declare",
    "files",
    "from_dataframe",
    "iterable",
    "kafka",
    "none",
    "operator",
    "param",
    "postgres",
    "run",
    "secret",
    "seeded",
    "spark",
    "tcp",
    "toolkits",
    "window",
]


def _embedding() -> "Embedding":
    from thalweg import embed  # loaded when used, like `run`

    return embed


embedding.provide(_embedding)


def __getattr__(name: str) -> object:
    if name == "run":  # loaded when used: a graph can be built without the engines
        from thalweg.api import run

        return run
    raise AttributeError(f"module thalweg has no attribute {name!r}")

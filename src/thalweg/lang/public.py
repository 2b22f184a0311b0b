"""The names of the language, as `import thalweg as tw` gives them."""

from thalweg.errors import ThalwegError, ThalwegWarning
from thalweg.ir.logic import Logic as Operator
from thalweg.lang import agg, toolkits, window
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
    "secret",
    "seeded",
    "spark",
    "tcp",
    "toolkits",
    "window",
]

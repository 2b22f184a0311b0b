"""The names of the language, as provided by `import thalweg as tw`."""

from thalweg.endpoints.beacon import beacon, seeded
from thalweg.endpoints.collect import collect
from thalweg.endpoints.console import console
from thalweg.endpoints.discard import none
from thalweg.endpoints.files import files
from thalweg.endpoints.iterable import iterable
from thalweg.endpoints.kafka import kafka
from thalweg.endpoints.postgres import postgres
from thalweg.endpoints.spark_rows import from_dataframe, spark
from thalweg.endpoints.sqlite import sqlite
from thalweg.endpoints.tcp import tcp
from thalweg.errors import ThalwegError, ThalwegWarning
from thalweg.ir.failed_rows import FailedRows
from thalweg.ir.logic import Logic as Operator
from thalweg.ir.secret import Secret
from thalweg.lang import agg, toolkits, window
from thalweg.lang.app import App, Stream
from thalweg.lang.composite import composite
from thalweg.lang.declare import declare
from thalweg.lang.derived_operators import operator
from thalweg.lang.params import param, secret
from thalweg.lang.tuples import Tuple, concat

__all__ = [
    "App",
    "FailedRows",
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
    "sqlite",
    "tcp",
    "toolkits",
    "window",
]

"""Modules whose functions and classes are sent to workers with their code: a worker may have no copy of them."""

from __future__ import annotations

import sys
from typing import Any

_names: set[str] = set()


def send_by_value(name: str) -> None:
    """Workers that imported this module themselves might find other parameters, or nothing."""
    _names.add(name)


def register_modules() -> None:
    """Before anything is pickled, by Thalweg or by PySpark."""
    from pyspark import cloudpickle  # here: it loads all of PySpark, and most processes send nothing

    for name in sorted(_names & sys.modules.keys()):
        cloudpickle.register_pickle_by_value(sys.modules[name])


def pickled(value: Any) -> bytes:
    """With the code of users' functions."""
    from pyspark import cloudpickle

    register_modules()
    return bytes(cloudpickle.dumps(value))

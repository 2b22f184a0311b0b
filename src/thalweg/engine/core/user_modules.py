"""Modules whose functions and classes are sent to workers with their code, because a worker may not have them."""

from __future__ import annotations

import sys
from typing import Any

_names: set[str] = set()


def send_by_value(name: str) -> None:
    """Send the module's code: a worker that imported it might not find it, or would build it with other parameters."""
    _names.add(name)


def register_modules() -> None:
    """Must be called before anything is pickled, by Thalweg or by PySpark."""
    from pyspark import cloudpickle  # here: it loads all of PySpark, and most processes send nothing

    for name in sorted(_names & sys.modules.keys()):
        cloudpickle.register_pickle_by_value(sys.modules[name])


def pickled(value: Any) -> bytes:
    """The pickled value, with the code of users' functions."""
    from pyspark import cloudpickle

    register_modules()
    return bytes(cloudpickle.dumps(value))

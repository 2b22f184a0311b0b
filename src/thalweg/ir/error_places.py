"""The place of an operator in the user's program, for errors that know only its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from thalweg.errors import ThalwegError
from thalweg.ir.graph import LogicalGraph


@contextmanager
def with_places(graph: LogicalGraph) -> Iterator[None]:
    """Add the line of its operator to an error of the block: a reader of files, in any process, has only the name."""
    try:
        yield
    except ThalwegError as error:
        operator = graph.by_name.get(error.operator or "")
        if error.where is None and operator is not None:
            error.where = operator.where
        raise

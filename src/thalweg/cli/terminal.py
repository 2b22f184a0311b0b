"""The consoles that the commands print to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from rich.console import Console

from thalweg.relative_paths import relative_paths


class PathsConsole(Console):
    """Shows paths relative to the working directory. Tables, which hold the user's data, are printed as they are."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*(relative_paths(one) if isinstance(one, str) else one for one in objects), **options)


def _console(*, stderr: bool = False) -> Console:
    return PathsConsole(stderr=stderr, highlight=False, soft_wrap=True)


out = _console()
err = _console(stderr=True)  # errors, also with --quiet
notes = _console(stderr=True)  # progress and warnings


def obeys_quiet(command: Callable[..., None]) -> Callable[..., None]:
    """With `--quiet` the command prints nothing but errors. JSON documents do not pass through the consoles."""

    @wraps(command)
    def wrapper(**given: Any) -> None:
        before = out.quiet, notes.quiet
        out.quiet = notes.quiet = given["quiet"] and not given["json_output"]
        try:
            command(**given)
        finally:
            out.quiet, notes.quiet = before

    return wrapper


@contextmanager
def status(text: str) -> Iterator[Callable[[str], None]]:
    """A line that is shown while the block runs, and a function that replaces its text."""
    if notes.quiet:  # a status line also takes over what others print
        yield lambda text: None
        return
    with notes.status(text) as shown:
        yield shown.update

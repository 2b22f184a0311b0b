"""Print errors and warnings: one paragraph on standard error, or one JSON document."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from rich.console import Console

from thalweg.errors import ThalwegError, ThalwegWarning, UsageError, did_you_mean

# The exception that typer raises for a wrong command line. Its module depends on the version of typer.
WrongCommandLine: Any = typer.BadParameter.__mro__[1]


def print_json(document: Any) -> None:
    print(json.dumps(document) + "\n", end="", flush=True)  # in one call: two threads may print at the same time


def wants_json() -> bool:
    """Whether --json was given. Reads `sys.argv`, because a wrong command line cannot be parsed."""
    return "--json" in sys.argv


def show_error(err: Console, error: ThalwegError) -> NoReturn:
    if wants_json():
        print_json(error.as_json())
    else:
        err.print(f"[bold red]{error.kind}:[/] ", end="")
        err.print(str(error), markup=False)
    sys.exit(error.exit_code)


def usage_error(error: Any) -> UsageError:
    """Typer's message, with its suggestions as the hint."""
    message, hint = error.format_message(), None
    options = getattr(error, "possibilities", None)
    if options:
        message, hint = error.message, did_you_mean(getattr(error, "option_name", ""), options)
    elif "Did you mean" in message:
        message, _, rest = message.partition(" Did you mean ")
        hint = f"did you mean {rest.replace(chr(39), '`')}"
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "thalweg"
    return UsageError(message.rstrip("."), hint=hint or f"{command} --help")


@contextmanager
def shown_warnings(notes: Console) -> Iterator[None]:
    """Print each of Thalweg's warnings as one line; other warnings are shown as usual in Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", ThalwegWarning)
        others = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any, **options: Any) -> None:
            if not issubclass(category, ThalwegWarning):
                others(message, category, *place, **options)
            elif wants_json():
                print_json({"event": "warning", "message": str(message)})
            else:
                notes.print("[bold yellow]warning:[/] ", end="")
                notes.print(str(message), markup=False)

        warnings.showwarning = show
        yield

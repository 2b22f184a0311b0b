"""The commands by name. A command's module is imported when the command is called: together, the modules import all of
Thalweg."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from thalweg.errors import Interrupted

# Each is the first paragraph of the command's own help.
SUMMARIES: Mapping[str, str] = {
    "run": "Run an application and show its progress. Ctrl-C stops it after the current epoch, a second Ctrl-C "
    "immediately.",
    "explain": "Show the operators, the plan and the content of its exchanges. Runs nothing; only --balance runs a "
    "sample of the input, on the local engine, and shows the share of the heaviest channel.",
    "check": "Compare many plans with the reference, tuple by tuple and bit by bit, on a sample of the real input.",
    "state": "Show the content of a checkpoint: the progress of the run and the state of its operators. Changes "
    "nothing.",
    "migrate": "Move the state of a paused or stopped run into a new checkpoint with a different degree, fusion or "
    "engine.",
    "doctor": "Check this machine: Python, Java, packages, toolkits. With --start also Spark; this creates an archive "
    "of Spark's classes in the user's cache folder, which makes later starts of Spark faster.",
}


def new_typer(**options: Any) -> typer.Typer:
    return typer.Typer(add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False, **options)


class LazyCommands(TyperGroup):
    """Lists the commands with their summaries, and imports the one that is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed if name is None else loaded(name), rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:  # typer would exit silently
            name = ctx.invoked_subcommand
            found = f"Ctrl-C during `thalweg {name}`" if name else "Ctrl-C before the command was loaded"
            raise Interrupted(found) from error


def list_commands(group: typer.Typer) -> None:
    for name, summary in SUMMARIES.items():
        group.command(name, help=summary)(_listed)


def _listed() -> None:
    raise AssertionError("resolve_command() replaces the listed command by the real one")


def loaded(name: str) -> Any:
    """The command with its arguments and options."""
    alone = new_typer()
    alone.command(name)(function_of(name))
    return typer.main.get_command(alone)


def function_of(name: str) -> Callable[..., None]:
    match name:
        case "run":
            from thalweg.cli.commands.run import run

            return run
        case "explain":
            from thalweg.cli.commands.explain import explain

            return explain
        case "check":
            from thalweg.cli.commands.check import check

            return check
        case "state":
            from thalweg.cli.commands.state import state

            return state
        case "migrate":
            from thalweg.cli.commands.migrate import migrate

            return migrate
        case "doctor":
            from thalweg.cli.commands.doctor import doctor

            return doctor
    raise AssertionError(f"no module for the command {name}")

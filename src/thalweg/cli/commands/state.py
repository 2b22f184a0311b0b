"""`thalweg state`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli.options import Debug, Json
from thalweg.cli.print_errors import print_json
from thalweg.cli.show_state import chosen, state_json, state_text
from thalweg.cli.terminal import out
from thalweg.engine.state.inspect_checkpoint import inspect_checkpoint


def state(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="the folder given to run --checkpoint")],
    operator: Annotated[str | None, typer.Option(help="only this operator's state")] = None,
    key: Annotated[
        list[str] | None, typer.Option(help="only this key; repeat it for a key of several attributes")
    ] = None,
    limit: Annotated[int, typer.Option(help="number of keys to show per operator", min=0)] = 5,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Show the content of a checkpoint: the progress of the run and the state of its operators. Changes nothing.

    Examples:

        thalweg state state/

        thalweg state state/ --operator vwap --key IBM --json
    """
    found = inspect_checkpoint(checkpoint)
    wanted = tuple(key or ())
    operators = chosen(found, operator, wanted)
    if json_output:
        print_json(state_json(found, operators, wanted, limit))
        return
    for line in state_text(found, operators, wanted, limit):
        out.print(line, markup=False)

"""`thalweg migrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thalweg.api import check_engine
from thalweg.cli.options import Debug, Json, Quiet, degree_of
from thalweg.cli.print_errors import print_json
from thalweg.cli.show_migration import migration_json, migration_text
from thalweg.cli.terminal import obeys_quiet, out, status
from thalweg.engine.state.migrate import migrate as migrate_checkpoint
from thalweg.optimize.request import PlanRequest


@obeys_quiet
def migrate(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="the folder given to run --checkpoint")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="a new or empty folder for the new checkpoint")],
    degree: Annotated[
        str | None,
        typer.Option(
            metavar="N|NAME=N,…",
            help="number of channels of every operator with keyed state, or by operator; by default unchanged",
        ),
    ] = None,
    buckets: Annotated[
        int | None, typer.Option(help="number of state buckets; by default that of a run with this degree", min=1)
    ] = None,
    balance: Annotated[
        bool, typer.Option("--balance", help="distribute the stored keys evenly over the channels")
    ] = False,
    engine: Annotated[str | None, typer.Option(metavar="spark|local", help="by default unchanged")] = None,
    quiet: Quiet = False,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Move the state of a paused or stopped run into a new checkpoint with a different degree, fusion or engine.

    No data is lost or processed twice, and the output stays the same, bit for bit. The old checkpoint is kept, but it
    can no longer be started. The next start chooses the fusion.

    Examples:

        thalweg migrate state/ state-4/ --degree 4

        thalweg migrate state/ wide/ --degree 2 --buckets 64

        thalweg migrate state/ even/ --degree 4 --balance

        thalweg migrate state/ on-spark/ --engine spark --json
    """
    request = PlanRequest(degree=degree_of(degree), buckets=buckets, balance=balance)
    if engine is not None:
        check_engine(engine)
    with status("reading the checkpoint") as show:
        done = migrate_checkpoint(checkpoint, new, request, engine=engine, say=show)
    if json_output:
        print_json(migration_json(done))
        return
    for line in migration_text(done, new):
        out.print(line, markup=False)

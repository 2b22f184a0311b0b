"""`thalweg migrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thalweg.api import check_engine
from thalweg.cli.options import Debug, Json
from thalweg.cli.print_errors import print_json
from thalweg.cli.show_migration import migration_json, migration_text
from thalweg.cli.terminal import err, out
from thalweg.engine.state.migrate import Change
from thalweg.engine.state.migrate import migrate as migrate_checkpoint


def migrate(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="the folder that --checkpoint named")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="a new or empty folder: the checkpoint to go on with")],
    degree: Annotated[
        int | None, typer.Option(help="channels of every operator whose state has a key; by default as they are", min=1)
    ] = None,
    buckets: Annotated[
        int | None, typer.Option(help="buckets of the state; by default what a run of that degree has", min=1)
    ] = None,
    balance: Annotated[
        bool, typer.Option("--balance", help="spread the stored keys evenly over the channels, whatever their hashes")
    ] = False,
    engine: Annotated[str | None, typer.Option(metavar="spark|local", help="by default the same")] = None,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Move the state of a paused or stopped run into a new checkpoint of another degree, fusion or engine.

    Nothing is lost or run twice, and the output stays the same, bit for bit. The old checkpoint is kept, but it cannot
    be started any more. The next start says how to fuse.

    Examples:

        thalweg migrate state/ state-4/ --degree 4

        thalweg migrate state/ wide/ --degree 2 --buckets 64

        thalweg migrate state/ even/ --degree 4 --balance

        thalweg migrate state/ on-spark/ --engine spark --json
    """
    if engine is not None:
        check_engine(engine)
    with err.status("looking at the checkpoint") as status:
        done = migrate_checkpoint(checkpoint, new, Change(degree, buckets, engine, balance), status.update)
    if json_output:
        print_json(migration_json(done))
        return
    for line in migration_text(done, new):
        out.print(line, markup=False)

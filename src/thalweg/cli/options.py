"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

AppName = Annotated[str, typer.Argument(metavar="APP", help="path.py, path.py:attribute or module:attribute")]
Params = Annotated[
    list[str] | None,
    typer.Option("--param", metavar="NAME=VALUE", help="value of a tw.param; may be repeated; a secret's: NAME=@FILE"),
]
Degree = Annotated[int, typer.Option(help="channels of every parallel region", min=1)]
DegreeOrOpen = Annotated[
    str, typer.Option(metavar="N|open", help="channels of every parallel region; open: left to the run of the plan")
]
RuleSet = Annotated[
    str,
    typer.Option(
        "--rules",
        metavar="thalweg|paper",
        help="which operators may be parallel: all for which it is safe, or as Schneider et al. have it",
    ),
]
Buckets = Annotated[
    int | None,
    typer.Option(
        help="buckets of the state, at least one per channel; by default one per channel, 64 with --balance", min=1
    ),
]
Balanced = Annotated[
    bool,
    typer.Option(
        "--balance",
        help="spread keys over the channels by how often they occur in the first 200,000 tuples; "
        "fixed from the first start on a checkpoint",
    ),
]
FuseMode = Annotated[
    str,
    typer.Option(
        metavar="none|all|GROUPS",
        help="one PE per operator, as few PEs as possible, or groups: 'a b; c d', or a file with a group per line",
    ),
]
FrameRows = Annotated[int, typer.Option(help="the most tuples of a frame, the unit in which streams are moved", min=1)]
PlanFile = Annotated[
    Path | None,
    typer.Option(
        "--plan", help="a plan in its text form, instead of --fuse, --balance and --rules", exists=True, dir_okay=False
    ),
]
Json = Annotated[bool, typer.Option("--json", help="machine-readable output: one JSON document per line")]
Debug = Annotated[bool, typer.Option("--debug", help="show tracebacks")]

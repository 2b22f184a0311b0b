"""Arguments and options that several commands share. The options of a plan are declared once, for all commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from thalweg.errors import UsageError
from thalweg.ir import plan_options
from thalweg.ir.plan import DEFAULT_FRAME_ROWS
from thalweg.ir.plan_options import OPEN
from thalweg.optimize.request import PlanRequest

AppName = Annotated[str, typer.Argument(metavar="APP", help="path.py, path.py:attribute or module:attribute")]
Params = Annotated[
    list[str] | None,
    typer.Option("--param", metavar="NAME=VALUE", help="value of a tw.param; may be repeated; for a secret NAME=@FILE"),
]
Degree = Annotated[
    str | None,
    typer.Option(
        metavar="N|NAME=N,…|open",
        help="number of channels of every parallel region, or by operator; by default 1; open: set when it is run",
    ),
]
RuleSet = Annotated[
    str,
    typer.Option(
        "--rules",
        metavar="thalweg|paper",
        help="which operators may be parallel: every operator for which it is safe, or the rules of Schneider et al.",
    ),
]
Buckets = Annotated[
    int | None,
    typer.Option(
        help="number of state buckets, at least one per channel; by default one per channel, with --balance 64 per "
        "channel",
        min=1,
    ),
]
Balanced = Annotated[
    bool,
    typer.Option(
        "--balance",
        help="distribute keys over the channels by their frequency in the first 200,000 tuples; "
        "fixed after the first start on a checkpoint",
    ),
]
FuseMode = Annotated[
    str,
    typer.Option(
        metavar="none|all|GROUPS",
        help="one PE per operator, as few PEs as possible, or groups: 'a b; c d', or a file with one group per line",
    ),
]
FrameRows = Annotated[int, typer.Option(help="maximum number of tuples in a frame, the unit of transport", min=1)]
PlanFile = Annotated[
    Path | None,
    typer.Option(
        "--plan",
        help="a plan as printed by explain, also with --json, instead of --fuse, --balance, --rules and --frame-rows",
        exists=True,
        dir_okay=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="machine-readable output: one JSON document per line")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors; no effect with --json")]
Debug = Annotated[bool, typer.Option("--debug", help="show tracebacks")]


def _plan_options(
    *,
    degree: Degree = None,
    buckets: Buckets = None,
    balance: Balanced = False,
    fuse: FuseMode = "all",
    plan: PlanFile = None,
    rules: RuleSet = "thalweg",
    frame_rows: FrameRows = DEFAULT_FRAME_ROWS,
) -> PlanRequest:
    return PlanRequest(
        degree=degree_of(degree),
        fuse=fuse,
        buckets=buckets,
        balance=balance,
        rules=rules,
        frame_rows=frame_rows,
        plan=plan,
    )


def takes_plan_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with all options of a plan; it receives them as one argument, `request`."""
    own, shared = _parameters(command), _parameters(_plan_options)
    del own["request"]

    def wrapper(**given: Any) -> None:
        request = _plan_options(**{name: given.pop(name) for name in shared})
        command(request=request, **given)

    wrapper.__name__, wrapper.__doc__ = command.__name__, command.__doc__
    both = [*own.values(), *shared.values()]
    wrapper.__signature__ = inspect.Signature(both)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {one.name: one.annotation for one in both}
    return wrapper


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters by name, with their evaluated annotations; only by name, so that any order is valid."""
    types = get_type_hints(function, include_extras=True)
    return {
        name: one.replace(annotation=types[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, one in inspect.signature(function).parameters.items()
    }


def degree_of(text: str | None) -> plan_options.Degree | None:
    """A number of channels, "open", or the degree of each operator: vwap=2,total=1."""
    if text is None or text == OPEN:
        return OPEN if text == OPEN else None
    if "=" not in text:
        return _channels(text)
    return {name.strip(): _channels(number) for name, _, number in (part.rpartition("=") for part in text.split(","))}


def _channels(text: str) -> int:
    if not (text.strip().isdecimal() and int(text) > 0):
        raise UsageError("--degree: invalid number of channels", expected="1 or more, NAME=N, or open", found=text)
    return int(text)

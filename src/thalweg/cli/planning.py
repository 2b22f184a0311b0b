"""From what the command line says to a graph and its plan."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from thalweg.cli.find_app import load_app
from thalweg.cli.terminal import err
from thalweg.errors import UsageError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import OPEN
from thalweg.optimize.passes import Observer, read_plan
from thalweg.planning.run_plan import Planned, plan_run


def graph_of(app: str, params: list[str] | None) -> LogicalGraph:
    return load_app(app, pairs(params, "--param", "NAME=VALUE")).graph()


def planned_by(
    graph: LogicalGraph,
    degree: int,
    fuse: str,
    file: Path | None,
    observe: Observer = lambda step: None,
    buckets: int | None = None,
    balance: bool = False,
    checkpoint: Path | None = None,
    rules: str = "thalweg",
) -> Planned:
    if file is not None:
        said = {"--balance": balance, "--fuse": fuse != "all", "--rules": rules != "thalweg"}
        for option in (name for name, given in said.items() if given):
            raise UsageError(f"--plan says all that {option} would", expected=f"--plan or {option}, not both")
        return Planned(read_plan(file.read_text(), graph, degree, buckets))
    groups = Path(fuse).read_text() if Path(fuse).is_file() else fuse
    with err.status("counting keys in a sample of the input") if balance else nullcontext():
        return plan_run(
            graph,
            degree=degree,
            fuse=groups,
            buckets=buckets,
            balance=balance,
            checkpoint=checkpoint,
            rules=rules,
            observe=observe,
        )


def degree_of(text: str) -> int:
    """A number of channels, or OPEN."""
    if text != "open" and not (text.isdecimal() and int(text) > 0):
        raise UsageError("--degree counts channels", expected="1 or more, or open", found=text)
    return OPEN if text == "open" else int(text)


def pairs(options: list[str] | None, name: str, shape: str) -> dict[str, str]:
    for pair in options or []:
        if "=" not in pair:
            raise UsageError(f"{name}: no value", expected=shape)  # not what was found: it may be a secret
    return {key.strip(): value for key, _, value in (pair.partition("=") for pair in options or [])}

"""Groups of operators as text: `ticks trades; vwap bargains.join`, or one group per line."""

from __future__ import annotations

import re
from collections.abc import Iterable

from thalweg.errors import PlanError, did_you_mean
from thalweg.ir.graph import LogicalGraph


def check_names(names: Iterable[str], graph: LogicalGraph, option: str) -> None:
    """Refuse names that are not operators of the graph."""
    for name in names:
        if name not in graph.by_name:
            raise PlanError(
                f"{option}: there is no operator {name!r}",
                expected="operators of the graph",
                hint=did_you_mean(str(name), graph.by_name),
            )


def read_groups(text: str, graph: LogicalGraph) -> dict[str, str]:
    """The group of each operator; one that is not named stays alone. `#` starts a comment."""
    groups: dict[str, str] = {}
    lines = [line.split("#")[0] for line in text.splitlines()]
    for number, group in enumerate(part for line in lines for part in line.split(";")):
        for name in re.split(r"[\s,]+", group.strip()):
            if not name:
                continue
            if name not in graph.by_name:
                raise PlanError(
                    f"unknown fusion: there is no operator {name}",
                    expected="all, none, or groups of operators like `a b; c d`",
                    found=text.strip(),
                    hint=did_you_mean(name, [*graph.by_name, *(("all", "none") if name == text.strip() else ())]),
                )
            if name in groups:
                raise PlanError(f"{name} is in two groups", operator=name, expected="each operator at most once")
            groups[name] = f"group {number}"
    return {o.name: groups.get(o.name, o.name) for o in graph.operators}

"""The plan in short, which `thalweg run` prints; `explain` prints all of it."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.cli.number_words import counted
from thalweg.ir.layout import layout
from thalweg.ir.plan import Plan

_WIDTH = 100


def summary(plan: Plan) -> str:
    """A line for each stage, with its channels and operators; then run parameters, if there are any, and sinks."""
    stages = layout(plan).stages
    lines = [f"application {plan.graph.name}: {counted(len(plan.graph.operators), 'operator')}, "]
    lines[0] += counted(len(stages), "stage")
    for index, stage in enumerate(stages):
        names = [name for pe in stage.pes for name in pe.operators]
        lines.append(_shortened(f"  stage {index}{_channels(plan, names)}: ", names))
    if plan.graph.params:
        lines.append("  parameters: " + ", ".join(f"{name} = {value}" for name, value in plan.graph.params))
    lines.append(_shortened("  sinks: ", [sink.name for sink in plan.graph.sinks]))
    return "\n".join(lines) + "\n"


def _channels(plan: Plan, names: Sequence[str]) -> str:
    """The channels of a stage; empty if it has one, or as many as the engine has tasks."""
    most = max(names, key=lambda name: plan.decisions[name].degree or 0)
    degree, key = plan.decisions[most].degree, plan.decisions[most].key
    return f" ({degree} channels{' by ' + ', '.join(key) if key else ''})" if degree and degree > 1 else ""


def _shortened(head: str, names: Sequence[str]) -> str:
    """As many of the names as fit into a line, at least one."""
    shown = 1
    while shown < len(names) and len(head + ", ".join(names[: shown + 1])) <= _WIDTH:
        shown += 1
    rest = len(names) - shown
    return head + ", ".join(names[:shown]) + (f", {rest} more" if rest > 0 else "")

"""The output of `thalweg explain`: operators, parallel regions, plan, exchanges, order and cut invariance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thalweg.analysis.liveness import live_attributes
from thalweg.analysis.order_keys import order_layout
from thalweg.analysis.show_regions import order_text, regions_json, regions_text
from thalweg.analysis.source_predicates import wanted
from thalweg.ir.diff import Difference
from thalweg.ir.expr import text
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.layout import layout
from thalweg.ir.operators import Calling, EventTime, Operator, Source
from thalweg.ir.plan import Plan
from thalweg.ir.plan_json import plan_as_json
from thalweg.ir.text import print_plan
from thalweg.optimize.passes import Step
from thalweg.relative_paths import relative_paths


def cut_invariance(graph: LogicalGraph) -> tuple[bool, str]:
    """Whether the answer depends on where the epochs are cut, and why."""
    sharded = [s.name for s in graph.sources if s.origins > 1]
    if sharded:
        return False, f"the shards of {', '.join(sharded)} are interleaved epoch by epoch"
    if graph.loops:
        return False, f"tuples that {graph.loops[0].name} feeds back arrive in the next epoch"
    if len(graph.sources) == 1 and any(isinstance(o, EventTime) and o.by_origin and o.idle for o in graph.operators):
        return False, f"event time waits for each split of {graph.sources[0].name} for a number of epochs"
    if len(graph.sources) == 1:
        return True, "it has one totally ordered source"
    names = ", ".join(s.name for s in graph.sources)
    return False, f"the sources {names} are interleaved epoch by epoch"


def explain(plan: Plan, rules: str = "thalweg") -> str:
    """The explanation as text."""
    graph = plan.graph
    width = max(len(o.name) for o in graph.operators)
    lines = [f"application {graph.name}", ""]
    lines += ["parameters", *(f"  {name} = {value}" for name, value in graph.params), ""] if graph.params else []
    lines += ["operators"]
    lines += [f"  {o.name:<{width}}  {_describe(graph, o)}" for o in graph.operators]
    lines += ["", *regions_text(plan, rules), "", *print_plan(plan).rstrip().splitlines(), ""]
    lines += ["exchanges carry"] if layout(plan).wires else []
    lines += [f"  {_wire(plan, index)}" for index in range(len(layout(plan).wires))]
    lines += ["", *order_text(plan)] if layout(plan).wires else []
    invariant, reason = cut_invariance(graph)
    lines += [
        "",
        f"cut-invariant: {'yes' if invariant else 'no'}, because {reason}",
    ]
    return relative_paths("\n".join(lines) + "\n")


def explain_steps(steps: Sequence[Step]) -> str:
    """The plan with which the passes begin, then how long each took and what it changed."""
    lines = ["passes", "", "begin", *(f"  {line}" for line in print_plan(steps[0].after).splitlines())]
    for step in steps[1:]:
        lines += ["", f"{step.name}: {1000 * step.seconds:.1f} ms" + ("" if step.changed else ", unchanged")]
        lines += [f"  {one}" for one in step.differences]
    return "\n".join(lines) + "\n"


def explain_diff(differences: Sequence[Difference], before: object) -> str:
    """The changes from the plan of a file to this one."""
    lines = [f"  {one}" for one in differences] or ["  none"]
    return "\n".join([f"changes from {before}", *lines]) + "\n"


def steps_json(steps: Sequence[Step]) -> list[dict[str, Any]]:
    return [
        {
            "pass": s.name,
            "changed": s.changed,
            "seconds": s.seconds,
            "diff": [one.as_json() for one in s.differences],
            "plan": plan_as_json(s.after),
        }
        for s in steps
    ]


def _describe(graph: LogicalGraph, operator: Operator) -> str:
    state = f"state: {operator.state_text}" if operator.state_text else ""
    parts = [f"{operator.kind:<9}", str(operator.where), state]
    if (path := _path(operator)) is not None:
        parts.append(path)
    if isinstance(operator, Source):
        parts.append(_reads(graph, operator))
    return "  ".join(part for part in parts if part)


def _path(operator: Operator) -> str | None:
    if not isinstance(operator, Calling):
        return None
    function = operator.function
    return "vectorized" if function.expr is not None else f"row by row: {function.opaque_because}"


def _reads(graph: LogicalGraph, source: Source) -> str:
    """What is read from a source: neither dead attributes nor row groups of Parquet without a wanted tuple."""
    names = ", ".join(live_attributes(graph)[source.output]) or "no attribute"
    if source.on_error != "fail":
        return f"reads {', '.join(source.outputs[0].names)}, to validate every row"
    needed = wanted(graph, source.output) if source.endpoint.skips_unwanted else None
    return f"reads {names}" + (f" where {text(needed)}" if needed is not None else "")


def _wire(plan: Plan, index: int) -> str:
    wire = layout(plan).wires[index]
    live = live_attributes(plan.graph)[wire.stream]
    everything = plan.graph.type_of(wire.stream).names
    dropped = [n for n in everything if n not in live]
    subs = order_layout(plan.graph).width[wire.stream]
    order = "position" + (f" + {subs} sub-position{'s' if subs > 1 else ''}" if subs else "")
    shown = f"{wire.stream}: {', '.join(live)}; ordered by {order}; {wire.route}"
    return shown + (f"; dropped: {', '.join(dropped)}" if dropped else "")


def explain_json(plan: Plan, rules: str = "thalweg") -> Mapping[str, Any]:
    """The explanation as JSON."""
    graph = plan.graph
    invariant, reason = cut_invariance(graph)
    return {
        "app": graph.name,
        "params": dict(graph.params),
        "operators": [
            {
                "name": o.name,
                "kind": o.kind,
                "where": str(o.where),
                "inputs": [str(s) for s in o.inputs],
                "outputs": [{n: str(t) for n, t in out.attributes} for out in o.outputs],
                "state": o.state_text or None,
                "path": _path(o),
                "reads": _reads(graph, o).removeprefix("reads ") if isinstance(o, Source) else None,
            }
            for o in graph.operators
        ],
        "plan": plan_as_json(plan),
        "parallel": regions_json(plan, rules),
        "cut_invariant": invariant,
        "cut_invariant_because": reason,
    }

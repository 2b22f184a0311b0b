"""A plan as a Mermaid flowchart: operators in their PEs, PEs in their stages, streams between them."""

from __future__ import annotations

from thalweg.ir.layout import layout
from thalweg.ir.operators import Operator, Sink, Source
from thalweg.ir.plan import Plan


def mermaid(plan: Plan) -> str:
    """Text for a Markdown file or a viewer: ``` ```mermaid ```."""
    graph = plan.graph
    ids = {o.name: f"o{i}" for i, o in enumerate(graph.operators)}
    lines = ["flowchart LR"]
    for s, stage in enumerate(layout(plan).stages):
        lines.append(f'  subgraph s{s}["stage {s}"]')
        for p, pe in enumerate(stage.pes):
            lines.append(f'    subgraph s{s}p{p}["pe {s}.{p}"]')
            lines += [f"      {ids[name]}{_shape(graph.by_name[name], plan)}" for name in pe.operators]
            lines.append("    end")
        lines.append("  end")
    lines += [f"  {ids[sink.name]}{_shape(sink, plan)}" for sink in graph.sinks]
    for operator in graph.operators:
        for port, stream in enumerate(operator.inputs):
            wire = layout(plan).wire_of.get((operator.name, port))
            port_text = f"port {stream.port}" if stream.port else ""
            crosses = wire is not None and wire.route.key is not None
            words = [text for text in (port_text, str(wire.route) if wire and crosses else "") if text]
            arrow = "==>" if crosses else "-->"
            label = f'|"{_text(", ".join(words))}"|' if words else ""
            lines.append(f"  {ids[stream.operator]} {arrow}{label} {ids[operator.name]}")
    return "\n".join(lines) + "\n"


def _shape(operator: Operator, plan: Plan) -> str:
    """Sources and sinks are rounded, state is a cylinder, the rest are boxes."""
    title = _text(operator.name)
    if operator.kind != operator.name:
        title += f"<br/>{operator.kind}"
    degree = plan.degrees.get(operator.name)
    if degree is not None and operator.key is not None:
        by = ", ".join(operator.key or ()) or "all tuples"
        return f'[("{title} by {_text(by)}<br/>degree {degree}")]'
    return f'(["{title}"])' if isinstance(operator, Source | Sink) else f'["{title}"]'


def _text(text: str) -> str:
    """Mermaid has no escape character, only entities; operator names may contain anything except spaces and # = [ ]."""
    plain = {"&": "amp", '"': "quot", "<": "lt", ">": "gt", "`": "96", "\\": "92"}
    return "".join(f"#{plain[c]};" if c in plain else c for c in text)

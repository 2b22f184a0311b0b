"""The JSON form of a plan, for tools: the same fields as in its text form, and the layout, which is derived."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from thalweg.errors import PlanError
from thalweg.ir.bucket_tables import table_text
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.layout import layout
from thalweg.ir.plan import Decision, Plan
from thalweg.ir.plan_options import OPEN
from thalweg.ir.text import parse_plan


def plan_as_json(plan: Plan) -> Mapping[str, Any]:
    made = layout(plan)
    return {
        "app": plan.graph.name,
        "fingerprint": plan.fingerprint,
        "buckets": plan.buckets,
        "frame_rows": plan.frame_rows,
        "operators": [{"name": o.name, **_as_json(plan.decisions[o.name])} for o in plan.graph.operators],
        "layout": {
            "channels": plan.channels,
            "stages": [
                {"exchange": [wire.index for wire in carried], "pes": [list(pe.operators) for pe in stage.pes]}
                for stage, carried in zip(made.stages, made.exchanges, strict=True)
            ],
            "wires": [{"index": w.index, "stream": str(w.stream), "route": str(w.route)} for w in made.wires],
            "sinks": [sink.name for sink in plan.graph.sinks],
        },
    }


def _as_json(decision: Decision) -> dict[str, Any]:
    return {
        "degree": OPEN if decision.is_open else decision.degree,
        "key": None if decision.key is None else list(decision.key),
        "group": decision.group,
        "table": None if decision.table is None else table_text(decision.table),
        "host": decision.host,
        "ports": list(decision.ports),
    }


def parse_json_plan(source: str, graph: LogicalGraph) -> Plan:
    """Parse the JSON form of a plan, or the output of a command with --json that contains it."""
    try:
        document = json.loads(source.partition("\n")[0] if source.startswith('{"event"') else source)
    except ValueError as error:
        raise PlanError(f"the plan is not valid JSON: {error}", expected=_SHAPE) from error
    if isinstance(document, dict) and "plan" in document:
        document = document["plan"]
    return plan_from_json(document, graph)


_SHAPE = "the plan that `thalweg explain --json` prints"


def plan_from_json(document: Any, graph: LogicalGraph) -> Plan:
    """The plan of a document made by `plan_as_json`. Its text is parsed, so both forms are checked alike."""
    try:
        header = f"plan {document['app']} buckets={document['buckets']} frame_rows={document['frame_rows']}"
        lines = [_line(one, graph) for one in document["operators"]]
    except (KeyError, TypeError, AttributeError) as error:
        missing = f": no {error}" if isinstance(error, KeyError) else ""
        raise PlanError(f"not the JSON form of a plan{missing}", expected=_SHAPE) from error
    return parse_plan("\n".join([header, *lines]), graph)


def _line(one: Mapping[str, Any], graph: LogicalGraph) -> str:
    """The line of an operator. An empty key is written only where it is not the operator's own."""
    name = one["name"]
    own = graph.by_name[name].key if name in graph.by_name else None
    fields = {field: value for field, value in one.items() if field != "name" and value not in (None, [])}
    if one.get("key") == [] and own:
        fields["key"] = []
    return " ".join([name, *(f"{field}={_value(value)}" for field, value in fields.items())])


def _value(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)

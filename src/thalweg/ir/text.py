"""The text form of a plan. It prints and parses; whatever follows `#` explains and is not read back.

plan bargains buckets=2 frame_rows=262144
stage 0
  pe ticks trades quotes
stage 1                      # exchange: trades by symbol over 2; quotes by symbol over 2
  pe vwap bargains.join bargains.filter bargains
degree ticks=2 vwap=2 bargains.join=2

`degree vwap=open` leaves a degree to the run. `key vwap=symbol`: a part of its key routes its tuples. Where keys are
balanced, the channel of each bucket: `assign vwap bargains.join 01101001` (`ir.bucket_tables`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from thalweg.errors import PlanError, did_you_mean
from thalweg.ir.bucket_tables import Table, read_table, table_text
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import OPEN, PE, PhysicalPlan, Stage

_OPEN = "open"


def print_plan(plan: PhysicalPlan) -> str:
    lines = [f"plan {plan.graph.name} buckets={plan.buckets} frame_rows={plan.frame_rows}"]
    for index, stage in enumerate(plan.stages):
        lines.append(f"stage {index}{_exchange(plan, index)}")
        lines += [f"  pe {' '.join(pe.operators)}" for pe in stage.pes]
    if plan.degrees:
        lines.append("degree " + " ".join(f"{name}={_shown(degree)}" for name, degree in plan.degrees.items()))
    if plan.keys:
        lines.append("key " + " ".join(f"{name}={','.join(key)}" for name, key in plan.keys.items()))
    for table in dict.fromkeys(plan.assignments.values()):
        names = [name for name, other in plan.assignments.items() if other == table]
        lines.append(f"assign {' '.join(names)} {table_text(table)}")
    return "\n".join(lines) + "\n"


def _shown(degree: int) -> str:
    return _OPEN if degree == OPEN else str(degree)


def _exchange(plan: PhysicalPlan, stage: int) -> str:
    if stage == 0:
        return ""
    carried = [
        f"{w.stream} {w.route}"
        for w in plan.wires
        if plan.place[w.stream.operator][0] < stage
        and any(plan.place[n][0] >= stage for (n, _), other in plan.wire_of.items() if other == w)
    ]
    return f"  # exchange: {'; '.join(carried)}"


def parse_plan(source: str, graph: LogicalGraph) -> PhysicalPlan:
    """The plan that this text describes, for this graph. It is not verified: see `analysis.verify`."""
    header: dict[str, int] = {}
    stages: list[list[PE]] = []
    degrees: dict[str, int] = {}
    keys: dict[str, tuple[str, ...]] = {}
    assignments: dict[str, Table] = {}
    for number, raw in enumerate(source.splitlines(), 1):
        words = raw.split("#")[0].split()
        match words:
            case []:
                continue
            case ["plan", name, *options]:
                if name != graph.name:
                    raise _error(number, raw, f"this plan is for {name}", f"a plan for {graph.name}")
                header = {key: _number(number, raw, value) for key, value in map(_pair, options)}
            case ["stage", index]:
                if _number(number, raw, index) != len(stages):
                    raise _error(number, raw, "stages are numbered in order", f"stage {len(stages)}")
                stages.append([])
            case ["pe", *names] if stages and names:
                stages[-1].append(PE(tuple(_known(number, raw, graph, name) for name in names)))
            case ["degree", *pairs]:
                degrees |= {
                    _known(number, raw, graph, name): _degree(number, raw, value) for name, value in map(_pair, pairs)
                }
            case ["key", *pairs]:
                keys |= {_known(number, raw, graph, name): tuple(value.split(",")) for name, value in map(_pair, pairs)}
            case ["assign", *names, table] if names:
                assignments |= {_known(number, raw, graph, name): _table(number, raw, table) for name in names}
            case _:
                raise _error(number, raw, "cannot read this line", "plan, stage, pe, degree, key or assign")
    if not header.keys() >= {"buckets", "frame_rows"}:
        raise _error(1, source.partition("\n")[0], "the header is incomplete", "plan NAME buckets=N frame_rows=N")
    lined = tuple(Stage(tuple(pes)) for pes in stages)
    return PhysicalPlan(graph, lined, degrees, header["buckets"], header["frame_rows"], keys, assignments)


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key, value


def _number(line: int, raw: str, text: str) -> int:
    if not re.fullmatch(r"\d+", text):
        raise _error(line, raw, f"not a number: {text!r}", "a whole number")
    return int(text)


def _degree(line: int, raw: str, text: str) -> int:
    degree = OPEN if text == _OPEN else _number(line, raw, text)
    if degree == 0:
        raise _error(line, raw, "a degree counts channels", "1 or more, or open")
    return degree


def _table(line: int, raw: str, text: str) -> Table:
    try:
        return read_table(text)
    except ValueError:
        raise _error(line, raw, f"not a table: {text!r}", "a digit per bucket, or numbers with commas") from None


def _known(line: int, raw: str, graph: LogicalGraph, name: str) -> str:
    if name not in graph.by_name:
        raise _error(
            line, raw, f"unknown operator {name!r}", "an operator of the graph", did_you_mean(name, graph.by_name)
        )
    return name


def _error(line: int, raw: str, message: str, expected: str, hint: str | None = None) -> PlanError:
    return PlanError(f"plan, line {line}: {message}", expected=expected, found=raw.strip(), hint=hint)


def plan_as_json(plan: PhysicalPlan) -> Mapping[str, Any]:
    """The same content as the text form, with the derived exchanges, for tools."""
    return {
        "app": plan.graph.name,
        "fingerprint": plan.fingerprint,
        "buckets": plan.buckets,
        "frame_rows": plan.frame_rows,
        "channels": plan.channels,
        "stages": [{"pes": [list(pe.operators) for pe in stage.pes]} for stage in plan.stages],
        "degrees": {name: _OPEN if degree == OPEN else degree for name, degree in plan.degrees.items()},
        "keys": {name: list(key) for name, key in plan.keys.items()},
        "assignments": {name: table_text(table) for name, table in plan.assignments.items()},
        "wires": [{"index": w.index, "stream": str(w.stream), "route": str(w.route)} for w in plan.wires],
        "sinks": [sink.name for sink in plan.graph.sinks],
    }


def plan_from_json(document: Mapping[str, Any], graph: LogicalGraph) -> PhysicalPlan:
    return PhysicalPlan(
        graph,
        tuple(Stage(tuple(PE(tuple(names)) for names in stage["pes"])) for stage in document["stages"]),
        {name: OPEN if degree == _OPEN else degree for name, degree in document["degrees"].items()},
        document["buckets"],
        document["frame_rows"],
        {name: tuple(key) for name, key in document["keys"].items()},
        {name: read_table(table) for name, table in document["assignments"].items()},
    )

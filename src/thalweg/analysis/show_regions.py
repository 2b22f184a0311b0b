"""Parallel regions as text: which operators run in several channels, why others do not, and the cost of order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thalweg.analysis.edges import Edge, edges
from thalweg.analysis.form_regions import form_regions
from thalweg.ir.layout import layout
from thalweg.ir.operators import Sink, Source
from thalweg.ir.plan import STAY, Plan
from thalweg.ir.regions import NONE, Region


def regions_text(plan: Plan, rules: str) -> list[str]:
    """Regions with their joints, then every operator that is in none."""
    formed = form_regions(plan.graph, rules)
    lines = ["parallel regions" if rules == "thalweg" else f"parallel regions, by the rules of the {rules}"]
    lines += [line for region in formed.regions for line in _region(region, plan)] or ["  none"]
    refused = [v for v in formed.verdicts.values() if not v.parallel and not _is_sink(plan, v.operator)]
    if refused:
        lines += ["", "not parallelized", *(f"  {v.operator}: {v.reason}" for v in refused)]
    return lines


def order_text(plan: Plan) -> list[str]:
    """The order on every edge that is a wire: needed, kept, and paid for."""
    shown = [e for e in edges(plan) if (e.operator, e.port) in layout(plan).wire_of]
    width = max((len(f"{e.stream} -> {e.operator}") for e in shown), default=0)
    lines = ["order"] if shown else []
    for e in shown:
        name = f"{e.stream} -> {e.operator}"
        lines.append(f"  {name:<{width}}  needed: {e.needed}; kept: {e.kept}; paid: {e.paid}")
    return lines


def _region(region: Region, plan: Plan) -> list[str]:
    by = "" if region.key is None else f" by {', '.join(region.key)}"
    asked = "" if region.degree is None else f", degree {region.degree} requested"
    return [
        f"  region {region.number}{by}{asked}: {' '.join(region.operators)}",
        f"    from a {region.first.kind} to a {region.last.kind}; order: {_order(region, plan)}",
        *_exchanges(region, plan),
    ]


def _exchanges(region: Region, plan: Plan) -> list[str]:
    """The exchanges inside a region, for example after a source that has the key of the region."""
    lines: list[str] = []
    own = set(region.operators)
    for e in _edges_from(plan, region):
        wire, operator = layout(plan).wire_of.get((e.operator, e.port)), plan.graph.by_name[e.operator]
        if (
            e.operator in own
            and wire is not None
            and wire.route != STAY
            and e.merge != NONE
            and e.port != operator.mark_port
        ):
            source = isinstance(plan.graph.by_name[e.stream.operator], Source)
            because = "; sources are read in blocks of positions, not by key" if source else ""
            lines.append(f"    inside: an exchange, {e.stream} -> {e.operator} {wire.route}{because}")
    return lines


def _order(region: Region, plan: Plan) -> str:
    """How the plan merges the tuples that leave the region; and what state and selectivity require, if that differs."""
    table, merges = f"{region.last.strategy}, {region.last.because}", _merges(region, plan)
    return table if merges == [region.last.strategy] else f"{' | '.join(merges)}; by the paper's table: {table}"


def _merges(region: Region, plan: Plan) -> list[str]:
    own = set(region.operators)
    return sorted({e.merge for e in _edges_from(plan, region) if e.operator not in own} - {NONE}) or [NONE]


def _edges_from(plan: Plan, region: Region) -> Iterator[Edge]:
    """The edges of the streams that a region's operators produce, in the order of their consumers."""
    found = plan.once(_edges_by_producer)
    own = (one for name in region.operators for one in found.get(name, ()))
    yield from (edge for _, edge in sorted(own, key=lambda one: one[0]))


def _edges_by_producer(plan: Plan) -> dict[str, list[tuple[int, Edge]]]:
    made: dict[str, list[tuple[int, Edge]]] = {}
    for index, edge in enumerate(edges(plan)):
        made.setdefault(edge.stream.operator, []).append((index, edge))
    return made


def _is_sink(plan: Plan, name: str) -> bool:
    return isinstance(plan.graph.by_name[name], Sink)


def regions_json(plan: Plan, rules: str) -> dict[str, Any]:
    formed = form_regions(plan.graph, rules)
    return {
        "rules": rules,
        "regions": [
            {
                "operators": list(r.operators),
                "key": None if r.key is None else list(r.key),
                "first": {"kind": r.first.kind, "order": r.first.strategy, "because": r.first.because},
                "last": {"kind": r.last.kind, "order": r.last.strategy, "because": r.last.because},
                "merges": _merges(r, plan),
                "degree": r.degree,
            }
            for r in formed.regions
        ],
        "verdicts": [
            {"operator": v.operator, "parallel": v.parallel, "because": str(v.reason)} for v in formed.verdicts.values()
        ],
        "order": [
            {"stream": str(e.stream), "into": e.operator, "needed": e.needed, "kept": e.kept, "paid": e.paid}
            for e in edges(plan)
        ],
    }

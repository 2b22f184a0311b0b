"""Hints about PEs: operators that must share one, and operators that must have their own."""

from __future__ import annotations

from collections.abc import Mapping

from thalweg.ir.graph import LogicalGraph
from thalweg.optimize.disjoint_sets import DisjointSets


def with_hints(groups: Mapping[str, str], graph: LogicalGraph) -> Mapping[str, str]:
    """The groups, merged for `fuse_with` and separated for `isolate`.

    Operators that must share a PE, directly or through others, are put into one group; the other operators of their
    groups stay there."""
    alone = {name: f"{name} alone" for name, hint in graph.hints.items() if hint.isolate}
    made = {**groups, **alone}
    pairs = [(name, other) for name, hint in graph.hints.items() for other in hint.fuse_with]
    mates, merged = DisjointSets[str](), DisjointSets[tuple[str, str]]()
    for name, other in pairs:
        mates.join(name, other)
    own = {name: (mates.root(name), made[name]) for pair in pairs for name in pair}
    for name, other in pairs:
        merged.join(own[name], own[other])
    return made | {name: merged.root(mine)[1] for name, mine in own.items()}

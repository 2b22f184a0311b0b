"""What users ask of PEs: operators that must share one, and operators that must have their own."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import cast

from thalweg.ir.graph import LogicalGraph


def with_hints(groups: Mapping[str, str], graph: LogicalGraph) -> Mapping[str, str]:
    """The groups, with those of `fuse_with` put together and those of `isolate` taken apart.

    Operators that must share a PE, directly or through others, come into one group; who else is in their groups stays
    there."""
    alone = {name: f"{name} alone" for name, hint in graph.hints.items() if hint.isolate}
    made = {**groups, **alone}
    pairs = [(name, other) for name, hint in graph.hints.items() for other in hint.fuse_with]
    mates: dict[Hashable, Hashable] = {}
    for name, other in pairs:
        mates[_root(mates, other)] = _root(mates, name)
    own = {name: (_root(mates, name), made[name]) for pair in pairs for name in pair}
    merged: dict[Hashable, Hashable] = {}
    for name, other in pairs:
        merged[_root(merged, own[other])] = _root(merged, own[name])
    for name, mine in own.items():
        _, made[name] = cast("tuple[Hashable, str]", _root(merged, mine))
    return made


def _root(parents: dict[Hashable, Hashable], one: Hashable) -> Hashable:
    """What stands for the set that it is in; the way there is halved, so that it stays short."""
    while (parent := parents.setdefault(one, one)) != one:
        parents[one] = parents.setdefault(parent, parent)
        one = parent
    return one

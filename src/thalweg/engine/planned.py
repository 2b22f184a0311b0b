"""The plan of a run. How its keys are routed is what its checkpoint says; at a first start, what a sample says."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from thalweg.engine.manifest import Manifest
from thalweg.engine.measure_keys import measure_keys
from thalweg.errors import ThalwegWarning
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import PhysicalPlan
from thalweg.optimize.balance import BALANCED_BUCKETS_PER_CHANNEL, Assign, Balance, Loads
from thalweg.optimize.fuse import Fuse
from thalweg.optimize.passes import Observer, make_plan


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan and, where a sample was taken for it, what that showed."""

    plan: PhysicalPlan
    loads: Loads | None = None


def plan_run(
    graph: LogicalGraph,
    *,
    degree: int = 1,
    fuse: str | Fuse = "all",
    buckets: int | None = None,
    balance: bool = False,
    checkpoint: Path | None = None,
    observe: Observer = lambda step: None,
) -> Planned:
    """State lies where its keys were routed when it was written: a checkpoint's tables stay, whatever comes now."""
    fixed = _manifest(checkpoint)
    if fixed is not None and fixed.assignments:
        routing, buckets = Assign(fixed.tables()), buckets or fixed.buckets
        return Planned(make_plan(graph, degree=degree, fuse=fuse, buckets=buckets, routing=routing, observe=observe))
    if balance and fixed is not None:
        _note(
            "--balance changes nothing: keys stay on the channels that this checkpoint has had from its first start; "
            "thalweg migrate CHECKPOINT NEW --balance moves them"
        )
    elif balance and degree == 1:
        _note("--balance changes nothing: with --degree 1 all keys are on one channel")
    elif balance:
        return _balanced(graph, degree, fuse, buckets, observe)
    return Planned(make_plan(graph, degree=degree, fuse=fuse, buckets=buckets, observe=observe))


def _balanced(graph: LogicalGraph, degree: int, fuse: str | Fuse, buckets: int | None, observe: Observer) -> Planned:
    if not any(operator.key for operator in graph.stateful):
        _note("--balance changes nothing: no operator keeps state by key")
        return Planned(make_plan(graph, degree=degree, fuse=fuse, buckets=buckets, observe=observe))
    buckets = buckets or BALANCED_BUCKETS_PER_CHANNEL * degree
    loads = measure_keys(graph, buckets)
    if not any(map(any, loads.at.values())):
        _note("--balance changes nothing: there is no input yet from which keys could be counted")
    plan = make_plan(graph, degree=degree, fuse=fuse, buckets=buckets, routing=Balance(loads), observe=observe)
    return Planned(plan, loads)


def _manifest(checkpoint: Path | None) -> Manifest | None:
    file = None if checkpoint is None else checkpoint / "manifest.json"
    return Manifest.from_json(file.read_bytes()) if file is not None and file.is_file() else None


def _note(text: str) -> None:
    warnings.warn(text, ThalwegWarning, stacklevel=3)

"""The plan of a run. How its keys are routed is what its checkpoint says; at a first start, what a sample says."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.errors import PlanError, ThalwegWarning
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import OPEN, PhysicalPlan
from thalweg.optimize.balance import BALANCED_BUCKETS_PER_CHANNEL, Assign, Balance, Loads
from thalweg.optimize.fuse import Fuse
from thalweg.optimize.passes import Observer, make_plan

if TYPE_CHECKING:
    from thalweg.engine.storage.manifest import Manifest


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
    rules: str = "thalweg",
    observe: Observer = lambda step: None,
) -> Planned:
    """State lies where its keys were routed when it was written: a checkpoint's routes stay, whatever comes now."""
    fixed = _manifest(checkpoint)
    make = partial(make_plan, graph, degree=degree, fuse=fuse, rules=rules, observe=observe)
    if fixed is not None and fixed.states:
        if balance and not fixed.assignments:
            _note(
                "--balance changes nothing: keys stay on the channels that this checkpoint has had from its first "
                "start; thalweg migrate CHECKPOINT NEW --balance moves them"
            )
        routing = Assign(fixed.tables()) if fixed.assignments else None
        kept = fixed.buckets if fixed.assignments else None
        return Planned(make(buckets=buckets or kept, routes=fixed.routes, routing=routing, held=fixed.states))
    if balance and degree == 1:
        _note("--balance changes nothing: with --degree 1 all keys are on one channel")
    elif balance and degree == OPEN:
        raise PlanError("--balance needs to know the number of channels", expected="--degree N", found="--degree open")
    elif balance and not any(operator.key for operator in graph.stateful):
        _note("--balance changes nothing: no operator keeps state by key")
    elif balance:
        buckets = buckets or BALANCED_BUCKETS_PER_CHANNEL * degree
        from thalweg.planning.measure_keys import measure_keys  # here: it runs the local engine

        loads = measure_keys(graph, buckets)
        if not any(map(any, loads.at.values())):
            _note("--balance changes nothing: there is no input yet from which keys could be counted")
        # A table is of whole keys, so no part of a key routes tuples.
        return Planned(make(buckets=buckets, routes={}, routing=Balance(loads)), loads)
    return Planned(make(buckets=buckets))


def _manifest(checkpoint: Path | None) -> Manifest | None:
    file = None if checkpoint is None else checkpoint / "manifest.json"
    if file is None or not file.is_file():
        return None
    from thalweg.engine.storage.manifest import Manifest  # here: a plan without a checkpoint needs no engine

    return Manifest.from_json(file.read_bytes())


def _note(text: str) -> None:
    warnings.warn(text, ThalwegWarning, stacklevel=3)

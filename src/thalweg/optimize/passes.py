"""From graph to plan. The order of the passes is data; the driver verifies what comes out of each and shows it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from thalweg.analysis.safety import check_safety
from thalweg.analysis.unused_state import settled
from thalweg.analysis.verify import verify
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import DEFAULT_FRAME_ROWS, PhysicalPlan
from thalweg.ir.text import parse_plan
from thalweg.optimize.balance import Assign, Balance
from thalweg.optimize.choose_degrees import ChooseDegrees
from thalweg.optimize.fuse import Fuse, one_by_one
from thalweg.optimize.hints import check_hints, with_hints
from thalweg.optimize.parallelize import Parallelize


class Pass(Protocol):
    """Plan to plan; the same object when nothing changed."""

    @property
    def name(self) -> str: ...

    def run(self, plan: PhysicalPlan) -> PhysicalPlan: ...


@dataclass(frozen=True, slots=True)
class Step:
    """What one pass did. The first step has no plan before."""

    name: str
    before: PhysicalPlan | None
    after: PhysicalPlan

    @property
    def changed(self) -> bool:
        return self.after is not self.before


Observer = Callable[[Step], None]


def make_plan(
    graph: LogicalGraph,
    *,
    degree: int | Mapping[str, int] = 1,
    fuse: str | Fuse = "all",
    buckets: int | None = None,
    frame_rows: int = DEFAULT_FRAME_ROWS,
    rules: str = "thalweg",
    routes: Mapping[str, tuple[str, ...]] | None = None,
    routing: Balance | Assign | None = None,
    held: Collection[str] = (),
    observe: Observer = lambda step: None,
) -> PhysicalPlan:
    """A verified plan of a graph that can be run by any. `degree` OPEN: it is chosen when the plan is run. `held`: the
    operators of which a checkpoint has a state; `routes`: what routes tuples to these, where that is not their whole
    key."""
    graph = settled(graph, held)
    check_safety(graph)
    fusion = fuse if isinstance(fuse, Fuse) else Fuse.by_name(fuse, graph)
    passes: tuple[Pass, ...] = (
        Parallelize(rules, routes),  # routes decide where exchanges stand, and no PE spans an exchange
        ChooseDegrees(degree, buckets, rules),
        *((routing,) if routing is not None else ()),  # tables decide it, too: equal keys meet only by equal tables
        Fuse(with_hints(fusion.groups, graph)),
    )
    plan = run_passes(one_by_one(graph, frame_rows), passes, observe)
    check_hints(plan)
    return plan


def read_plan(text: str, graph: LogicalGraph, degree: int, buckets: int | None = None) -> PhysicalPlan:
    """A verified plan from its text, or from all that `explain` prints, of a graph that can be run by any."""
    check_safety(graph)
    if text.startswith("application "):
        text = "plan " + text.partition("\nplan ")[2].partition("\n\n")[0]
    return close_degrees(verify(parse_plan(text, settled(graph))), degree, buckets)


def close_degrees(plan: PhysicalPlan, degree: int, buckets: int | None = None) -> PhysicalPlan:
    """A plan whose open degrees, if it has some, are this one."""
    return verify(ChooseDegrees(degree, buckets).run(plan)) if plan.is_open else plan


def run_passes(plan: PhysicalPlan, passes: tuple[Pass, ...], observe: Observer) -> PhysicalPlan:
    observe(Step("begin", None, verify(plan)))
    for one in passes:
        after = verify(one.run(plan))
        observe(Step(one.name, plan, after))
        plan = after
    return plan

"""Invariants of a plan, one function each (docs/invariants.md). The driver verifies after every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from thalweg.analysis.facts import facts_of
from thalweg.analysis.partitioning import arriving_routes, partitioning
from thalweg.errors import PlanError
from thalweg.ir.facts import UNKNOWN
from thalweg.ir.operators import Feedback, Sink
from thalweg.ir.plan import OPEN, TO_FIRST, PhysicalPlan


def every_operator_once(plan: PhysicalPlan) -> Iterator[str]:
    """Each operator that is not a sink stands in exactly one PE."""
    placed = [name for stage in plan.stages for pe in stage.pes for name in pe.operators]
    for operator in plan.graph.operators:
        count = placed.count(operator.name)
        if count != (0 if isinstance(operator, Sink) else 1):
            yield f"{operator.name} stands in {count} PEs"


def tuples_flow_forward(plan: PhysicalPlan) -> Iterator[str]:
    """No operator stands before one that feeds it."""
    order = {o.name: i for i, o in enumerate(plan.graph.operators)}
    for operator in plan.graph.operators:
        for stream in operator.inputs:
            if plan.place[stream.operator] > plan.place[operator.name]:
                yield f"{operator.name} stands before {stream.operator}, which feeds it"
    for stage in plan.stages:
        for pe in stage.pes:
            if list(pe.operators) != sorted(pe.operators, key=order.__getitem__):
                yield f"a PE's operators are not in declaration order: {' '.join(pe.operators)}"


def sources_start_the_line(plan: PhysicalPlan) -> Iterator[str]:
    """Sources stand in the first PE of stage 0, and nowhere else."""
    for source in plan.graph.entries:
        if plan.place[source.name] != (0, 0):
            yield f"source {source.name} does not stand in the first PE of stage 0"


def routes_start_stages(plan: PhysicalPlan) -> Iterator[str]:
    """Whoever tuples are routed to stands in the first PE of a stage other than 0, and every such PE has one."""
    for operator in plan.graph.operators:
        stage, pe = plan.place[operator.name]
        if plan.is_routed(operator) and (stage == 0 or pe != 0):
            yield f"{operator.name} does not stand in the first PE behind an exchange"
    for index, later in enumerate(plan.stages[1:], 1):
        if not any(plan.is_routed(plan.graph.by_name[name]) for name in later.pes[0].operators):
            yield f"nobody in the first PE of stage {index} needs the exchange before it"


def routes_are_kept(plan: PhysicalPlan) -> Iterator[str]:
    """An operator's input arrives by its own route, or from operators of its PE that keep that route."""
    parts = partitioning(plan)
    for operator in filter(plan.is_routed, plan.graph.operators):
        for port, stream in enumerate(operator.inputs):
            needed = plan.route_into(operator, port)
            if (operator.name, port) not in plan.wire_of and parts[stream] != needed:
                yield f"{operator.name} needs {needed}, but {stream} is partitioned {parts[stream]}"


def unknown_state_is_in_one_channel(plan: PhysicalPlan) -> Iterator[str]:
    """An operator that may keep state of which nothing is known runs in one channel."""
    parts = partitioning(plan)
    for name, facts in facts_of(plan.graph).items():
        operator = plan.graph.by_name[name]
        if facts.state.kind != UNKNOWN or isinstance(operator, Sink | Feedback):
            continue
        arriving = arriving_routes(plan, operator, parts).values()
        several = not plan.reads_in_one if plan.place[name][0] == 0 else any(route != TO_FIRST for route in arriving)
        if several:
            yield f"{name} may keep state ({facts.state.because}) and runs in several channels"


def degrees_are_allowed(plan: PhysicalPlan) -> Iterator[str]:
    """Stateful operators have a degree, sinks none; without a key it is 1; a part of the key routes tuples."""
    for operator in plan.graph.operators:
        degree, key = plan.degrees.get(operator.name), plan.keys.get(operator.name)
        if degree is None:
            if operator.key is not None:
                yield f"{operator.name} keeps state and has no degree"
            continue
        if isinstance(operator, Sink):
            yield f"the sink {operator.name} has a degree"
        if degree < 1 and degree != OPEN:
            yield f"{operator.name} has degree {degree}"
        if operator.key == () and degree != 1:
            yield f"{operator.name} keeps one state for all tuples and has degree {degree}"
        if operator.key and key is not None and not (key and set(key) <= set(operator.key)):
            yield f"{operator.name} is routed by {', '.join(key) or 'nothing'}, which is no part of its key"
    if plan.buckets < plan.channels:
        yield f"{plan.buckets} buckets are too few for {plan.channels} channels"
    if plan.frame_rows < 1:
        yield "frames need at least one row"


def tables_fit(plan: PhysicalPlan) -> Iterator[str]:
    """A table belongs to an operator whose state has a key, and gives each bucket one of the operator's channels."""
    for name, table in plan.assignments.items():
        if not (name in plan.degrees and plan.graph.by_name[name].key):
            yield f"{name} has a table, and no state with a key"
        elif len(table) != plan.buckets:
            yield f"the table of {name} has {len(table)} buckets, and the plan {plan.buckets}"
        elif not all(0 <= channel < plan.degrees[name] for channel in table):
            yield f"the table of {name} names the channel {max(table)}, and its degree is {plan.degrees[name]}"


Invariant = Callable[[PhysicalPlan], Iterator[str]]

INVARIANTS: tuple[Invariant, ...] = (
    every_operator_once,  # first: the others look operators up by their place
    degrees_are_allowed,
    tables_fit,
    tuples_flow_forward,
    sources_start_the_line,
    routes_start_stages,
    routes_are_kept,
    unknown_state_is_in_one_channel,
)


def verify(plan: PhysicalPlan) -> PhysicalPlan:
    """The plan itself, or a PlanError that names the first invariant it breaks."""
    for invariant in INVARIANTS:
        for problem in invariant(plan):
            raise PlanError(f"illegal plan: {problem}", expected=(invariant.__doc__ or "").strip())
    return plan

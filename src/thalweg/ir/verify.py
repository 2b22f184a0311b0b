"""Invariants of a plan, one function each (docs/invariants.md). The driver verifies after every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from thalweg.errors import PlanError
from thalweg.ir.operators import Sink
from thalweg.ir.partitioning import partitioning
from thalweg.ir.plan import PhysicalPlan


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


def state_starts_a_stage(plan: PhysicalPlan) -> Iterator[str]:
    """Stateful operators stand in the first PE of a stage other than 0, and every such PE has one."""
    for operator in plan.graph.stateful:
        stage, pe = plan.place[operator.name]
        if stage == 0 or pe != 0:
            yield f"stateful {operator.name} does not stand in the first PE behind an exchange"
    for index, later in enumerate(plan.stages[1:], 1):
        if not any(plan.graph.by_name[name].key is not None for name in later.pes[0].operators):
            yield f"stage {index} starts without state"


def state_sees_whole_keys(plan: PhysicalPlan) -> Iterator[str]:
    """A stateful operator's input arrives by its own route, or from operators of its PE that keep that route."""
    parts = partitioning(plan)
    for operator in plan.graph.stateful:
        for port, stream in enumerate(operator.inputs):
            needed = plan.route_into(operator, port)
            if (operator.name, port) not in plan.wire_of and parts[stream] != needed:
                yield f"{operator.name} needs {needed}, but {stream} is partitioned {parts[stream]}"


def degrees_are_allowed(plan: PhysicalPlan) -> Iterator[str]:
    """Exactly the stateful operators have a degree; without a key it is 1; buckets are enough for the channels."""
    if set(plan.degrees) != {o.name for o in plan.graph.stateful}:
        yield "degrees are not given for exactly the stateful operators"
        return
    for operator in plan.graph.stateful:
        if plan.degrees[operator.name] < 1:
            yield f"{operator.name} has degree {plan.degrees[operator.name]}"
        if not operator.key and plan.degrees[operator.name] != 1:
            yield f"{operator.name} keeps one state for all tuples and has degree {plan.degrees[operator.name]}"
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
    state_starts_a_stage,
    state_sees_whole_keys,
)


def verify(plan: PhysicalPlan) -> PhysicalPlan:
    """The plan itself, or a PlanError that names the first invariant it breaks."""
    for invariant in INVARIANTS:
        for problem in invariant(plan):
            raise PlanError(f"illegal plan: {problem}", expected=(invariant.__doc__ or "").strip())
    return plan
